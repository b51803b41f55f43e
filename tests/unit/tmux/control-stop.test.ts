import { expect, test } from "bun:test";
import { createControlConnection } from "../../../src/services/terminal/tmux/control.ts";
import type { TmuxMutex } from "../../../src/services/terminal/tmux/mutex.ts";
import type { Processes } from "../../../src/system/processes.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** Others hold it for ever: it comes to who no longer wants it only. */
const busy: TmuxMutex = {
  take: ({ signal } = {}) =>
    new Promise((resolve) => signal?.addEventListener("abort", () => resolve(() => {}))),
};

test("a connection that is stopped while it waits for its turn starts no client and waits no longer", async () => {
  const control = createControlConnection({
    processes: {} as Processes,
    clock: createFakeClock(),
    mutex: busy,
    session: "agent",
    log: () => {},
  });
  control.start();
  await control.stop();
  expect(control.connected()).toBe(false);
}, 2000);
