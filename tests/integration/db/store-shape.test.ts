import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  openGatewayDatabase,
  openQueueForReading,
  requestStoreOn,
} from "../../../src/db/gateway/request-store.ts";
import { openCatalog } from "../../../src/db/mailbox/catalog.ts";
import { inspectDatabase, salvageRows } from "../../../src/db/mailbox/inspect.ts";
import { stateMigrations } from "../../../src/db/mailbox/state/migrations.ts";
import { openMailboxState } from "../../../src/db/mailbox/state.ts";
import { messageOf } from "../../../src/system/errors.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { storageFaultOf, tellStorageFault } from "../../../src/system/storage-fault.ts";
import { createSystem } from "../../../src/system/system.ts";
import { createScratch } from "../../support/scratch.ts";

const { files, clock, ids } = createSystem();
const stores = {
  queue: (path: string) => requestStoreOn(openGatewayDatabase({ path, clock, steps: quietSteps })),
  "queue for reading": openQueueForReading,
  index: (path: string) => openCatalog({ path, files, clock, ids, steps: quietSteps, create: true }),
  mailbox: (path: string) => openMailboxState({ path, clock, steps: quietSteps }),
} satisfies Record<string, (path: string) => { close(): void }>;
type StoreName = keyof typeof stores;

/** A table of each file, and a column of that. */
const samples: Record<StoreName, { table: string; column: string }> = {
  queue: { table: "gateway_requests", column: "error_detail" },
  "queue for reading": { table: "gateway_requests", column: "error_detail" },
  index: { table: "messages", column: "subject" },
  mailbox: { table: "message_state", column: "sender" },
};

const endless =
  "WITH RECURSIVE endless(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM endless) SELECT * FROM kept, endless";
const changes: Record<string, (sample: { table: string; column: string }) => string[]> = {
  "a table is missing": ({ table }) => [`DROP TABLE ${table}`],
  "a column is missing": ({ table, column }) => [`ALTER TABLE ${table} RENAME COLUMN ${column} TO other`],
  "a table has lost its key": ({ table }) => [
    `CREATE TABLE kept AS SELECT * FROM ${table}`,
    `DROP TABLE ${table}`,
    `ALTER TABLE kept RENAME TO ${table}`,
  ],
  "a view is in place of a table": ({ table }) => [
    `CREATE TABLE kept AS SELECT * FROM ${table}`,
    "INSERT INTO kept DEFAULT VALUES",
    `DROP TABLE ${table}`,
    `CREATE VIEW ${table} AS ${endless}`,
  ],
  "a trigger was added": ({ table }) => [
    `CREATE TRIGGER planted AFTER UPDATE ON ${table} BEGIN DELETE FROM ${table}; END`,
  ],
  "an index is missing": () => [
    "DROP INDEX IF EXISTS gateway_requests_request_id_unique",
    "DROP INDEX IF EXISTS one_running_request",
    "DROP INDEX IF EXISTS one_active_registration",
    "DROP INDEX IF EXISTS message_state_message_id_unique",
  ],
};

function alter(path: string, statements: readonly string[]): void {
  const database = new Database(path);
  database.run("PRAGMA legacy_alter_table=ON");
  try {
    for (const statement of statements) database.run(statement);
  } finally {
    database.close();
  }
}

const thrown = (act: () => unknown): unknown => {
  try {
    act();
    return null;
  } catch (error) {
    return error;
  }
};

describe.each(Object.keys(stores) as StoreName[])("%s", (name) => {
  test.each(Object.keys(changes))("is refused as damaged when %s", (change) => {
    using scratch = createScratch();
    const path = scratch.path("some.sqlite");
    (name === "queue for reading" ? stores.queue : stores[name])(path).close();
    stores[name](path).close();
    alter(path, changes[change]?.(samples[name]) ?? []);
    const error = thrown(() => stores[name](path).close());
    const { cause } = (error ?? {}) as { cause?: unknown };
    expect(storageFaultOf(cause ?? error)?.fault).toBe("damaged");
    expect(messageOf(cause ?? error)).toContain("not as svc makes it");
  });

  test("is opened when a tool of the user keeps another table in it", () => {
    using scratch = createScratch();
    const path = scratch.path("some.sqlite");
    (name === "queue for reading" ? stores.queue : stores[name])(path).close();
    alter(path, ["CREATE TABLE _backup (id INTEGER)", "CREATE INDEX _backup_by_id ON _backup (id)"]);
    expect(thrown(() => stores[name](path).close())).toBeNull();
  });
});

test("a table that goes away under an open store is reported as damage", () => {
  using scratch = createScratch();
  const path = scratch.path("mailbox.sqlite");
  const open = stores.mailbox(path);
  alter(path, ["DROP TABLE seeded"]);
  expect(tellStorageFault(thrown(() => open.mark()))).toContain("it is damaged");
  open.close();
});

describe("what a repair looks at", () => {
  test.each(Object.keys(changes))("is broken when %s", (change) => {
    using scratch = createScratch();
    const path = scratch.path("mailbox.sqlite");
    stores.mailbox(path).close();
    expect(inspectDatabase(path, stateMigrations)).toEqual({ kind: "sound" });
    alter(path, changes[change]?.(samples.mailbox) ?? []);
    expect(inspectDatabase(path, stateMigrations)).toMatchObject({ kind: "broken" });
  });

  test("gives rows of a table, and none of a view", () => {
    using scratch = createScratch();
    const path = scratch.path("mailbox.sqlite");
    stores.mailbox(path).close();
    alter(path, changes["a view is in place of a table"]?.(samples.mailbox) ?? []);
    const rows: unknown[] = [];
    const visit = (row: unknown) => {
      rows.push(row);
      if (rows.length > 3) throw new Error("without an end");
    };
    salvageRows(path, "message_state", visit);
    expect(rows).toEqual([]);
  });
});
