import { type Bench, withLimit } from "./bench.ts";
import { watchIdle } from "./idle-watch.ts";
import { createBenchLab } from "./lab.ts";

const agents = 20;

/** Twenty gateways side by side, each beside an idle agent of its own, and one compiled bare Bun.serve. */
const bench: Bench = {
  name: "fleet-idle",
  async run() {
    await using lab = await createBenchLab();
    const gateways = [];
    for (let count = 0; count < agents; count++) {
      const agent = await lab.launch(`idle-${count}`);
      gateways.push(await agent.serve());
    }
    for (const gateway of gateways) await gateway.whenReady();
    const { cpuPercent, memory } = await watchIdle(lab, gateways);
    return [
      { metric: "gateways", value: agents, unit: "" },
      withLimit({ metric: "cpu_percent", value: cpuPercent.ours, unit: "%" }, cpuPercent.bare),
      { metric: "pss_mb", value: memory.ours.pss, unit: "MB" },
      { metric: "anonymous_mb", value: memory.ours.anonymous, unit: "MB" },
      { metric: "tmux_server_cpu_percent", value: cpuPercent.tmuxServer, unit: "%" },
    ];
  },
};

export default bench;
