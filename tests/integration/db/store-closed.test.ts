import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGatewayDatabase, requestStoreOn } from "../../../src/db/gateway/request-store.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

test("a queue that was closed leaves no log to read at the next start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-store-"));
  try {
    const path = join(folder, "queue.sqlite");
    const open = () =>
      requestStoreOn(openGatewayDatabase({ path, clock: createFakeClock(), steps: quietSteps }));
    const store = open();
    await store.insertAccepted({
      requestId: "gwreq-1",
      kind: "submit_prompt",
      lane: "turn_boundary",
      payload: { prompt: "one" },
      acceptedAtUtc: "2026-01-05T08:00:00.000Z",
      epoch: 1,
    });
    store.heads();
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    store.close();
    expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    const again = open();
    expect(again.get("gwreq-1")?.state).toBe("accepted");
    again.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
