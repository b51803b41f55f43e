import { basename, dirname } from "node:path";
import { copyDatabase } from "../../../db/copy.ts";
import type { BackupManifest, BackupPlace } from "../../../protocol/backup.ts";
import { renderJson } from "../../../protocol/json.ts";
import { afterThisTurn } from "../../../system/clock.ts";
import { childPath, isOneName } from "../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import type { Appender } from "../../../system/own-file.ts";
import { shown } from "../../mail/address.ts";
import { findLinkedMailboxes } from "./linked-mailboxes.ts";
import { isLeftFolder, isMail, isOwnName, judgeFile } from "./places.ts";
import { endOfArchive, maxContentBytes, paddingOf, renderHeader, type TarEntry } from "./tar.ts";

export const manifestName = "svc-backup.json";

interface BackupDone {
  path: string;
  sizeBytes: number;
  files: number;
  /** Those of the manifest, and the mailboxes that lie outside of their roots. */
  places: BackupPlace[];
  /** Files with secrets that were left out. */
  secretsLeftOut: number;
  /** What is not in the archive, or not as it was, each with why. */
  problems: string[];
}

interface Found {
  place: BackupPlace;
  /** Relative to the place. */
  path: string;
  kind: TarEntry["kind"] | "database";
  target: string;
}

/** A folder beside the archive that a run works in. */
const workFolder = /^\.svc-backup-[0-9a-f]{12}$/;

/**
 * Writes one archive of `manifest.places` and the linked mailboxes of its mailbox roots to `output`, which
 * must not exist (0600); it gets that name when it is whole and on disk. Databases are copied as of one
 * moment, before the files that they name: a mailbox in the archive lacks no message that it lists. Throws
 * `conflict` where `output` exists, and when `signal` aborts; nothing is left then.
 */
export async function createBackup(
  deps: { files: Files; ids: Ids },
  options: {
    output: string;
    manifest: BackupManifest;
    signal: AbortSignal;
    /** Why no restore would put mail back into a folder, or null. */
    whyNoMail: (root: string) => string | null;
    onProgress: (done: number, total: number) => void;
  },
): Promise<BackupDone> {
  const { files } = deps;
  const { output, signal } = options;
  if (files.exists(output)) {
    throw new ServiceError("conflict", `${output} exists already; name another file with --output FILE`);
  }
  const folder = dirname(output);
  if (!files.stat(folder)?.directory)
    throw new ServiceError("invalid_request", `there is no folder ${folder}`);
  const linked = findLinkedMailboxes(files, options.manifest.places);
  const manifest = { ...options.manifest, places: [...options.manifest.places, ...linked.places] };
  const notRestored = manifest.places.flatMap((place) => {
    const why = isMail(place) ? options.whyNoMail(place.path) : null;
    return why === null ? [] : [`${place.path} is in the archive, but ${why}; unpack that mailbox with tar`];
  });
  const work = `.svc-backup-${deps.ids.hex(6)}`;
  files.ensureDirectory("file:backup-folder", childPath(folder, work));
  try {
    const part = files.contained(folder, [work, "archive"]);
    const archive = files.openAppend("file:backup-archive", part);
    const writer = createWriter(files, archive, { withSecrets: manifest.with_secrets, signal });
    try {
      writer.text(manifestName, renderJson(manifest));
      const add = async (some: readonly Found[], { before, total }: { before: number; total: number }) => {
        for (const [index, one] of some.entries()) {
          options.onProgress(before + index, total);
          await breathe(signal);
          await writer.add(one, childPath(folder, work, "database"));
        }
      };
      const list = () => listFiles(files, manifest, folder);
      const first = list().found;
      const databases = first.filter(({ kind }) => kind === "database");
      await add(databases, { before: 0, total: first.length });
      // Listed once the databases are copied: a mailbox writes the file of a message after it is in its
      // index.
      const { found, secrets, problems } = list();
      const others = found.filter(({ kind }) => kind !== "database");
      await add(others, { before: databases.length, total: databases.length + others.length });
      archive.write(endOfArchive);
      archive.close();
      files.sync("file:backup-archive", part);
      files.place("file:backup-placed", part, files.contained(folder, [basename(output)]));
      return {
        path: output,
        sizeBytes: files.stat(output)?.size ?? 0,
        files: writer.count(),
        places: manifest.places,
        secretsLeftOut: secrets,
        problems: [...linked.problems, ...notRestored, ...problems, ...writer.problems],
      };
    } finally {
      archive.close();
    }
  } finally {
    files.remove("file:backup-folder", files.contained(folder, [work]));
  }
}

const pathIn = (place: BackupPlace, path: string) => childPath(place.path, ...path.split("/"));

/** Lets a Ctrl-C arrive, and throws when it did. */
export async function breathe(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => afterThisTurn(resolve));
  signal.throwIfAborted();
}

/**
 * What lies in a place but belongs to another one is listed there only. `outputFolder`: where the archive is
 * written.
 */
