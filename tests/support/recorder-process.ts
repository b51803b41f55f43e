import { createRecorder } from "../../src/services/extensions/observe/recorder/recorder.ts";
import type { PaneFrame } from "../../src/services/terminal/tmux/pane-stream.ts";
import { createClock } from "../../src/system/clock.ts";
import { createFiles } from "../../src/system/files.ts";
import { createIds } from "../../src/system/ids.ts";
import { createFaultSteps } from "./fault-steps.ts";
import { until } from "./until.ts";

// `recorder-process.ts GATEWAY_ROOT COUNT`: records that many numbered events and rows of a terminal, in
// several segments, and ends. FAULT_KILL ends it at one of its steps.

const [gatewayRoot = "", count = "10"] = process.argv.slice(2);
const clock = createClock();
const files = createFiles({ ids: createIds(), steps: createFaultSteps(process.env) });
let tell = (_: number) => {};
const rows: PaneFrame[] = [];

async function* pane(signal: AbortSignal): AsyncGenerator<PaneFrame> {
  yield { kind: "picture", why: "first", width: 80, height: 24 };
  yield { kind: "bytes", bytes: Buffer.from("\x1bcwhole ") };
  while (!signal.aborted) {
    const row = rows.shift();
    if (row) yield row;
    else await Bun.sleep(5);
  }
}

const recorder = createRecorder({
  files,
  clock,
  gatewayRoot,
  title: "worker",
  reserveBytes: 0,
  limits: { maxBytes: 2 ** 20, maxAgeMs: 3_600_000 },
  sources: {
    events(listener) {
      tell = (nth) => {
        const request = { request_id: `r-${nth}`, request_kind: "submit_prompt" };
        listener({
          seq: nth,
          kind: "accepted",
          at_utc: new Date(clock.nowMs()).toISOString(),
          ...request,
        } as never);
      };
      return () => {};
    },
    terminal: () => () => {},
    decisions: () => () => {},
    pane,
    queue: () => ({ queue_depth: 0, requests: [] }),
  },
  onProblem: (problem) => {
    console.error(problem);
    process.exit(1);
  },
});
recorder.start();
for (let nth = 1; nth <= Number(count); nth++) {
  const before = recorder.facts().bytes;
  tell(nth);
  // So large that some segments are filled.
  rows.push({ kind: "bytes", bytes: Buffer.from(`row ${nth} ${"x ".repeat(12_000)}\r\n`) });
  await until("it is written", () => recorder.facts().bytes > before);
}
await recorder.stop();
console.log("done");
