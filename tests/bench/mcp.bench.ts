import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileBare } from "./bare.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";

const executable = join(import.meta.dir, "..", "..", "dist", "svc");

const request = `${JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  },
})}\n`;

/** Answers the first line of its standard input, by hand. */
const bareAnswer = `for await (const line of console) {
  console.log(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(line).id, result: {} }));
  break;
}
`;

/** `svc mcp` from its start to its first answer: a CLI starts it with each of its own starts. */
const bench: Bench = {
  name: "mcp",
  async run() {
    if (!existsSync(executable)) throw new Error("the programs are not built: bun run build");
    const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
    try {
      const bare = compileBare(folder, "answer", bareAnswer);
      const durations = await takeTurns(
        [
          { name: "ours", run: () => firstAnswer([executable, "mcp"]) },
          { name: "bare", run: () => firstAnswer([bare]) },
        ],
        { rounds: effort(60, 8), warmUp: 3 },
      );
      return durationRows("first_answer", durations["ours"] ?? [], durations["bare"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** The time to the answer; the end of the program is not in it. */
async function firstAnswer(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  child.stdin.write(request);
  await child.stdin.flush();
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error(`${command.join(" ")} gave no answer`);
  child.stdin.end();
  child.kill("SIGKILL");
}

export default bench;
