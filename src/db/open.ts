import { Database, type Statement } from "bun:sqlite";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { type BunSQLiteDatabase, drizzle } from "drizzle-orm/bun-sqlite";
import type { Clock } from "../system/clock.ts";
import { ServiceError } from "../system/errors.ts";
import {
  createPrivately,
  createPrivatelyWith,
  fileIdentity,
  fileShape,
  freeBytes,
} from "../system/own-file.ts";
import { quietSteps, type Steps } from "../system/steps.ts";
import { ofFile, storageFaultOf } from "../system/storage-fault.ts";
import { countApplied, damaged, type Migration, migrate, refuseOtherShape } from "./migrations.ts";

type Sync<T> = T extends Promise<unknown> ? never : T;

/** An open SQLite file: reads are free, every write is one labelled immediate transaction. */
export interface Store {
  /** The file without its folder. */
  readonly name: string;
  /** Without its relational queries: to read them from a schema takes half a millisecond of a start. */
  readonly db: BunSQLiteDatabase;
  /** What `db` is built on, for the statement that runs too often for the library's way. */
  readonly client: Pick<Database, "prepare">;
  /**
   * Runs `change` in one immediate transaction that is on disk when this returns (WAL, synchronous FULL). A
   * throw rolls back. `change` must be synchronous: an async callback would commit before it finished.
   * `durable: false` leaves the sync to a later write: after a loss of power this one may be undone, whole.
   * `waits: false` throws at once where another process writes.
   */
  write<T>(
    label: string,
    change: (db: BunSQLiteDatabase) => Sync<T>,
    options?: { durable?: boolean; waits?: boolean },
  ): T;
  /**
   * Runs `work`; the first write in it makes `change` too, in the same transaction. Without a write nothing is
   * changed.
   */
  joining<T>(change: () => void, work: () => Sync<T>): T;
  /**
   * What keeps the next write from the file, as it was or would be thrown by `write`; null as far as nothing
   * is known. Looks at the file, and writes only where the last write was refused or the disk is nearly full.
   */
  fault(): unknown;
  /** Another text after each committed change of the file, by any process; the same while there was none. */
  version(): string;
  /**
   * Carries the log over into the file, as far as no reader keeps it from that: then the next write begins at
   * its start, and writes over the old pages. Waits for nobody and never throws.
   */
  carryOver(): void;
  close(): void;
}

/**
 * How many pages (4 KiB) the log takes before a write carries them over, which holds that one up for some 10
 * ms. At the usual 1000 that met more than one write in a hundred of a burst.
 */
const logPages = 4000;
/**
 * More than those pages take: a log that is written over syncs in less than half the time of one that grows,
 * so only what a long reader made of it is cut.
 */
const keptLogBytes = 24 * 2 ** 20;
const waiting = "PRAGMA busy_timeout=5000";
/** SQLITE_OPEN_READONLY and SQLITE_OPEN_URI. */
const readOnlyByUri = 0x01 | 0x40;
/** The first page of a database. */
const smallestBytes = 512;
/** With less free space than this a write may be refused. */
const scarceBytes = 4 * 2 ** 20;

/**
 * Opens (and creates, 0600) a database file and brings it to the newest migration. `:memory:` is allowed.
 * Refuses a file that a newer version wrote, or whose applied migrations differ from ours.
 */