function listFiles(files: Files, manifest: BackupManifest, outputFolder: string) {
  const found: Found[] = [];
  const problems: string[] = [];
  let secrets = 0;
  const realOf = (path: string) => files.realPath(path) ?? path;
  const roots = new Set(manifest.places.map(({ path }) => realOf(path)));
  const output = realOf(outputFolder);
  const namesIn = (folder: string): string[] => {
    try {
      return files.list(folder);
    } catch (error) {
      problems.push(`${folder}: ${messageOf(error)}`);
      return [];
    }
  };
  const walk = (place: BackupPlace, at: string, folder: string) => {
    for (const name of namesIn(at === "" ? place.path : pathIn(place, at))) {
      if (!isOneName(name)) {
        problems.push(`${folder}: the name ${shown(name)} holds a control character; rename it`);
        continue;
      }
      const path = at === "" ? name : `${at}/${name}`;
      const real = pathIn(place, path);
      const isFolder = !files.isLink(real) && files.stat(real)?.directory === true;
      const reportForeign = () =>
        problems.push(`${real}: svc did not make it, so that a restore would refuse it; copy it by hand`);
      if (files.isLink(real)) {
        if (!isOwnName(place, path, "link")) reportForeign();
        else found.push({ place, path, kind: "link", target: files.linkTarget(real) ?? "" });
      } else if (isFolder) {
        const inner = childPath(folder, name);
        const isWork = folder === output && workFolder.test(name);
        if (isWork || roots.has(inner) || isLeftFolder(place, path)) continue;
        if (!isOwnName(place, path, "folder")) {
          reportForeign();
          continue;
        }
        found.push({ place, path, kind: "folder", target: "" });
        walk(place, path, inner);
      } else {
        if (name.includes("\ufffd") && !files.exists(real)) {
          problems.push(`${folder}: the name ${shown(name)} is not UTF-8; rename it`);
          continue;
        }
        const verdict = judgeFile(place, path);
        if (verdict === "secret" && !manifest.with_secrets) secrets += 1;
        else if (!isOwnName(place, path, "file")) reportForeign();
        else if (verdict !== "leave")
          found.push({ place, path, kind: verdict === "database" ? "database" : "file", target: "" });
      }
    }
  };
  for (const place of manifest.places) walk(place, "", realOf(place.path));
  return { found, secrets, problems };
}

function createWriter(
  files: Files,
  archive: Appender,
  { withSecrets, signal }: { withSecrets: boolean; signal: AbortSignal },
) {
  const problems: string[] = [];
  let count = 0;

  const entry = (path: string, kind: TarEntry["kind"], size: number, modifiedMs: number, target = "") =>
    archive.write(renderHeader({ path, kind, size, modifiedMs, target }));

  /** `size` bytes follow the header whatever happens to the file meanwhile. */
  async function content(name: string, from: string, modifiedMs: number): Promise<void> {
    const opened = files.open(from, { maxBytes: maxContentBytes, within: "anywhere" });
    if (!opened.ok) {
      // A file that has gone since it was listed is no part of this moment.
      if (opened.why !== "absent") problems.push(`${from}: ${opened.why}`);
      return;
    }
    entry(name, "file", opened.size, modifiedMs);
    let left = opened.size;
    try {
      for await (const chunk of opened.stream()) {
        archive.write(chunk);
        left -= chunk.length;
        await breathe(signal);
      }
    } finally {
      opened.close();
    }
    if (left > 0)
      problems.push(`${from}: it became shorter while it was copied; zeros follow in the archive`);
    const zeros = new Uint8Array(64 * 1024);
    for (let missing = left + paddingOf(opened.size); missing > 0; missing -= zeros.length) {
      archive.write(zeros.subarray(0, Math.min(missing, zeros.length)));
    }
    count += 1;
  }

  async function database(name: string, from: string, modifiedMs: number, copy: string): Promise<void> {
    try {
      copyDatabase(from, copy, { withSecrets });
    } catch (error) {
      problems.push(`${from}: ${messageOf(error)}`);
      files.removeFile("file:backup-database", copy);
      return;
    }
    await content(name, copy, modifiedMs);
    files.removeFile("file:backup-database", copy);
  }

  return {
    problems,
    count: () => count,
    text(name: string, text: string) {
      const bytes = new TextEncoder().encode(text);
      entry(name, "file", bytes.length, 0);
      archive.write(bytes);
      archive.write(new Uint8Array(paddingOf(bytes.length)));
    },
    async add({ place, path, kind, target }: Found, copy: string) {
      const name = `${place.name}/${path}`;
      const from = pathIn(place, path);
      const modifiedMs = files.stat(from)?.modifiedMs ?? 0;
      if (kind === "database") await database(name, from, modifiedMs, copy);
      else if (kind === "file") await content(name, from, modifiedMs);
      else entry(kind === "folder" ? `${name}/` : name, kind, 0, modifiedMs, target);
    },
  };
}
