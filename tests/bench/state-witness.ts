import { detect } from "../../src/services/terminal/detect/detect.ts";
import { profileFor } from "../../src/services/terminal/profiles/profile.ts";
import { createControlConnection } from "../../src/services/terminal/tmux/control.ts";
import { createTmuxMutex } from "../../src/services/terminal/tmux/mutex.ts";
import { createPaneReader } from "../../src/services/terminal/tmux/pane-reader.ts";
import { createClock } from "../../src/system/clock.ts";
import { createLocks } from "../../src/system/locks.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { wallMs } from "./bench.ts";
import type { Edge, Witness } from "./state-edges.ts";

// Dates every repaint of a pane, and polls it every 500 ms. `state-witness.ts SOCKET SESSION PANE`; on a
// message `since` answers with one turn that began then.

const [socket = "", session = "", paneId = ""] = process.argv.slice(2);
const clock = createClock();
const processes = createProcesses({ steps: quietSteps });
const mutex = createTmuxMutex({ locks: createLocks({ clock }), clock }, socket);
const control = createControlConnection({ processes, clock, mutex, socket, session, log: console.error });
const reader = createPaneReader({ control, processes, clock });
const profile = profileFor("demo", []);
const painted: number[] = [];
const polled: Edge[] = [];

control.start();
await control.whenConnected(5000);
control.onOutput(paneId, () => void painted.push(wallMs()));
const pane = await reader.find(session, paneId);
if (!pane) throw new Error("no such pane");

async function poll(): Promise<void> {
  const observation = pane && (await reader.read(pane, false));
  if (!observation) return;
  const { activeReasons, surface } = detect(observation, profile);
  const free = surface.ready_posture === "yes" && surface.editing_input === "no";
  const kind = activeReasons.length > 0 ? "busy" : free ? "ready" : null;
  if (kind !== null && kind !== polled.at(-1)?.kind) polled.push({ kind, atMs: wallMs() });
}
setInterval(poll, 500);
await poll();

process.on("message", async (sinceMs: number) => {
  for (;;) {
    const edges = polled.filter(({ atMs }) => atMs >= sinceMs);
    const [busy, ready] = [edges.find(isOf("busy")), edges.find(isOf("ready"))];
    if (busy && ready && ready.atMs > busy.atMs) {
      const repaints = painted.filter((atMs) => atMs >= sinceMs);
      const answer: Witness = {
        // The Enter is answered by the frame that shows work, and the turn ends with the last frame painted.
        painted: { busy: repaints[0] ?? Number.NaN, ready: repaints.at(-1) ?? Number.NaN },
        polled: { busy: busy.atMs, ready: ready.atMs },
      };
      process.send?.(answer);
      return;
    }
    await Bun.sleep(20);
  }
});
process.send?.("ready");

function isOf(kind: Edge["kind"]): (edge: Edge) => boolean {
  return (edge) => edge.kind === kind;
}
