import { snapshotDatabase } from "../../../../db/mailbox/inspect.ts";
import { childPath } from "../../../../system/contained-path.ts";
import { pathInRoot } from "../root-paths.ts";
import type { FileStep } from "../upkeep/maintenance.ts";
import type { RepairRun } from "./repair-run.ts";

/** What was found of a database. One that is absent may be begun by its owner at any time. */
export type DatabaseState = { kind: "sound" } | { kind: "absent" } | { kind: "broken"; why: string };

/** A database of a root. Places are names below `base`. */
export interface DatabaseFile {
  state: DatabaseState;
  base: string;
  name: string;
  /** Where another one is built. */
  besideAt: readonly string[];
  /** Where the old one is kept. */
  keptAt: readonly string[];
  labels: { dropped: string; kept: string; placed: string };
}

/**
 * Runs `work` on a database. A sound one is mended where it is: other processes read and write it meanwhile.
 * Any other is rebuilt beside the old one, which is kept, and takes its place in one rename: a process that
 * is killed leaves the old one or the new one. Resolves with the result of `work` and where the old one is
 * now, or null.
 */
export async function mendDatabase<D extends { close(): void }, R>(
  run: RepairRun,
  { file, open }: { file: DatabaseFile; open: (path: string) => D },
  work: (database: D) => Promise<R>,
): Promise<{ result: R; keptAt: string | null }> {
  const { files } = run.deps;
  const { state, base, name, besideAt, labels } = file;
  const isSound = state.kind === "sound";
  const path = pathInRoot(files, base, isSound ? [name] : besideAt, "file");
  const whole = [...besideAt.slice(0, -1), `${besideAt.at(-1)}.whole`];
  try {
    const database = open(path);
    let result: R;
    try {
      result = await work(database);
      // A connection that lingers on what is built would share its log with the next one to the new name.
      if (!isSound) snapshotDatabase(path, pathInRoot(files, base, whole));
    } finally {
      database.close();
    }
    return { result, keptAt: isSound ? null : swap(run, file, whole) };
  } finally {
    const endings = isSound ? [] : ["", "-wal", "-shm", ".whole"];
    for (const ending of endings) files.removeFile(labels.dropped, path + ending);
  }
}

/** Returns where the old one is kept; null where there is none. */
function swap(run: RepairRun, file: DatabaseFile, whole: readonly string[]): string | null {
  const { files } = run.deps;
  const { state, base, name, keptAt, labels } = file;
  const place = childPath(base, name);
  const isThere = files.isLink(place) || files.exists(place);
  // Its owner has begun a new one meanwhile, which is in use.
  if (state.kind === "absent" && isThere) return null;
  run.apply([
    // Also the log of one that is gone: the new one would be read with it.
    ...planKeep(file),
    { kind: "place", label: labels.placed, from: { base, names: whole }, to: { base, names: [name] } },
  ]);
  return isThere ? childPath(base, ...keptAt) : null;
}

/** The files of a SQLite database; the main file is moved last, so that it never lacks its log. */
const databaseEndings = ["-shm", "-wal", ""];

/** Puts a database aside. Pure. */
export function planKeep({
  base,
  name,
  keptAt,
  labels,
}: Pick<DatabaseFile, "base" | "name" | "keptAt" | "labels">): FileStep[] {
  const folder = keptAt.slice(0, -1);
  const moves = databaseEndings.map(
    (ending): FileStep => ({
      kind: "rename",
      label: labels.kept,
      from: { base, names: [name + ending] },
      to: { base, names: [...folder, keptAt.at(-1) + ending] },
    }),
  );
  if (folder.length === 0) return moves;
  return [{ kind: "make_folder", label: "mail.quarantine", at: { base, names: folder } }, ...moves];
}
