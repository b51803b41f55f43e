import { runDemoAgent } from "../../../src/cli/commands/demo-agent.ts";
import { parseHostileScript } from "./script.ts";

// The programs, but for the scripted agent, which knows the hostile scripts of the tests too.

const words = process.argv.slice(2).filter((word, at) => at > 0 || word !== "gateway");
if (words[0] === "demo-agent" && !words.includes("--headless")) {
  process.exit(await runDemoAgent(words.slice(1), parseHostileScript));
}
await import("../../../src/cli/svc-gateway.ts");
