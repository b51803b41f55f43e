import { takeNothing } from "./arguments.ts";
import { bootstrap } from "./bootstrap.ts";

takeNothing(`
Usage: bun run try

The main job from end to end on a machine that has nothing yet: installs what it needs, starts a demo agent in a sandbox,
prompts it, and shows each step. Leaves nothing behind.
`);

await bootstrap({ tmux: true });
const { runTry } = await import("./try/story.ts");
process.exit(await runTry());
