import { runDemoAgent } from "../../src/cli/commands/demo-agent.ts";

process.exit(await runDemoAgent(process.argv.slice(2)));
