import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gatewayMigrations } from "../src/db/gateway/request-store.ts";
import { openStore } from "../src/db/open.ts";
import type { Clock } from "../src/system/clock.ts";
import { quietSteps } from "../src/system/steps.ts";

/**
 * The file of an empty queue with all migrations as one text: see `unpackQueue`. The same migrations, the
 * same text.
 */
export function packNewQueue(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-new-queue-"));
  try {
    const path = join(folder, "queue.sqlite");
    const clock = { nowMs: () => 0 } as Clock;
    openStore({ path, migrations: gatewayMigrations, clock, steps: quietSteps }).close();
    return Bun.zstdCompressSync(readFileSync(path), { level: 19 }).toString("base64");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
