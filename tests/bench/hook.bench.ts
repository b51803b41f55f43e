import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileBare } from "./bare.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";

const executable = join(import.meta.dir, "..", "..", "dist", "svc-gateway");

const payload = JSON.stringify({
  session_id: "c4d73d42-006c-4e5a-b1c6-7a26c46b77a7",
  transcript_path: "/home/user/.claude/projects/-home-user-work/c4d73d42-006c-4e5a-b1c6-7a26c46b77a7.jsonl",
  cwd: "/home/user/work",
  prompt_id: "0e9110c2-d3ce-4a02-8757-74307542b823",
  permission_mode: "default",
  hook_event_name: "UserPromptSubmit",
  prompt: "Say what this repository does, in one sentence.",
});

/**
 * The hook command from its start to its end, with a prompt on standard input and the report in the spool:
 * Claude Code waits for it before it sends the prompt. Beside it a compiled program that does nothing.
 */
const bench: Bench = {
  name: "hook",
  async run() {
    const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
    try {
      const nothing = compileBare(folder, "nothing", 'console.log("0.0.0");\n');
      const spool = join(folder, "reports.jsonl");
      const durations = await takeTurns(
        [
          { name: "hook", run: () => finish([executable, "gateway", "signal", "claude", spool]) },
          { name: "nothing", run: () => finish([nothing]) },
        ],
        { rounds: effort(200, 20), warmUp: 5 },
      );
      return durationRows("report", durations["hook"] ?? [], durations["nothing"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function finish(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdin: new Blob([payload]), stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error("a hook must end with 0");
}

export default bench;
