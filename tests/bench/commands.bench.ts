import { existsSync } from "node:fs";
import { join } from "node:path";
import { compileBare } from "./bare.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { type BenchFixture, createBenchFixture } from "./fixture.ts";

const few = effort(5, 2);
const agents = effort(40, 4);
/** Those that do not live included. */
const registered = effort(300, 30);
const rounds = effort(40, 5);

const dist = join(import.meta.dir, "..", "..", "dist");

/**
 * Commands as a person types them, from their start to their end, beside a compiled program that prints a
 * line: one that reads nothing, one that asks one gateway, and lists: of few live agents, of more, and of
 * those among many that do not live. No coordination server runs.
 */
const bench: Bench = {
  name: "commands",
  async run() {
    if (!existsSync(join(dist, "svc"))) throw new Error("the programs are not built: bun run build");
    await using fixture = await createBenchFixture();
    const bare = compileBare(join(fixture.tmux.folder, "bare"), "hello", 'console.log("hello");\n');
    const svc = join(dist, "svc");
    const list = (newest: string) =>
      takeTurns(
        [
          { name: "bare", run: () => spend(fixture, [bare], "hello") },
          { name: "list", run: () => spend(fixture, [svc, "agents", "list"], newest) },
        ],
        { rounds, warmUp: 2 },
      );
    await launch(fixture, 0, few);
    const ofFew = await list(`live-${few - 1}`);
    await launch(fixture, few, agents);
    const durations = await takeTurns(
      [
        { name: "bare", run: () => spend(fixture, [bare], "hello") },
        { name: "help", run: () => spend(fixture, [svc, "--help"], "Usage:") },
        { name: "ok", run: () => spend(fixture, [svc, "ok", "live-0"], "asks nothing") },
        { name: "svc", run: () => spend(fixture, [svc], `live-${agents - 1}`) },
      ],
      { rounds, warmUp: 2 },
    );
    for (let number = agents; number < registered; number++) await fixture.register(`other-${number}`);
    const ofAll = await list(`other-${registered - 1}`);
    const of = (contestant: string) => durations[contestant] ?? [];
    return [
      { metric: "agents", value: agents, unit: "" },
      ...durationRows("help", of("help"), of("bare")),
      ...durationRows("ask_one", of("ok"), of("bare")),
      ...durationRows("svc", of("svc"), of("bare")),
      ...durationRows("list_few", ofFew["list"] ?? [], ofFew["bare"]),
      ...durationRows("list_registered", ofAll["list"] ?? [], ofAll["bare"]),
    ];
  },
};

export default bench;

function launch(fixture: BenchFixture, from: number, to: number): Promise<unknown> {
  return fixture.launchMany(Array.from({ length: to - from }, (_, index) => `live-${from + index}`));
}

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
