import { existsSync } from "node:fs";
import { join } from "node:path";
import { compileBare } from "./bare.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { type BenchFixture, createBenchFixture } from "./fixture.ts";

const agents = effort(40, 4);
const launchedAtOnce = 4;
const rounds = effort(40, 5);

const dist = join(import.meta.dir, "..", "..", "dist");

/**
 * Commands as a person types them, from their start to their end, beside a compiled program that prints a line: one that
 * reads nothing, one that asks one gateway, and the lists of `agents` live ones.
 */
const bench: Bench = {
  name: "commands",
  async run() {
    if (!existsSync(join(dist, "svc"))) throw new Error("the programs are not built: bun run build");
    await using fixture = await createBenchFixture();
    const numbers = Array.from({ length: agents }, (_, index) => index).values();
    const work = async () => {
      for (const number of numbers) {
        const gateway = await (await fixture.launch(`live-${number}`)).serve();
        await gateway.whenReady();
      }
    };
    await Promise.all(Array.from({ length: launchedAtOnce }, work));
    const bare = compileBare(join(fixture.tmux.folder, "bare"), "hello", 'console.log("hello");\n');
    const svc = join(dist, "svc");
    const durations = await takeTurns(
      [
        { name: "bare", run: () => spend(fixture, [bare], "hello") },
        { name: "help", run: () => spend(fixture, [svc, "--help"], "Usage:") },
        { name: "ok", run: () => spend(fixture, [svc, "ok", "live-0"], "asks nothing") },
        { name: "svc", run: () => spend(fixture, [svc], `live-${agents - 1}`) },
      ],
      { rounds, warmUp: 2 },
    );
    const of = (contestant: string) => durations[contestant] ?? [];
    return [
      { metric: "agents", value: agents, unit: "" },
      ...durationRows("help", of("help"), of("bare")),
      ...durationRows("ask_one", of("ok"), of("bare")),
      ...durationRows("svc", of("svc"), of("bare")),
    ];
  },
};

export default bench;

async function spend({ world, tmux }: BenchFixture, command: string[], expected: string): Promise<void> {
  const child = Bun.spawn(command, {
    env: { ...world.env },
    cwd: tmux.folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0 || !text.includes(expected))
    throw new Error(`${command.join(" ")}: ${text}`);
}
