import { bootstrap } from "./bootstrap.ts";

await bootstrap({ tmux: true });
const { runTry } = await import("./try/story.ts");
process.exit(await runTry());
