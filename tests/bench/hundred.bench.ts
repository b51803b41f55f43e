import { type Bench, type Row, withLimit } from "./bench.ts";
import { effort } from "./effort.ts";
import { createBenchFixture, type ServedGateway } from "./fixture.ts";
import { watchIdle } from "./idle-watch.ts";

const sizes = effort([1, 10, 100], [1, 4]);

/**
 * What each agent costs while nothing happens, for 1, 10 and 100 of them (`--quick`: 1 and 4): gateways with
 * their tmux clients, each beside an idle scripted agent of its own, summed, beside one compiled bare
 * Bun.serve.
 */
const bench: Bench = {
  name: "hundred",
  async run() {
    await using fixture = await createBenchFixture();
    const gateways: ServedGateway[] = [];
    const rows: Row[] = [];
    for (const size of sizes) {
      const more = Array.from({ length: size - gateways.length }, (_, at) => `idle-${gateways.length + at}`);
      const startedMs = performance.now();
      gateways.push(...(await fixture.launchMany(more)));
      const launchMs = (performance.now() - startedMs) / more.length;
      const { cpuPercent, memory } = await watchIdle(fixture, gateways);
      rows.push(
        { metric: `launch_each_${size}_ms`, value: launchMs, unit: "ms" },
        withLimit({ metric: `cpu_percent_${size}`, value: cpuPercent.ours, unit: "%" }, cpuPercent.bare),
        { metric: `cpu_percent_each_${size}`, value: cpuPercent.ours / size, unit: "%" },
        withLimit(
          { metric: `pss_mb_each_${size}`, value: memory.ours.pss / size, unit: "MB" },
          memory.bare.pss,
        ),
        { metric: `anonymous_mb_each_${size}`, value: memory.ours.anonymous / size, unit: "MB" },
        { metric: `tmux_server_cpu_percent_${size}`, value: cpuPercent.tmuxServer, unit: "%" },
      );
    }
    return rows;
  },
};

export default bench;
