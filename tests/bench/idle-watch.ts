import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { bareServer, compileBare } from "./bare.ts";
import { effort } from "./effort.ts";
import {
  type BenchFixture,
  cpuNanoseconds,
  freePort,
  memoryMegabytes,
  type ServedGateway,
} from "./fixture.ts";

/**
 * A minute after its last change a gateway gives memory back, which costs it as much as a minute of idling.
 */
const settleMs = effort(75_000, 500);
/** Two of the looks that each takes every 30 s. */
const watchMs = effort(60_000, 2000);

export interface IdleFigures {
  /** Of one core, over the same time. */
  cpuPercent: { ours: number; bare: number; tmuxServer: number };
  memory: Record<"ours" | "bare", { pss: number; anonymous: number }>;
}

/**
 * Watches gateways with their tmux clients, summed, beside a compiled bare Bun.serve, while nothing happens.
 * Throws when a gateway has other processes than its tmux client.
 */
export async function watchIdle(
  fixture: BenchFixture,
  gateways: readonly ServedGateway[],
): Promise<IdleFigures> {
  const processes = createProcesses({ steps: quietSteps });
  const bareProgram = compileBare(join(fixture.tmux.folder, "bare"), "server", bareServer);
  const bare = Bun.spawn([bareProgram, String(await freePort())], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    const trees = await Promise.all(gateways.map(({ pid }) => processes.tree(pid)));
    for (const { length } of trees) {
      if (length !== 2) throw new Error(`expected a gateway and its tmux client, found ${length}`);
    }
    const ours = trees.flat().map(({ pid }) => pid);
    const [server = ""] = (await fixture.tmux.run("display-message", "-p", "#{pid}")).split("\n");
    const read = () => ({
      atMs: performance.now(),
      ours: ours.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0),
      bare: cpuNanoseconds(bare.pid),
      tmuxServer: cpuNanoseconds(Number(server)),
    });
    await Bun.sleep(settleMs);
    const before = read();
    await Bun.sleep(watchMs);
    const after = read();
    const percent = (key: "ours" | "bare" | "tmuxServer") =>
      ((after[key] - before[key]) / (after.atMs - before.atMs) / 1e6) * 100;
    const memories = ours.map(memoryMegabytes);
    return {
      cpuPercent: { ours: percent("ours"), bare: percent("bare"), tmuxServer: percent("tmuxServer") },
      memory: {
        ours: {
          pss: memories.reduce((sum, one) => sum + one.pss, 0),
          anonymous: memories.reduce((sum, one) => sum + one.anonymous, 0),
        },
        bare: memoryMegabytes(bare.pid),
      },
    };
  } finally {
    bare.kill();
    await bare.exited;
  }
}
