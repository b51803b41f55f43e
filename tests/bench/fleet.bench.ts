import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Bench, durationRows, percentile, type Row, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { ask, type BenchFixture, createBenchFixture, idleCpuPercent, memoryMegabytes } from "./fixture.ts";

const registered = effort(300, 60);
const live = effort(40, 4);
const rounds = effort(400, 60);
const commandLines = effort(5, 2);
const settleMs = effort(10_000, 500);
const watchMs = effort(20_000, 1500);

const repositoryRoot = join(import.meta.dir, "..", "..");

/**
 * The coordination server over many registered agents (`--quick`: fewer), some with a gateway and a scripted
 * agent. A forwarded request stands beside the same one asked of the gateway itself, a list beside an answer
 * that needs nothing.
 */
const bench: Bench = {
  name: "fleet",
  async run() {
    await using fixture = await createBenchFixture();
    const startedMs = performance.now();
    const gateways = await fixture.launchMany(Array.from({ length: live }, (_, number) => `live-${number}`));
    const launchSeconds = (performance.now() - startedMs) / 1000;
    for (let number = live; number < registered; number++) await fixture.register(`other-${number}`);
    await using server = await fixture.coordinate();
    const listed = (await server.ask("/svc/agents")) as { agents: unknown[] };
    if (listed.agents.length !== registered) throw new Error(`${listed.agents.length} agents are listed`);

    let turn = 0;
    const name = () => `live-${turn++ % live}`;
    const durations = await takeTurns(
      [
        { name: "bare", run: () => server.ask("/health") },
        { name: "list", run: () => server.ask("/svc/agents") },
        { name: "resolve", run: () => server.ask(`/svc/agents/${name()}`) },
        { name: "state", run: () => server.ask(`/svc/agents/${name()}/state`) },
        { name: "direct", run: () => ask(`${gateways[turn % live]?.baseUrl}/v1/control/tui/state`) },
        { name: "forwarded", run: () => server.ask(`/svc/agents/${name()}/gateway/tui/state`) },
        { name: "scrape", run: () => scrape(server.baseUrl) },
        { name: "scrapeOne", run: () => scrape(gateways[turn++ % live]?.baseUrl) },
      ],
      { rounds, warmUp: live },
    );
    const of = (contestant: string) => durations[contestant] ?? [];
    const added = (share: number) => percentile(of("forwarded"), share) - percentile(of("direct"), share);
    const lists = [];
    for (let count = 0; count < commandLines; count++) lists.push(await timeCommandLine(fixture));
    const memory = memoryMegabytes(server.pid);
    return [
      { metric: "agents", value: registered, unit: "" },
      { metric: "live_gateways", value: live, unit: "" },
      { metric: "launch_all_s", value: launchSeconds, unit: "s" },
      ...durationRows("list", of("list"), of("bare")),
      ...durationRows("resolve_alias", of("resolve"), of("bare")),
      ...durationRows("state", of("state"), of("direct")),
      ...durationRows("forwarded", of("forwarded"), of("direct")),
      ...durationRows("scrape_server", of("scrape"), of("bare")),
      ...durationRows("scrape_gateway", of("scrapeOne"), of("bare")),
      { metric: "forwarding_adds_p50_ms", value: added(0.5), unit: "ms" },
      { metric: "forwarding_adds_p99_ms", value: added(0.99), unit: "ms" },
      { metric: "agents_list_p50_ms", value: percentile(lists, 0.5), unit: "ms" },
      { metric: "pss_mb", value: memory.pss, unit: "MB" },
      { metric: "anonymous_mb", value: memory.anonymous, unit: "MB" },
      {
        metric: "idle_cpu_percent",
        value: await idleCpuPercent([server.pid], { settleMs, watchMs }),
        unit: "%",
      },
    ] satisfies Row[];
  },
};

export default bench;

/** As Prometheus does it. */
async function scrape(baseUrl: string | undefined): Promise<void> {
  const answer = await fetch(`${baseUrl}/metrics`, { proxy: false } as RequestInit);
  if (!(await answer.text()).includes("svc_build_info")) throw new Error("no metrics");
}

/** `svc-mgr agents list` from its start to its end, ms. */
async function timeCommandLine({ world, tmux }: BenchFixture): Promise<number> {
  const startedMs = performance.now();
  const compiled = join(repositoryRoot, "dist", "svc-mgr");
  const program = existsSync(compiled) ? [compiled] : world.managerCommand;
  const child = Bun.spawn([...program, "agents", "list", "--json"], {
    env: { ...world.env },
    cwd: tmux.folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { agents } = (await new Response(child.stdout).json()) as { agents: { answered: boolean }[] };
  const silent = agents.filter(({ answered }) => !answered).length;
  if (agents.length !== registered || silent > 0) throw new Error(`${agents.length} listed, ${silent} as ?`);
  return performance.now() - startedMs;
}
