import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { packNewQueue } from "../../../scripts/pack-queue.ts";
import { gatewayMigrations, unpackQueue } from "../../../src/db/gateway/request-store.ts";
import { openStore } from "../../../src/db/open.ts";
import { quietSteps, type Steps } from "../../../src/system/steps.ts";
import { tellStorageFault } from "../../../src/system/storage-fault.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { dump } from "../../support/released.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

const newFile = unpackQueue(packNewQueue());

function open(path: string, options: { newFile?: () => Uint8Array; steps?: Steps } = {}) {
  return openStore({
    path,
    migrations: gatewayMigrations,
    clock: createFakeClock(),
    steps: quietSteps,
    ...options,
  });
}

/** What is in a file, but for when its migrations were applied. */
const contents = (path: string) => dump(path).replaceAll(/'\d{4}-\d\d-\d\dT[^']*'/g, "'a time'");

function migrated(scratch: Scratch): string {
  const path = scratch.path("migrated.sqlite");
  open(path).close();
  return path;
}

test("a new file is as the migrations make it, and is for its user alone", () => {
  using scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  const labels: string[] = [];
  const steps: Steps = { before: (label) => void labels.push(label), after() {} };
  open(path, { newFile, steps }).close();
  expect(labels).toEqual(["file:database"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(contents(path)).toBe(contents(migrated(scratch)));
  const client = new Database(path);
  expect(client.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  expect(client.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  client.close();
});

test("what a write stores in a new file is there when it is opened again", () => {
  using scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  const store = open(path, { newFile });
  store.write(
    "sql:test",
    () => void store.client.prepare("INSERT INTO gateway_ledger_start VALUES (1, 'now')").run(),
  );
  store.close();
  const again = open(path, { newFile });
  expect(again.client.prepare("SELECT since_utc FROM gateway_ledger_start").get()).toEqual({
    since_utc: "now",
  });
  again.close();
});

test.each(["before", "after"] as const)(
  "a process that ends %s the file is made leaves nothing half made",
  (moment) => {
    using scratch = createScratch();
    const path = scratch.path("queue.sqlite");
    const ended: Steps = {
      ...quietSteps,
      [moment]() {
        throw new Error("ended");
      },
    };
    expect(() => open(path, { newFile, steps: ended })).toThrow("ended");
    expect(readdirSync(scratch.path("."))).toEqual(moment === "before" ? [] : ["queue.sqlite"]);
    open(path, { newFile }).close();
    expect(contents(path)).toBe(contents(migrated(scratch)));
  },
);

test("the same migrations make the same bytes: a build can be made again", () => {
  expect(packNewQueue()).toBe(packNewQueue());
});

test("a queue that another process makes meanwhile keeps its place", () => {
  using scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  const other: ReturnType<typeof open>[] = [];
  const meanwhile = () => {
    const store = open(path);
    store.write(
      "sql:test",
      () => void store.client.prepare("INSERT INTO gateway_ledger_start VALUES (1, 'now')").run(),
    );
    other.push(store);
    return newFile();
  };
  const store = open(path, { newFile: meanwhile });
  expect(store.client.prepare("SELECT since_utc FROM gateway_ledger_start").get()).toEqual({
    since_utc: "now",
  });
  for (const one of [...other, store]) one.close();
  expect(readdirSync(scratch.path(".")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

function fault(attempt: () => void): string | null {
  try {
    attempt();
    return null;
  } catch (error) {
    return tellStorageFault(error);
  }
}

test("a fault of the disk names the file", () => {
  using scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  const full = () => {
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
      syscall: "write",
    });
  };
  expect(fault(() => open(path, { newFile: full }))).toBe(
    "queue.sqlite cannot be used: the disk is full; make room and try again (ENOSPC)",
  );
});

test("an empty file, as an earlier version left one, gets the migrations", () => {
  using scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  writeFileSync(path, "", { mode: 0o600 });
  open(path, { newFile }).close();
  expect(contents(path)).toBe(contents(migrated(scratch)));
});

test("where the log of a file that was removed is left, no other file takes its place", () => {
  using scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  writeFileSync(`${path}-wal`, "not a log", { mode: 0o600 });
  let asked = 0;
  const counted = () => {
    asked += 1;
    return newFile();
  };
  open(path, { newFile: counted }).close();
  expect(asked).toBe(0);
  rmSync(`${path}-wal`, { force: true });
});
