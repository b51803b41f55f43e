import { basename, dirname } from "node:path";
import type { ContainedPath } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";

export interface RotatingFile {
  /** Appends whole lines. What is larger than the limit by itself is dropped. Throws what the file system throws. */
  append(text: string): void;
}

/**
 * A file that never grows beyond `maxBytes`: before an append that would, it becomes `<path>.1`, `.1` becomes `.2`
 * and so on up to `backups`; the oldest goes. With no backups it starts empty. The size is asked for each time:
 * a process started by us may have its streams appended to the same file.
 */
export function createRotatingFile(options: {
  files: Files;
  label: string;
  path: string;
  maxBytes: number;
  backups: number;
}): RotatingFile {
  const { files, label, path, maxBytes, backups } = options;
  let made = false;

  function rotate(): void {
    for (const old of keptSuffixes().filter((suffix) => suffix >= backups)) {
      files.removeFile(`${label}-rotate`, `${path}.${old}`);
    }
    for (const suffix of keptSuffixes().reverse()) {
      files.rename(`${label}-rotate`, kept(`.${suffix}`), kept(`.${suffix + 1}`));
    }
    if (backups > 0) files.rename(`${label}-rotate`, kept(""), kept(".1"));
    else files.removeFile(`${label}-rotate`, path);
  }

  function kept(suffix: string): ContainedPath {
    return files.contained(dirname(path), [basename(path) + suffix]);
  }

  /** Ascending. */
  function keptSuffixes(): number[] {
    const prefix = `${basename(path)}.`;
    return files
      .list(dirname(path))
      .filter((name) => name.startsWith(prefix) && /^[1-9]\d*$/.test(name.slice(prefix.length)))
      .map((name) => Number(name.slice(prefix.length)))
      .sort((left, right) => left - right);
  }

  return {
    append(text) {
      const bytes = Buffer.byteLength(text);
      if (bytes > maxBytes) return;
      const size = files.stat(path)?.size ?? 0;
      if (size + bytes > maxBytes) rotate();
      // Once: a folder that is removed afterwards was removed on purpose.
      if (!made) files.ensureDirectory(`${label}-folder`, dirname(path));
      made = true;
      files.append(label, path, text);
    },
  };
}
