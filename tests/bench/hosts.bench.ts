import { join } from "node:path";
import { type Bus, startBus } from "../support/bus.ts";
import { openFaultyLine } from "../support/faulty-line.ts";
import { someAtOnce } from "../support/some-at-once.ts";
import { timeUntil, until } from "../support/until.ts";
import { type Bench, durationRows, percentile, type Row, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { ask, type BenchFixture, createBenchFixture, idleCpuPercent, memoryMegabytes } from "./fixture.ts";

const hostCount = effort(20, 3);
const registered = effort(50, 20);
const live = effort(3, 1);
const launchedAtOnce = 4;
const rounds = effort(300, 40);
const changes = effort(20, 4);
const heartbeatMs = 1000;
const settleMs = effort(5000, 500);
const watchMs = effort(10_000, 1500);

/**
 * An operator over many hosts and a real NATS server (`--quick`: fewer), each host a process with a home and
 * agents of its own on this machine. A forwarded request stands beside the same one asked of the server on
 * the agent's host.
 */
const bench: Bench = {
  name: "hosts",
  async run() {
    await using stack = new AsyncDisposableStack();
    const operator = stack.use(await createBenchFixture());
    const names = Array.from({ length: hostCount }, (_, index) => `build-${index + 1}`);
    const bus = stack.use(await startBus(join(operator.tmux.folder, "bus"), names));
    // The first host by a way that can be interrupted.
    const line = stack.use(await openFaultyLine(Number(new URL(bus.url).port)));
    const hosts: BenchHost[] = [];
    const startedMs = performance.now();
    await someAtOnce(names.entries(), launchedAtOnce, async ([index, name]) => {
      const url = index === 0 ? `nats://127.0.0.1:${line.port}` : bus.url;
      hosts[index] = stack.use(await startHost(name, url, bus));
    });
    const launchSeconds = (performance.now() - startedMs) / 1000;
    const words = ["serve", "--port", "0", "--host-name", "desk", ...credentials(bus, "operator")];
    const server = stack.use(await operator.startCoord(words));
    const baseUrl = server.ready["api_base_url"] ?? "";
    const listed = async () => ((await ask(`${baseUrl}/svc/agents`)) as { agents: Agent[] }).agents;
    await until("every agent to be listed", async () => (await listed()).length === hostCount * registered);
    const idlePercent = await idleCpuPercent(
      hosts.map(({ pid }) => pid),
      { settleMs, watchMs },
    );
    const [first, second] = hosts;
    if (!first || !second) throw new Error("too few hosts were started");
    const local = stack.use(await second.fixture.coordinate());

    let turn = 0;
    const agent = () => `live-${turn % live}`;
    const onAnyHost = () => `live-${turn++ % live}@build-${(turn % hostCount) + 1}`;
    const state = (server: string, name: string) => ask(`${server}/svc/agents/${name}/gateway/tui/state`);
    const durations = await takeTurns(
      [
        { name: "bare", run: () => ask(`${baseUrl}/health`) },
        { name: "list", run: listed },
        { name: "local", run: () => state(local.baseUrl, agent()) },
        { name: "remote", run: () => state(baseUrl, `${agent()}@${second.name}`) },
        { name: "any", run: () => state(baseUrl, onAnyHost()) },
      ],
      { rounds, warmUp: live * hostCount },
    );
    const of = (contestant: string) => durations[contestant] ?? [];
    const visible = await changesVisible(hosts, (name) => ask(`${baseUrl}/svc/agents/${name}`));
    const memory = memoryMegabytes(server.pid);
    const everyHostAnswers = async () => {
      const all = await Promise.allSettled(
        names.map((name) => ask(`${baseUrl}/svc/agents/live-0@${name}/gateway/tui/state`)),
      );
      return all.every(({ status }) => status === "fulfilled");
    };
    const killedMs = performance.now();
    await bus.restart();
    await until("every host to answer", everyHostAnswers);
    const restartMs = performance.now() - killedMs;
    line.hold(true);
    const shownMs = await timeUntil("the partition to be shown", async () =>
      (await listed()).some(({ host, liveness }) => host === first.name && liveness === "unknown"),
    );
    line.hold(false);
    return [
      { metric: "hosts", value: hostCount, unit: "" },
      { metric: "agents", value: hostCount * registered, unit: "" },
      { metric: "live_agents", value: hostCount * live, unit: "" },
      { metric: "start_all_s", value: launchSeconds, unit: "s" },
      ...durationRows("list", of("list"), of("bare")),
      ...durationRows("forwarded", of("remote"), of("local")),
      ...durationRows("forwarded_any_host", of("any")),
      {
        metric: "forwarding_adds_p50_ms",
        value: percentile(of("remote"), 0.5) - percentile(of("local"), 0.5),
        unit: "ms",
      },
      ...durationRows("change_visible", visible),
      { metric: "idle_cpu_percent_each_host", value: idlePercent / hostCount, unit: "%" },
      { metric: "pss_mb", value: memory.pss, unit: "MB" },
      { metric: "anonymous_mb", value: memory.anonymous, unit: "MB" },
      { metric: "broker_restart_s", value: restartMs / 1000, unit: "s" },
      { metric: "partition_shown_heartbeats", value: shownMs / heartbeatMs, unit: "" },
    ] satisfies Row[];
  },
};

export default bench;

interface Agent {
  agent_name: string | null;
  host?: string;
  liveness: string;
}

interface BenchHost extends AsyncDisposable {
  name: string;
  /** Of its process in the fleet. */
  pid: number;
  fixture: BenchFixture;
}

/** Agents that run and others that only the registry knows, and the process that joins the fleet. */
async function startHost(name: string, url: string, bus: Bus): Promise<BenchHost> {
  await using stack = new AsyncDisposableStack();
  const fixture = stack.use(await createBenchFixture());
  for (let number = 0; number < live; number++) {
    const gateway = await (await fixture.launch(`live-${number}`)).serve();
    await gateway.whenReady();
  }
  for (let number = live; number < registered; number++) await fixture.register(`other-${number}`);
  const words = ["join", "--host", name, ...credentials({ ...bus, url }, name)];
  const { pid } = stack.use(await fixture.startCoord(words));
  const kept = stack.move();
  return { name, pid, fixture, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function credentials(bus: Pick<Bus, "url" | "operatorKey" | "keyOf">, name: string): string[] {
  return ["--nats", bus.url, "--creds", name === "operator" ? bus.operatorKey : bus.keyOf(name)];
}

/** From the record of a new agent on its host to the operator's answer. */
async function changesVisible(
  hosts: readonly BenchHost[],
  look: (agent: string) => Promise<unknown>,
): Promise<number[]> {
  const durations: number[] = [];
  for (let number = 0; number < changes; number++) {
    const host = hosts[number % hosts.length];
    if (!host) continue;
    const name = `late-${number}`;
    await host.fixture.register(name);
    durations.push(
      await timeUntil("the agent to be listed", () =>
        look(`${name}@${host.name}`).then(Boolean, () => false),
      ),
    );
  }
  return durations;
}
