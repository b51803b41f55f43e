import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGatewayDatabase, requestStoreOn } from "../../../src/db/gateway/request-store.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { tellStorageFault } from "../../../src/system/storage-fault.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-store-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const row = {
  kind: "interrupt",
  lane: "interrupt",
  payload: {},
  acceptedAtUtc: "2026-01-05T08:00:00.000Z",
  epoch: 1,
} as const;

describe("a queue that is overwritten while it is open", () => {
  test("is named by what reads and by what writes", async () => {
    const path = join(folder, "queue.sqlite");
    const store = requestStoreOn(openGatewayDatabase({ path, clock: createFakeClock(), steps: quietSteps }));
    // More than SQLite keeps in memory.
    const prompt = "x".repeat(15_000);
    const rows = Array.from({ length: 400 }, (_, n) => ({
      ...row,
      requestId: `gwreq-${n}`,
      payload: { prompt },
    }));
    await Promise.all(rows.map((one) => store.insertAccepted(one)));
    for (const at of [path, `${path}-wal`]) writeFileSync(at, new Uint8Array(statSync(at).size).fill(0xa5));
    const thrown = (act: () => unknown) => {
      try {
        act();
        return null;
      } catch (error) {
        return tellStorageFault(error);
      }
    };
    const reading = thrown(() => store.list({ limit: 400 }));
    store.fault();
    const told = {
      reading,
      writing: thrown(() => store.addEvidence("sql:evidence", "gwreq-1", [])),
      inserting: await store
        .insertAccepted({ ...row, requestId: "new" })
        .catch((error) => tellStorageFault(error)),
    };
    const named = expect.stringMatching(/^queue\.sqlite cannot be used: it is damaged/);
    expect(told).toEqual({ reading: named, writing: named, inserting: named });
    store.close();
  });
});

test.each(["payload_json", "result_json", "evidence_json"])(
  "a row whose %s is no JSON is reported as a damaged queue",
  async (column) => {
    const at = mkdtempSync(join(tmpdir(), "svc-store-"));
    try {
      const path = join(at, "queue.sqlite");
      const store = requestStoreOn(
        openGatewayDatabase({ path, clock: createFakeClock(), steps: quietSteps }),
      );
      await store.insertAccepted({ ...row, requestId: "gwreq-1" });
      const planted = new Database(path);
      planted.run(`UPDATE gateway_requests SET ${column} = 'user'`);
      planted.close();
      let told: string | null = null;
      try {
        store.list({ limit: 1 });
      } catch (error) {
        told = tellStorageFault(error);
      }
      expect(told).toContain("queue.sqlite cannot be used: it is damaged");
      store.close();
    } finally {
      rmSync(at, { recursive: true, force: true });
    }
  },
);