export function openStore(options: {
  path: string;
  migrations: readonly Migration[];
  clock: Clock;
  steps: Steps;
  /**
   * Looks for damage in the whole of a file up to this size before it is used: 16 MiB take some 20 ms.
   * Default 0.
   */
  checkedBytes?: number;
  /** Called before each write once another file than the one that was opened is at `path`, or none. */
  onLost?: (client: Database) => never;
  /** Changes as many pages as the smallest write does, and leaves everything as it was. */
  probe?: (client: Database) => void;
  /**
   * The bytes of a new file with all `migrations`, in WAL mode: to write them takes a tenth of what the
   * migrations take.
   */
  newFile?: () => Uint8Array;
}): Store {
  const { path, migrations, clock, steps, checkedBytes = 0, onLost, probe, newFile } = options;
  if (path !== ":memory:") openNamed(path, () => createFile(path, newFile, steps));
  const client = openNamed(path, () => new Database(path, { create: true, readwrite: true, strict: true }));
  try {
    client.run(waiting);
    // A loss of power undoes a migration whole, to be made again: the first durable write syncs what came
    // before it too.
    client.run("PRAGMA synchronous=NORMAL");
    useWriteAheadLog(client);
    migrate(client, migrations, { name: basename(path), clock, steps });
    refuseOtherShape(client, migrations);
    for (const pragma of [
      "synchronous=FULL",
      "foreign_keys=ON",
      `wal_autocheckpoint=${logPages}`,
      `journal_size_limit=${keptLogBytes}`,
    ])
      client.run(`PRAGMA ${pragma}`);
    if (sizeOf(client) <= checkedBytes) refuseDamage(client);
  } catch (error) {
    client.close();
    throw ofFile(error, basename(path));
  }
  const db = drizzle({ client });
  const name = basename(path);
  // Two counters: what others commit shows in the first alone, and what this connection changes in the
  // second.
  let versions: Statement<{ others: number; own: number }, []> | null = null;
  const opened = onLost && path !== ":memory:" ? fileIdentity(path) : null;
  /** What the last write met, when that was a fault of the disk or the file. */
  let refused: unknown = null;
  let damage: unknown = null;
  let seen = opened === null ? null : fileShape(path);
  /** What the next write changes too. */
  let joined: (() => void) | null = null;

  /** SQLite would go on writing into a file that nobody can ever open again. */
  function refuseLost(): void {
    if (opened !== null && fileIdentity(path) !== opened) onLost?.(client);
  }

  /**
   * What another program did to the file shows in its time; our own write-ahead log changes it now and then,
   * too.
   */
  function lookForDamage(): void {
    const now = fileShape(path);
    if (now === null || Bun.deepEquals(now, seen)) return;
    seen = now;
    damage = now.size > checkedBytes ? null : damageOf(path);
  }

  function write<T>(
    label: string,
    change: (db: BunSQLiteDatabase) => Sync<T>,
    { durable = true, waits = true }: { durable?: boolean; waits?: boolean } = {},
  ): T {
    refuseLost();
    if (damage !== null) throw ofFile(damage, name);
    try {
      steps.before(label);
      if (!durable) client.run("PRAGMA synchronous=NORMAL");
      if (!waits) client.run("PRAGMA busy_timeout=0");
      // The driver's transaction holds one connection, so prepared statements made on `db` take part in it.
      const result = client
        .transaction(() => {
          joined?.();
          return change(db);
        })
        .immediate() as T;
      joined = null;
      steps.after(label);
      refused = null;
      return result;
    } catch (error) {
      const found = storageFaultOf(error);
      if (found && (waits || found.fault !== "busy")) refused = error;
      throw ofFile(error, name);
    } finally {
      if (!durable) client.run("PRAGMA synchronous=FULL");
      if (!waits) client.run(waiting);
    }
  }

  return {
    name,
    db,
    client,
    write,
    joining(change, work) {
      joined = change;
      try {
        return work();
      } finally {
        joined = null;
      }
    },
    fault() {
      try {
        refuseLost();
        if (opened !== null) lookForDamage();
        if (damage !== null) return damage;
        const uncertain = refused !== null || (opened !== null && freeBytes(path) < scarceBytes);
        if (uncertain) write("sql:probe", () => probe?.(client));
        return null;
      } catch (error) {
        return error;
      }
    },
    version() {
      versions ??= client.prepare(
        "SELECT data_version AS others, total_changes() AS own FROM pragma_data_version",
      );
      const { others, own } = versions.get() ?? {};
      return `${others} ${own}`;
    },
    carryOver: () => carryOver(client, "PASSIVE"),
    close() {
      // Leaves no log behind that the next start would have to read. Who else has the file open may keep it
      // from that.
      if (opened === null || fileIdentity(path) === opened) {
        carryOver(client, "TRUNCATE");
      }
      client.close();
    },
  };
}

/**
 * The same file for reading, while nobody serves it: nothing is created, migrated or written, also not beside
 * it where no log waits there. Each write throws. Throws for a file that is absent, damaged or of another
 * version.
 */
