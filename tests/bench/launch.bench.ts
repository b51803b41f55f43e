import { existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { type Bench, durationRows } from "./bench.ts";
import { effort } from "./effort.ts";
import { type BenchFixture, createBenchFixture } from "./fixture.ts";

const svc = join(import.meta.dir, "..", "..", "dist", "svc");
const rounds = effort(12, 2);

/**
 * `svc new NAME demo` from its start to its end: the program is proved to be in its pane, and the gateway
 * beside it is healthy. Beside it the same program in a tmux session that nobody serves, until its composer
 * is there.
 */
const bench: Bench = {
  name: "launch",
  async run() {
    if (!existsSync(svc)) throw new Error("the programs are not built: bun run build");
    await using fixture = await createBenchFixture();
    // A tmux server is there already when a second agent starts.
    await runToEnd(fixture, [svc, "new", "first", "demo"]);
    const durations = { ours: [] as number[], bare: [] as number[] };
    for (let round = -1; round < rounds; round++) {
      const ours = await timed(() => runToEnd(fixture, [svc, "new", `agent-${round + 1}`, "demo"]));
      await runToEnd(fixture, [svc, "stop", `agent-${round + 1}`]);
      const bare = await timed(() => startBare(fixture, `bare-${round + 1}`));
      await fixture.tmux.run("kill-session", "-t", `=bare-${round + 1}`);
      if (round < 0) continue;
      durations.ours.push(ours);
      durations.bare.push(bare);
    }
    await runToEnd(fixture, [svc, "stop", "first"]);
    return durationRows("launch", durations.ours, durations.bare);
  },
};

export default bench;

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await act();
  return performance.now() - startedMs;
}

async function runToEnd({ world, tmux }: BenchFixture, command: string[]): Promise<void> {
  const child = Bun.spawn(command, {
    env: { ...world.env },
    cwd: tmux.folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${said}`);
}

async function startBare({ tmux }: BenchFixture, session: string): Promise<void> {
  const { paneId } = await tmux.newSession(session, [join(svc, "..", "svc-gateway"), "demo-agent"]);
  await until("the composer", async () => (await tmux.screen(paneId)).includes("▶"));
}
