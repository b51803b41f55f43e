import type { HostileScript } from "../support/hostile/script.ts";
import { createChaos } from "./chaos.ts";
import type { Dice } from "./dice.ts";
import { createMailOracle, type MailOracle } from "./mail-oracle.ts";
import { createSimCoordinator, type SimCoordinator } from "./sim-coordinator.ts";
import { createSimHost, type SimHost } from "./sim-host.ts";
import { createSimWorld, type SimWorld } from "./sim-world.ts";
import { createWorkload } from "./workload.ts";

export interface SimulationOptions {
  seed: number;
  /** Of simulated time, the quiet at the end not included. */
  hours: number;
  agents: number;
  /** Gets each line of the trace at once. */
  echo?: (line: string) => void;
}

export interface SimulationReport {
  seed: number;
  /** What must never be, or null. */
  wrong: string | null;
  /** Equal for two runs that did the same. */
  hash: string;
  /** The last lines of the trace. */
  tail: string[];
  simulatedMs: number;
  counts: Record<string, number>;
}

/** Between two things that a caller wants of one agent, on average. */
const actEveryMs = 30_000;
const pollIntervalMs = 5_000;
/** What an idle agent may be left waiting with work for it. */
const patienceMs = 45_000;
const quietMs = 4 * 60_000;
/** Minutes that may follow the quiet. */
const maxExtra = 30;
const hourMs = 3_600_000;
/** So often it is asked whether something is wrong. */
const stretchMs = 1000;

/** Runs one seed to its end, or to the first thing that is wrong. */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const { seed } = options;
  const world = createSimWorld({ seed, ...(options.echo ? { echo: options.echo } : {}) });
  const hosts: SimHost[] = [];
  const report = (): SimulationReport => ({
    seed,
    wrong: world.failure(),
    hash: world.trace.hash(),
    tail: world.trace.tail(),
    simulatedMs: world.clock.nowMs(),
    counts: { ...world.counts, events: world.trace.count() },
  });
  try {
    await live(world, hosts, options);
    return report();
  } finally {
    for (const host of hosts) host.close();
    world.close();
  }
}

async function live(world: SimWorld, hosts: SimHost[], options: SimulationOptions): Promise<void> {
  const { dice } = world;
  const mail = createMailOracle({ world, hosts: () => hosts, dice: dice.fork("mail") });
  for (let index = 0; index < options.agents; index++) {
    const name = `a${index + 1}`;
    hosts.push(
      await createSimHost({
        world,
        name,
        index,
        dice: dice.fork(name),
        script: () => scriptOf(dice),
        onMailRound(host, turn, round) {
          const { pane } = host.tmux.session() ?? {};
          void mail.workRound(host, round).then((problem) => pane?.mailRoundEnded(turn, problem));
        },
      }),
    );
  }
  const coordinator = createSimCoordinator({ world, hosts });
  try {
    runWorld(world, { hosts, mail, coordinator }, options);
  } finally {
    coordinator.close();
  }
}

function runWorld(
  world: SimWorld,
  { hosts, mail, coordinator }: { hosts: readonly SimHost[]; mail: MailOracle; coordinator: SimCoordinator },
  options: SimulationOptions,
): void {
  const { clock, dice } = world;
  const workload = createWorkload({ world, hosts, mail, coordinator, dice: dice.fork("workload") });
  const chaos = createChaos({ world, hosts, mail, coordinator, dice: dice.fork("chaos") });
  const endMs = options.hours * hourMs;

  for (const host of hosts) {
    void host.startGateway();
    every(
      world,
      () => dice.wait(actEveryMs),
      () => clock.nowMs() < endMs,
      () => void workload.act(host),
    );
    every(
      world,
      () => pollIntervalMs,
      () => true,
      () => lookAt(world, host),
    );
  }
  void coordinator.start();
  every(
    world,
    () => 60_000,
    () => true,
    () => mail.checkPolls(),
  );
  every(
    world,
    () => 45_000,
    () => true,
    () => void coordinator.check(),
  );
  every(
    world,
    () => 600_000,
    () => true,
    () => mail.check({ settled: false }),
  );
  chaos.begin(() => clock.nowMs() < endMs);
  run(world, endMs);

  workload.endMail();
  chaos.heal();
  run(world, endMs + quietMs);
  // Long turns that wait behind one another need their time, and so does the mail that waits behind them; who
  // waits beside an idle agent is told of anyway.
  const busyLately = ({ surface }: SimHost) =>
    clock.nowMs() - (surface.readySinceMs() ?? clock.nowMs()) < quietMs;
  const works = () =>
    hosts.some((host) => host.requests.open().length > 0 || (busyLately(host) && mail.waits(host)));
  for (let extra = 1; extra <= maxExtra && works(); extra++) run(world, endMs + quietMs + extra * 60_000);
  if (world.failure() !== null) return;
  for (const host of hosts) checkEnd(world, host);
  mail.check({ settled: true });
}

