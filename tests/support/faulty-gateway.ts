import { createGateway } from "../../src/cli/gateway.ts";
import { defaultTimings } from "../../src/protocol/terminal.ts";
import { untilStopped } from "../../src/system/signals.ts";
import { createSystem } from "../../src/system/system.ts";
import { createFaultSteps } from "./fault-steps.ts";

// The gateway of the session named by the first argument, from the product's own composition root; its steps are
// watched and it may end at any of them (see fault-steps.ts). Says `ready <base url>` when it serves. A terminal
// is believed sooner than usual, so that a run takes less time.

const gateway = createGateway({
  system: createSystem(createFaultSteps(process.env)),
  sessionRoot: process.argv[2] ?? "",
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
