import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { bareServer, compileBare } from "./bare.ts";
import { type Bench, withLimit } from "./bench.ts";
import { cpuNanoseconds, createBenchLab, freePort, memoryMegabytes } from "./lab.ts";

const settleMs = 10_000;
const watchMs = 20_000;

/** A gateway and its tmux client beside an idle agent, and a compiled bare Bun.serve, over the same 20 s. */
const bench: Bench = {
  name: "idle",
  async run() {
    await using lab = await createBenchLab();
    const agent = await lab.launch("idle");
    const gateway = await agent.serve();
    await gateway.whenReady();
    const bareProgram = compileBare(join(lab.tmux.folder, "bare"), "server", bareServer);
    const bare = Bun.spawn([bareProgram, String(await freePort())], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    try {
      const tree = await createProcesses({ steps: quietSteps }).tree(gateway.pid);
      const ours = tree.map(({ pid }) => pid);
      const client = ours[1];
      if (ours.length !== 2) throw new Error(`expected a gateway and its tmux client, found ${ours.length}`);
      const [server = ""] = (await lab.tmux.run("display-message", "-p", "#{pid}")).split("\n");
      await Bun.sleep(settleMs);
      const before = watched(ours, bare.pid, Number(server));
      await Bun.sleep(watchMs);
      const after = watched(ours, bare.pid, Number(server));
      const percent = (key: keyof typeof before) =>
        ((after[key] - before[key]) / (after.atMs - before.atMs) / 1e6) * 100;
      const [gatewayMemory, clientMemory] = [memoryMegabytes(gateway.pid), memoryMegabytes(client ?? 0)];
      const bareMemory = memoryMegabytes(bare.pid);
      const pss = gatewayMemory.pss + clientMemory.pss;
      const anonymous = gatewayMemory.anonymous + clientMemory.anonymous;
      return [
        withLimit({ metric: "cpu_percent", value: percent("ours"), unit: "%" }, percent("bare")),
        withLimit({ metric: "pss_mb", value: pss, unit: "MB" }, bareMemory.pss),
        withLimit({ metric: "anonymous_mb", value: anonymous, unit: "MB" }, bareMemory.anonymous),
        { metric: "tmux_server_cpu_percent", value: percent("server"), unit: "%" },
      ];
    } finally {
      bare.kill();
      await bare.exited;
    }
  },
};

export default bench;

function watched(ours: readonly number[], bare: number, server: number) {
  return {
    atMs: performance.now(),
    ours: ours.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0),
    bare: cpuNanoseconds(bare),
    server: cpuNanoseconds(server),
  };
}
