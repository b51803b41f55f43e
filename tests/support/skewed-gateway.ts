import { existsSync, readFileSync } from "node:fs";
import { createGateway } from "../../src/cli/gateway.ts";
import { defaultTimings } from "../../src/protocol/terminal.ts";
import { untilStopped } from "../../src/system/signals.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createSystem } from "../../src/system/system.ts";

// The gateway of the session named by the last argument, whose wall clock is off by as many milliseconds as the file
// of the first argument says at the moment; monotonic time goes on as ever, as it does when somebody sets a clock.
// Says `ready <base url>` when it serves.

const [, , skewFile = "", sessionRoot = ""] = process.argv;
const skewMs = () => (existsSync(skewFile) ? Number(readFileSync(skewFile, "utf8")) : 0);
const system = createSystem(quietSteps);
const clock = { ...system.clock, nowMs: () => system.clock.nowMs() + skewMs() };

const gateway = createGateway({
  system: { ...system, clock },
  sessionRoot,
  host: "127.0.0.1",
  port: 0,
  token: null,
  profiles: [],
  env: process.env,
  timings: { ...defaultTimings, stability_threshold_seconds: 0.15, completion_stability_seconds: 0.15 },
});
const stopped = untilStopped(() => gateway.stop());
const { baseUrl } = await gateway.start();
process.stdout.write(`ready ${baseUrl}\n`);
process.exit(await stopped);