export function openStoreForReading(options: {
  path: string;
  migrations: readonly Migration[];
  checkedBytes: number;
}): Store {
  const { path, migrations, checkedBytes } = options;
  if ((fileShape(path)?.size ?? 0) < smallestBytes) throw ofFile(damaged("it was cut off"), basename(path));
  const hasLog = (fileShape(`${path}-wal`)?.size ?? 0) > 0;
  let client = openNamed(path, () =>
    hasLog
      ? new Database(path, { readonly: true, strict: true })
      : new Database(`${pathToFileURL(path).href}?immutable=1`, readOnlyByUri),
  );
  try {
    if (hasLog) client.run("PRAGMA busy_timeout=1000");
    const isSmall = sizeOf(client) <= checkedBytes;
    if (isSmall) refuseDamage(client);
    const applied = countApplied(client, migrations, basename(path));
    refuseOtherShape(client, migrations.slice(0, applied));
    if (applied < migrations.length) {
      if (!isSmall) throw olderFile(basename(path));
      client = migratedCopy(client, migrations, basename(path));
    }
  } catch (error) {
    client.close();
    throw ofFile(error, basename(path));
  }
  return {
    name: basename(path),
    db: drizzle({ client }),
    client,
    write() {
      throw new Error(`${basename(path)} was opened for reading`);
    },
    joining: (_change, work) => work(),
    fault: () => null,
    version: () => "",
    carryOver: () => {},
    close: () => client.close(),
  };
}

function createFile(path: string, newFile: (() => Uint8Array) | undefined, steps: Steps): void {
  if (newFile === undefined) {
    createPrivately(path);
    return;
  }
  steps.before("file:database");
  createPrivatelyWith(path, newFile);
  steps.after("file:database");
}

/** A fault of opening names the file at `path`. */
function openNamed<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw ofFile(error, basename(path));
  }
}

function olderFile(name: string): ServiceError {
  const problem = `${name} was written by an older svc; the next start of its gateway updates it`;
  return new ServiceError("precondition_failed", problem);
}

/**
 * In memory, of a file that an older version wrote: readers ask for columns of the newest migration. Closes
 * `client`.
 */
function migratedCopy(client: Database, migrations: readonly Migration[], name: string): Database {
  const copy = Database.deserialize(client.serialize(), { strict: true });
  client.close();
  migrate(copy, migrations, { name, clock: { nowMs: () => 0 } as Clock, steps: quietSteps });
  return copy;
}

/** `methods` of a store, whose faults then name its file also where they only read. */
export function namingFile<T extends object>({ name }: { name: string }, methods: T): T {
  const naming = Object.entries(methods).map(([key, method]) => [
    key,
    (...args: unknown[]) => {
      try {
        return method(...args);
      } catch (error) {
        throw ofFile(error, name);
      }
    },
  ]);
  return Object.fromEntries(naming);
}

function carryOver(client: Database, mode: "PASSIVE" | "TRUNCATE"): void {
  try {
    if (mode === "TRUNCATE") client.run("PRAGMA busy_timeout=0");
    client.run(`PRAGMA wal_checkpoint(${mode})`);
  } catch {
    // A disk that refuses this has the log, which holds all of it.
  }
}

function sizeOf(client: Database): number {
  const count = client.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0;
  const size = client.query<{ page_size: number }, []>("PRAGMA page_size").get()?.page_size ?? 0;
  return count * size;
}

/**
 * Of a file that is open: by a separate connection, since the other one remembers what it read. Null without
 * any.
 */
function damageOf(path: string): unknown {
  try {
    if ((fileShape(path)?.size ?? 0) < smallestBytes) return damaged("it was cut off");
    const other = new Database(path, { readonly: true });
    try {
      other.run("PRAGMA busy_timeout=1000");
      refuseDamage(other);
      return null;
    } finally {
      other.close();
    }
  } catch (error) {
    return storageFaultOf(error)?.fault === "damaged" ? error : null;
  }
}

/** SQLite itself notices damage only where it happens to read. */
function refuseDamage(client: Database): void {
  const found = client.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()?.quick_check;
  if (found !== "ok") throw damaged(`quick_check: ${found}`);
}

/**
 * SQLite does not wait for another process that changes the journal too; a transaction does, and then it is
 * done.
 */
function useWriteAheadLog(client: Database): void {
  for (let attempt = 1; ; attempt++) {
    try {
      client.run("PRAGMA journal_mode=WAL");
      return;
    } catch (error) {
      if (attempt === 20 || (error as { code?: string }).code !== "SQLITE_BUSY") throw error;
      client.transaction(() => undefined).immediate();
    }
  }
}
