import { fileURLToPath } from "node:url";
import type { StoredRecording } from "../../services/terminal/recorded/recorded-screen.ts";
import { childPath } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";

/** Put in its place when the executables and the package are built: see scripts/pack-recordings.ts. */
declare const SVC_RECORDINGS: string | undefined;

/** Nobody's recording is larger; a screen has at most some hundred rows. */
const maxFileBytes = 4 * 1024 * 1024;

/** The recordings that svc was tested with: from what was built in, or from the checkout that runs. */
export function shippedRecordings(files: Files): StoredRecording[] {
  if (typeof SVC_RECORDINGS === "string") return unpack(SVC_RECORDINGS);
  return recordingsBelow(files, fileURLToPath(new URL("../../../tests/screens", import.meta.url)));
}

function unpack(packed: string): StoredRecording[] {
  const text = new TextDecoder().decode(Bun.zstdDecompressSync(Buffer.from(packed, "base64")));
  return JSON.parse(text) as StoredRecording[];
}

/** The recordings TOOL/VERSION/STATE below a folder; empty when there are none. Other files are skipped. */
export function recordingsBelow(files: Files, root: string): StoredRecording[] {
  const found: StoredRecording[] = [];
  for (const tool of files.list(root)) {
    for (const version of foldersIn(files, root, tool)) {
      for (const state of foldersIn(files, root, tool, version)) {
        const folder = childPath(root, tool, version, state);
        const [screen, meta] = ["screen.ansi.txt", "meta.json"].map((name) => {
          const path = childPath(folder, name);
          return (files.stat(path)?.size ?? 0) > maxFileBytes ? null : files.read(path, { owner: "anyone" });
        });
        if (screen != null && meta != null) found.push({ tool, version, state, screen, meta });
      }
    }
  }
  return found;
}

const foldersIn = (files: Files, root: string, ...names: string[]): string[] => {
  const folder = childPath(root, ...names);
  return files.stat(folder)?.directory === true ? files.list(folder) : [];
};
