import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { renderJson } from "../../src/protocol/json.ts";
import { buildRecord } from "../../src/services/sessions/record.ts";
import { type Bus, startBus } from "../support/bus.ts";
import { openFaultyLine } from "../support/faulty-line.ts";
import { sampleManifest } from "../support/session-samples.ts";
import { until } from "../support/until.ts";
import { type Bench, durationRows, percentile, type Row, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { type BenchFixture, cpuNanoseconds, createBenchFixture, memoryMegabytes } from "./fixture.ts";

const hostCount = effort(20, 3);
const registered = effort(50, 20);
const live = effort(3, 1);
const launchedAtOnce = 4;
const rounds = effort(300, 40);
const changes = effort(20, 4);
const heartbeatMs = 1000;
const settleMs = effort(5000, 500);
const watchMs = effort(10_000, 1500);

const repositoryRoot = join(import.meta.dir, "..", "..");
const program = join(repositoryRoot, "dist", "svc-coord");

/**
 * An operator over many hosts and a real NATS server (`--quick`: fewer), each host a process with a home and agents of
 * its own on this machine. A forwarded request stands beside the same one asked of the server on the agent's host.
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
    const left = names.entries();
    const startedMs = performance.now();
    await Promise.all(
      Array.from({ length: launchedAtOnce }, async () => {
        for (const [index, name] of left) {
          const url = index === 0 ? `nats://127.0.0.1:${line.port}` : bus.url;
          hosts[index] = stack.use(await startHost(name, url, bus));
        }
      }),
    );
    const launchSeconds = (performance.now() - startedMs) / 1000;
    const server = stack.use(
      await startProgram(operator, [
        "serve",
        "--port",
        "0",
        "--host-name",
        "desk",
        ...credentials(bus, "operator"),
      ]),
    );
    const baseUrl = server.ready["api_base_url"] ?? "";
    const listed = async () => ((await ask(`${baseUrl}/svc/agents`)) as { agents: Agent[] }).agents;
    await until("every agent to be listed", async () => (await listed()).length === hostCount * registered);
    const idlePercent = await idleCpuPercent(hosts.map(({ pid }) => pid));
    const [first, second] = hosts;
    if (!first || !second) throw new Error("too few hosts were started");
    const local = stack.use(await startProgram(second.fixture, ["serve", "--port", "0"]));
    const localUrl = local.ready["api_base_url"] ?? "";

    let turn = 0;
    const agent = () => `live-${turn % live}`;
    const onAnyHost = () => `live-${turn++ % live}@build-${(turn % hostCount) + 1}`;
    const state = (server: string, name: string) => ask(`${server}/svc/agents/${name}/gateway/tui/state`);
    const durations = await takeTurns(
      [
        { name: "bare", run: () => ask(`${baseUrl}/health`) },
        { name: "list", run: listed },
        { name: "local", run: () => state(localUrl, agent()) },
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
    const restartMs = await timeUntil(() => bus.restart(), everyHostAnswers);
    const shownMs = await timeUntil(
      async () => line.hold(true),
      async () =>
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
      { metric: "idle_cpu_percent_each_host", value: idlePercent, unit: "%" },
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
  for (let number = live; number < registered; number++) await register(fixture, `other-${number}`);
  const words = ["join", "--host", name, ...credentials({ ...bus, url }, name)];
  const { pid } = stack.use(await startProgram(fixture, words));
  const kept = stack.move();
  return { name, pid, fixture, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function credentials(bus: Pick<Bus, "url" | "operatorKey" | "keyOf">, name: string): string[] {
  return ["--nats", bus.url, "--creds", name === "operator" ? bus.operatorKey : bus.keyOf(name)];
}

/** An agent of which only the registry and its manifest know. */
async function register({ world, tmux }: BenchFixture, agentName: string): Promise<void> {
  const manifest = sampleManifest({
    ...{ agentName, agentId: `id-${agentName}`, generationId: `generation-${agentName}` },
    sessionId: `local_interactive-20261121-044700Z-${Bun.hash.crc32(agentName).toString(16).padStart(8, "0")}`,
    tmux: {
      sessionName: `SVC-${agentName}`,
      ...{ windowName: "agent", windowId: "@0", paneId: "%0", socket: tmux.socket },
    },
  });
  const sessionRoot = join(tmux.folder, "others", agentName);
  const manifestPath = join(sessionRoot, "manifest.json");
  world.files.ensureDirectory("bench", sessionRoot);
  world.files.write("bench", manifestPath, renderJson(manifest), { durable: false });
  await world.registry.publish(
    buildRecord({ manifest, manifestPath, sessionRoot, nowMs: world.clock.nowMs() }),
  );
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
    await register(host.fixture, name);
    durations.push(
      await timeUntil(
        async () => {},
        () => look(`${name}@${host.name}`).then(Boolean, () => false),
      ),
    );
  }
  return durations;
}

/** Of one core, of each process, while nobody asks. */
async function idleCpuPercent(pids: readonly number[]): Promise<number> {
  await Bun.sleep(settleMs);
  const spent = () => pids.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0) / 1e6;
  const [startedMs, before] = [performance.now(), spent()];
  await Bun.sleep(watchMs);
  return ((spent() - before) / (performance.now() - startedMs) / pids.length) * 100;
}

async function timeUntil(begin: () => Promise<void>, isSo: () => Promise<boolean>): Promise<number> {
  const startedMs = performance.now();
  await begin();
  await until("the change", isSo);
  return performance.now() - startedMs;
}

interface Program extends AsyncDisposable {
  pid: number;
  ready: Record<string, string>;
}

async function startProgram({ world, tmux }: BenchFixture, words: readonly string[]): Promise<Program> {
  mkdirSync(world.env["HOME"] ?? "", { recursive: true });
  const child = Bun.spawn([program, ...words, "--json"], {
    ...{ env: { ...world.env }, cwd: tmux.folder, stdio: ["ignore", "pipe", "inherit"] as const },
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error(`svc-coord ${words[0]} did not start`);
  return {
    pid: child.pid,
    ready: JSON.parse(new TextDecoder().decode(value)) as Record<string, string>,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

async function ask(url: string): Promise<unknown> {
  const reply = await fetch(url, { proxy: false } as RequestInit);
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
  return reply.json();
}
