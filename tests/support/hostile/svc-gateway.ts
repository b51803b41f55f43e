import { runDemoAgent } from "../../../src/cli/commands/demo-agent.ts";
import { runAcpDemoAgent } from "../../../src/cli/commands/demo-agent-acp.ts";
import { runHeadlessDemoAgent } from "../../../src/cli/commands/demo-agent-headless.ts";
import { planHostileTurn } from "./headless-turn.ts";
import { parseHostileScript } from "./script.ts";

// The programs, but for the scripted agent, which knows the hostile scripts and prompts of the tests too.

const words = process.argv.slice(2).filter((word, at) => at > 0 || word !== "gateway");
if (words[0] === "demo-agent") {
  const args = words.slice(1);
  if (words.includes("--acp")) process.exit(await runAcpDemoAgent(args, planHostileTurn));
  const headless = words.includes("--headless");
  process.exit(
    headless
      ? await runHeadlessDemoAgent(args, planHostileTurn)
      : await runDemoAgent(args, parseHostileScript),
  );
}
await import("../../../src/cli/svc-gateway.ts");
