import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGatewayDatabase, requestStoreOn } from "../../src/db/gateway/request-store.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createFakeClock } from "../support/fake-clock.ts";

test("the queue and the files beside it are for their owner only", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-private-"));
  const path = join(folder, "queue.sqlite");
  const mode = (name: string) => statSync(join(folder, name)).mode & 0o777;
  const store = requestStoreOn(openGatewayDatabase({ path, clock: createFakeClock(), steps: quietSteps }));
  try {
    for (const name of ["queue.sqlite", "queue.sqlite-wal", "queue.sqlite-shm"]) {
      expect({ name, mode: mode(name) }).toEqual({ name, mode: 0o600 });
    }
    const reader = new Database(path, { readonly: true });
    expect(reader.query("SELECT count(*) AS found FROM __migrations").get()).not.toBeNull();
    reader.close();
  } finally {
    store.close();
    rmSync(folder, { recursive: true });
  }
});
