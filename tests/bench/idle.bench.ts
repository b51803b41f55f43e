import { type Bench, withLimit } from "./bench.ts";
import { createBenchFixture } from "./fixture.ts";
import { watchIdle } from "./idle-watch.ts";

/**
 * A gateway and its tmux client beside an idle agent, and a compiled bare Bun.serve, over the same minute.
 */
const bench: Bench = {
  name: "idle",
  async run() {
    await using fixture = await createBenchFixture();
    const agent = await fixture.launch("idle");
    const gateway = await agent.serve();
    await gateway.whenReady();
    const { cpuPercent, memory } = await watchIdle(fixture, [gateway]);
    const { ours, bare } = memory;
    return [
      withLimit({ metric: "cpu_percent", value: cpuPercent.ours, unit: "%" }, cpuPercent.bare),
      withLimit({ metric: "pss_mb", value: ours.pss, unit: "MB" }, bare.pss),
      withLimit({ metric: "anonymous_mb", value: ours.anonymous, unit: "MB" }, bare.anonymous),
      { metric: "tmux_server_cpu_percent", value: cpuPercent.tmuxServer, unit: "%" },
    ];
  },
};

export default bench;
