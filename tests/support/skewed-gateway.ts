import { existsSync, readFileSync } from "node:fs";
import { quietSteps } from "../../src/system/steps.ts";
import { createSystem } from "../../src/system/system.ts";
import { serveUntilTold } from "./gateway-process.ts";

// The gateway of the session named by the last argument, whose wall clock is off by as many milliseconds as
// the file of the first argument says at the moment; monotonic time goes on as ever, as it does when somebody
// sets a clock. Says `ready <base url>` when it serves.

const [, , skewFile = "", sessionRoot = ""] = process.argv;
const skewMs = () => (existsSync(skewFile) ? Number(readFileSync(skewFile, "utf8")) : 0);
const system = createSystem(quietSteps);
const clock = { ...system.clock, nowMs: () => system.clock.nowMs() + skewMs() };

await serveUntilTold({ system: { ...system, clock }, sessionRoot });
