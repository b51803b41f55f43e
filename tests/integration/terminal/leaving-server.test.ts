import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTmux } from "../../../src/services/terminal/tmux-command.ts";
import { createTmuxMutex } from "../../../src/services/terminal/tmux-mutex.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";

test("a session can be made while the server of the last one is still leaving", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-leaving-"));
  const processes = createProcesses({ steps: quietSteps });
  const clock = createClock();
  const socket = join(folder, "tmux");
  const mutex = createTmuxMutex({ locks: createLocks({ clock }), clock }, socket);
  const tmux = createTmux({ processes, steps: quietSteps, socket, mutex });
  try {
    for (let round = 0; round < 40; round++) {
      await tmux.run(["new-session", "-d", "-s", `s${round}`, "sleep 60"], { startServer: true });
      expect(await tmux.killSession("test", `s${round}`)).toBe(true);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
