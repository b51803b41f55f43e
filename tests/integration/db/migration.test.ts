import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gatewayMigrations } from "../../../src/db/gateway/request-store.ts";
import type { Migration } from "../../../src/db/migrations.ts";
import { openStore } from "../../../src/db/open.ts";
import { quietSteps, type Steps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { dump, load, releasedFolder } from "../../support/released.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

const sessions = join(releasedFolder, "0.1.0-queue-0000/state/runtime/sessions/local_interactive");
const earlier = join(sessions, readdirSync(sessions)[0] ?? "", "gateway/queue.sqlite.sql");

/** A queue as the first version left it, and what opens it. */
function createQueue(scratch: Scratch) {
  const path = scratch.path("queue.sqlite");
  load(path, readFileSync(earlier, "utf8"));
  return {
    before: dump(path),
    dump: () => dump(path),
    open(migrations: readonly Migration[], steps: Steps = quietSteps) {
      const store = openStore({ path, migrations, clock: createFakeClock(), steps });
      store.close();
    },
  };
}

const requestsIn = (sql: string) => sql.match(/^INSERT INTO "gateway_requests".*$/gm);

test("a migration that fails in its middle changes nothing, and the next opening goes on from there", () => {
  using scratch = createScratch();
  const queue = createQueue(scratch);
  const half = "CREATE TABLE half (a);\n--> statement-breakpoint\nINSERT INTO nowhere VALUES (1);";
  const failing = [...gatewayMigrations, { tag: "0099_half", sql: half }];
  expect(() => queue.open(failing)).toThrow("nowhere");
  expect(queue.dump()).toBe(queue.before);
  queue.open(gatewayMigrations);
  // A row may have grown at its end, and is otherwise what it was.
  const rows = requestsIn(queue.before)?.map((row) => expect.stringContaining(row.replace(/\);$/, "")));
  expect<unknown>(requestsIn(queue.dump())).toEqual(rows);
  expect(queue.dump()).toContain("gateway_mail_notifier");
});

test("a process that ends before it migrates leaves the database to the next one", () => {
  using scratch = createScratch();
  const queue = createQueue(scratch);
  const ended: Steps = {
    ...quietSteps,
    before(label) {
      if (label === "sql:migrate") throw new Error("ended");
    },
  };
  expect(() => queue.open(gatewayMigrations, ended)).toThrow("ended");
  expect(queue.dump()).toBe(queue.before);
  queue.open(gatewayMigrations);
  const migrated = queue.dump();
  queue.open(gatewayMigrations);
  expect(queue.dump()).toBe(migrated);
});

test("a migration that was changed after it was applied is refused, and nothing is changed", () => {
  using scratch = createScratch();
  const queue = createQueue(scratch);
  const [first, ...rest] = gatewayMigrations;
  const edited = [{ tag: first?.tag ?? "", sql: `${first?.sql}\n-- edited` }, ...rest];
  expect(() => queue.open(edited)).toThrow(
    /^queue\.sqlite was written by another svc \(its migration 0000_queue is not ours\)/,
  );
  expect(queue.dump()).toBe(queue.before);
});
