import { createSystem } from "../../src/system/system.ts";
import { createFaultSteps } from "./fault-steps.ts";
import { serveUntilTold } from "./gateway-process.ts";

// The gateway of the session named by the first argument, from the product's own composition root; its steps
// are watched and it may end at any of them (see fault-steps.ts). Says `ready <base url>` when it serves.

await serveUntilTold({
  system: createSystem(createFaultSteps(process.env)),
  sessionRoot: process.argv[2] ?? "",
});
