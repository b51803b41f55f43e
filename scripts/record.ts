import { join } from "node:path";
import { takeNothing } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";

takeNothing(`
Usage: bun run record

Records README.md's terminal session anew, with the executables of this very source, into scripts/record/recording.json;
\`bun run docs\` draws docs/session.svg from it.
`);

await bootstrap({ tmux: true });
const { renderJson } = await import("../src/protocol/json.ts");
const { recordSession } = await import("./record/session.ts");
const { runStep } = await import("./steps.ts");

const build = await runStep({ name: "build", command: [process.execPath, "scripts/build.ts"], live: true });
if (!build.ok) process.exit(1);
const recording = await recordSession(join(repositoryRoot, "dist"));
await Bun.write(join(repositoryRoot, "scripts", "record", "recording.json"), renderJson(recording));
console.log(`recorded ${recording.moments.length} moments; now run: bun run docs`);
