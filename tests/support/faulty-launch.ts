import { openCliContext } from "../../src/cli/command-line/cli-context.ts";
import { loadSignals } from "../../src/cli/extensions.ts";
import { stopAgent } from "../../src/services/fleet/stop-agent.ts";
import { findAgent } from "../../src/services/sessions/find.ts";
import { launchAgent } from "../../src/services/sessions/launch.ts";
import { chooseTool } from "../../src/services/sessions/launch-tools.ts";
import { createSystem } from "../../src/system/system.ts";
import { createFaultSteps } from "./fault-steps.ts";

// `launch NAME` or `stop NAME` of a scripted agent through the command line's own composition root; its steps
// are watched and it may end at any of them (see fault-steps.ts).

const [act, agentName = ""] = process.argv.slice(2);
const context = openCliContext(
  { env: process.env, cwd: process.cwd(), home: process.env["HOME"] ?? "" },
  {},
  createSystem(createFaultSteps(process.env)),
);
if (act === "launch") {
  await launchAgent(
    { ...context, planSignals: await loadSignals() },
    {
      tool: chooseTool(context.tools, "demo"),
      agentName,
      workdir: process.cwd(),
      args: [],
    },
  );
} else {
  await stopAgent(context, findAgent(context, { agentName }));
}
process.exit();