/** Until then or until something is wrong. */
function run(world: SimWorld, untilMs: number): void {
  while (world.clock.nowMs() < untilMs && world.failure() === null) {
    world.clock.runUntil(Math.min(untilMs, world.clock.nowMs() + stretchMs));
  }
}

function every(world: SimWorld, waitMs: () => number, wanted: () => boolean, act: () => void): void {
  world.clock.after(waitMs(), () => {
    if (!wanted()) return;
    act();
    every(world, waitMs, wanted, act);
  });
}

/** An agent that could work while work lies there for it. */
function lookAt(world: SimWorld, host: SimHost): void {
  const gateway = host.gateway();
  const readySinceMs = host.surface.readySinceMs();
  if (!gateway || readySinceMs === null) return;
  const nowMs = world.clock.nowMs();
  const { requests } = host;
  if (requests.instanceOf(requests.epoch()) !== host.surface.instanceId()) return;
  if (requests.reconciledEpoch() !== requests.epoch()) return;
  const [oldest] = requests.open();
  if (!oldest) return;
  const waitedMs =
    nowMs - Math.max(readySinceMs, oldest.acceptedMs, host.gatewaySinceMs(), requests.changedMs());
  if (waitedMs > patienceMs && world.quietMs() > patienceMs) {
    world.fail(
      host.name,
      `stuck: ${oldest.id} is ${oldest.state} for ${Math.round(waitedMs / 1000)} s beside an idle agent`,
    );
  }
}

/** After the quiet everything that was accepted has come to its end, and nothing was done twice. */
function checkEnd(world: SimWorld, host: SimHost): void {
  const { requests, name } = host;
  for (const one of requests.open()) world.fail(name, `stuck: ${one.id} is ${one.state} at the end`);
  for (const requestId of host.polls.unaudited())
    world.fail(name, `the poll of ${requestId} was not audited`);
  const byText = Map.groupBy(
    requests.all().filter((one) => one.prompt !== null),
    (one) => one.prompt ?? "",
  );
  for (const [text, rows] of byText) {
    const times = host.taken().get(text) ?? 0;
    const completed = rows.filter((one) => one.state === "completed");
    const most = completed.length + rows.filter((one) => one.uncertain).length;
    const sure = completed.filter((one) => !one.asked).length;
    const shown = JSON.stringify(text.slice(0, 60));
    if (host.isAllowed(text)) continue;
    if (times > most) world.fail(name, `executed ${times} times instead of ${most}: ${shown}`);
    if (times < sure) world.fail(name, `executed ${times} times instead of ${sure}: ${shown}`);
  }
}

/** How an agent misbehaves in this life. */
function scriptOf(dice: Dice): HostileScript {
  const some = (probability: number) => (dice.chance(0.3) ? { probability } : null);
  const named = {
    late_repaint: some(0.2),
    swallow_enter: some(0.2),
    enter_dead_time: some(0.3),
    split_paste: some(0.2),
    crash_during_paste: dice.chance(0.05) ? { probability: 0.05 } : null,
    crash_on_prompt: dice.chance(0.05) ? { probability: 0.05 } : null,
    menu_before_prompt: some(0.1),
    menu_after_paste: some(0.1),
    spontaneous_menu: some(0.1),
    person_draft: some(0.1),
  };
  const hostile = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null));
  return {
    schema_version: 1,
    seed: dice.whole(0, 0xffff),
    mail_rounds: true,
    hostile,
    ...(dice.chance(0.2)
      ? { startup: { delay_ms: dice.skewed(10, 3000), trust_dialog: dice.chance(0.3) } }
      : {}),
  };
}
