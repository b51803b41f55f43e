import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTmux } from "../../../src/services/terminal/tmux-command.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";

test("a session can be made while the server of the last one is still leaving", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-leaving-"));
  const processes = createProcesses({ steps: quietSteps });
  const tmux = createTmux({ processes, steps: quietSteps, socket: join(folder, "tmux") });
  try {
    for (let round = 0; round < 40; round++) {
      await tmux.run(["new-session", "-d", "-s", `s${round}`, "sleep 60"], { startServer: true });
      expect(await tmux.killSession("test", `s${round}`)).toBe(true);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
