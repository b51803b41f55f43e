import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { openGatewayDatabase } from "../../src/db/gateway/request-store.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { createScratch } from "../support/scratch.ts";

const full = 2;

test("a store syncs each commit, also after one that need not be", () => {
  using scratch = createScratch();
  const store = openGatewayDatabase({
    path: scratch.path("queue.sqlite"),
    clock: createFakeClock(),
    steps: quietSteps,
  });
  const mode = () => Object.values(store.db.get<object>(sql`PRAGMA synchronous`));
  expect(mode()).toEqual([full]);
  store.write("sql:test", () => undefined, { durable: false });
  expect(mode()).toEqual([full]);
  store.close();
});
