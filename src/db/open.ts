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
  /** File name without the folder. */
  readonly name: string;
  /** Without relational queries, whose setup takes half a millisecond of a start. */
  readonly db: BunSQLiteDatabase;
  /** The connection of `db`, for statements that run too often for the library. */
  readonly client: Pick<Database, "prepare">;
  /**
   * Runs `change` in one immediate transaction, which is on disk when this returns (WAL, synchronous FULL). A
   * throw rolls back. `change` must be synchronous: an async callback would commit before its end. `durable:
   * false` leaves the sync to a later write, so a power failure may undo the whole transaction. `waits:
   * false` throws at once while another process writes.
   */
  write<T>(
    label: string,
    change: (db: BunSQLiteDatabase) => Sync<T>,
    options?: { durable?: boolean; waits?: boolean },
  ): T;
  /**
   * Runs `work`; the first write in it makes `change` too, in the same transaction. Without a write nothing
   * is changed.
   */
  joining<T>(change: () => void, work: () => Sync<T>): T;
  /**
   * The error that the next `write` would throw; null when none is known. Checks the file, and writes only
   * when the last write was refused or the disk is nearly full.
   */
  fault(): unknown;
  /** A text that changes with each committed change of the file, by any process. */
  version(): string;
  /**
   * Copies the log into the file, as far as readers allow it. The next write then overwrites the old pages of
   * the log. Does not wait and never throws.
   */
  carryOver(): void;
  close(): void;
}

/**
 * Pages (4 KiB) of the log after which a write copies them into the file, which delays that write by some 10
 * ms. With the default of 1000 this delayed more than one write in a hundred of a burst.
 */
const logPages = 4000;
/**
 * More than those pages: a log that is overwritten syncs in less than half the time of a growing one, so only
 * the growth that a long reader caused is truncated.
 */
const keptLogBytes = 24 * 2 ** 20;
const waiting = "PRAGMA busy_timeout=5000";
/** SQLITE_OPEN_READONLY and SQLITE_OPEN_URI. */
const readOnlyByUri = 0x01 | 0x40;
/** Size of the first page of a database. */
const smallestBytes = 512;
/** With less free space than this a write may be refused. */
const scarceBytes = 4 * 2 ** 20;

/**
 * Opens (and creates, 0600) a database file and applies missing migrations. `:memory:` is allowed. Refuses a
 * file of a newer version, or one with other migrations.
 */
export function openStore(options: {
  path: string;
  migrations: readonly Migration[];
  clock: Clock;
  steps: Steps;
  /**
   * Maximum size of a file that is checked for damage before use; 16 MiB take some 20 ms. Default 0.
   */
  checkedBytes?: number;
  /** Called before each write when the opened file is no longer at `path`. */
  onLost?: (client: Database) => never;
  /** Changes as many pages as the smallest write and restores them. */
  probe?: (client: Database) => void;
  /**
   * The bytes of a new file with all `migrations`, in WAL mode; writing them takes a tenth of the time of the
   * migrations.
   */
  newFile?: () => Uint8Array;
}): Store {
  const { path, migrations, clock, steps, checkedBytes = 0, onLost, probe, newFile } = options;
  if (path !== ":memory:") openNamed(path, () => createFile(path, newFile, steps));
  const client = openNamed(path, () => new Database(path, { create: true, readwrite: true, strict: true }));
  try {
    client.run(waiting);
    // A power failure undoes a whole migration, which is then repeated. The first durable write also syncs
    // earlier writes.
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
  // Two counters: only the first counts commits of other connections, only the second those of this one.
  let versions: Statement<{ others: number; own: number }, []> | null = null;
  const opened = onLost && path !== ":memory:" ? fileIdentity(path) : null;
  /** The storage fault of the last write; null without one. */
  let refused: unknown = null;
  let damage: unknown = null;
  let seen = opened === null ? null : fileShape(path);
  /** What the next write changes too. */
  let joined: (() => void) | null = null;

  /** Without it SQLite would continue to write into a file that no process can open again. */
  function refuseLost(): void {
    if (opened !== null && fileIdentity(path) !== opened) onLost?.(client);
  }

  /**
   * Checks the file when its time has changed: another program may have changed it, or our write-ahead log
   * was copied into it.
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
      // The driver has one connection, so prepared statements of `db` take part in the transaction.
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
      // Leaves no log that the next start must read, unless another process has the file open.
      if (opened === null || fileIdentity(path) === opened) {
        carryOver(client, "TRUNCATE");
      }
      client.close();
    },
  };
}

/**
 * Opens a file for reading while no process serves it. Creates, migrates and writes nothing, and no file
 * beside it unless a log exists. Each write throws. Throws for a file that is absent, damaged or of another
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

/** Adds the file name to an error of `open`. */
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
 * A migrated copy in memory of a file that an older version wrote, since readers use columns of the newest
 * migration. Closes `client`.
 */
function migratedCopy(client: Database, migrations: readonly Migration[], name: string): Database {
  const copy = Database.deserialize(client.serialize(), { strict: true });
  client.close();
  migrate(copy, migrations, { name, clock: { nowMs: () => 0 } as Clock, steps: quietSteps });
  return copy;
}

/** Wraps `methods` of a store so that their errors name its file, also those of reads. */
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
    // When the disk refuses this, the log still holds everything.
  }
}

function sizeOf(client: Database): number {
  const count = client.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count ?? 0;
  const size = client.query<{ page_size: number }, []>("PRAGMA page_size").get()?.page_size ?? 0;
  return count * size;
}

/**
 * The damage of an open file; null without any. Uses a separate connection, since the open one caches pages.
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

/** Throws for a damaged file. SQLite otherwise notices damage only in pages that it reads. */
function refuseDamage(client: Database): void {
  const found = client.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()?.quick_check;
  if (found !== "ok") throw damaged(`quick_check: ${found}`);
}

/**
 * Switches to the write-ahead log. SQLite does not wait for another process that does the same; a transaction
 * waits, and afterwards the log is on.
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
