import { Database } from "bun:sqlite";
import {
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * What a version of svc leaves on disk, kept as text: files as they are, databases as SQL dumps, this
 * machine's places as names. `scripts/keep-release.ts` makes one, below `tests/released`.
 */
export const releasedFolder = join(import.meta.dir, "..", "released");

/** What stands for a text of one machine, and that text. The first that fits counts. */
export type Places = readonly (readonly [name: string, text: string])[];

/** Of no use to another process: locks, what a database keeps beside itself, and who ran. */
const transient = /(\.lock|-wal|-shm|-journal|\.pid)$|(^|\/)(logs\/|\.gitignore$)/;
const database = /\.sqlite$/;

/** The folders of a kept tree, one a line: git keeps no empty ones. */
const folderList = "folders.txt";

/** Keeps the files below `folder` in `kept`. */
export function keep(folder: string, kept: string, places: Places): void {
  mkdirSync(kept, { recursive: true });
  const folders = entriesBelow(folder, (entry) => entry.isDirectory()).filter(
    (path) => !transient.test(`${path}/`),
  );
  writeFileSync(join(kept, folderList), folders.map((path) => `${path}\n`).join(""));
  for (const path of filesBelow(folder)) {
    const target = join(kept, path);
    const source = join(folder, path);
    if (transient.test(path)) continue;
    mkdirSync(dirname(target), { recursive: true });
    if (lstatSync(source).isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (database.test(path)) writeFileSync(`${target}.sql`, named(dump(source), places));
    else writeFileSync(target, named(readFileSync(source, "utf8"), places));
  }
}

/** Puts what was kept back into `folder`, at the places of this machine, as private as it was. */
export function restore(kept: string, folder: string, places: Places): void {
  for (const path of readFileSync(join(kept, folderList), "utf8").trim().split("\n")) {
    mkdirSync(join(folder, path), { recursive: true, mode: 0o700 });
  }
  for (const path of filesBelow(kept).filter((path) => path !== folderList)) {
    const source = join(kept, path);
    const target = join(folder, path.replace(/\.sqlite\.sql$/, ".sqlite"));
    if (lstatSync(source).isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target);
      continue;
    }
    let text = readFileSync(source, "utf8");
    for (const [name, value] of places) text = text.replaceAll(`{{${name}}}`, value);
    writeFileSync(target, path.endsWith(".sqlite.sql") ? "" : text, { mode: 0o600 });
    if (path.endsWith(".sqlite.sql")) load(target, text);
  }
}

/**
 * Makes a database of a dump. What a virtual table keeps for itself may be filled only by who asks for it.
 */
export function load(path: string, sql: string): void {
  const db = new DatabaseSync(path, { defensive: false });
  db.exec(sql);
  db.close();
}

/** A database as SQL that rebuilds it: tables with their rows, then what rests on them. */
export function dump(path: string): string {
  using db = new Database(path, { readonly: true });
  const all = db
    .query<{ type: string; name: string; sql: string }, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .all();
  const virtual = all.filter(({ sql }) => sql.startsWith("CREATE VIRTUAL"));
  // Made by the virtual table itself, which also fills it anew.
  const isShadow = (name: string) => virtual.some((table) => name.startsWith(`${table.name}_`));
  const rows = (table: string) => {
    const columns = db.query<{ name: string }, []>(`PRAGMA table_info("${table}")`).all();
    const values = columns.map(({ name }) => `quote("${name}")`).join(" || ', ' || ");
    return db
      .query<{ row: string }, []>(`SELECT ${values} AS row FROM "${table}"`)
      .all()
      .map(({ row }) => `INSERT INTO "${table}" VALUES (${row});`);
  };
  const tables = all.filter(({ type }) => type === "table");
  return [
    "BEGIN;",
    ...tables
      .filter(({ name, sql }) => !isShadow(name) && !sql.startsWith("CREATE VIRTUAL"))
      .flatMap(({ name, sql }) => [`${sql};`, ...rows(name)]),
    ...virtual.map(({ sql }) => `${sql};`),
    ...tables.flatMap(({ name }) => (isShadow(name) ? [`DELETE FROM "${name}";`, ...rows(name)] : [])),
    ...all.filter(({ type }) => type !== "table").map(({ sql }) => `${sql};`),
    "COMMIT;",
    "",
  ].join("\n");
}

function named(text: string, places: Places): string {
  return places.reduce((result, [name, value]) => result.replaceAll(value, `{{${name}}}`), text);
}

/** Links included. */
function filesBelow(folder: string): string[] {
  return entriesBelow(folder, (entry) => !entry.isDirectory());
}

/** Relative to `folder`, sorted. */
function entriesBelow(folder: string, wanted: (entry: Dirent) => boolean): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(wanted)
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
