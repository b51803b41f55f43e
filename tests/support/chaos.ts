import { Database } from "bun:sqlite";
import { join } from "node:path";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { percentile } from "../bench/bench.ts";
import { type ChaosAgent, createChaosAgent } from "./chaos-agent.ts";
import { type CliFixture, createCliFixture, type Program } from "./cli-fixture.ts";
import { type CoordServer, startCoordinator } from "./coord-server.ts";
import { endTmux } from "./end-tmux.ts";
import { driveLoad, randomFrom, submitToCoordinator } from "./load.ts";
import { measureLostTime } from "./lost-time.ts";
import { until } from "./until.ts";

/**
 * How long after its death an agent may still be told as alive: two looks of half a second, and a slow
 * machine.
 */
const freshMs = 2500;
/** Longer than it takes to be seen by everyone. */
const longestDeathMs = 5000;
const longestFreezeMs = 3000;
/** No answer about an agent whose gateway runs may take longer because another one hangs. */
const patienceMs = 3000;
/**
 * A look is several short processes: the limits above grow by so many times what the machine loses meanwhile.
 */
const lostTimeWeight = 3;
const agentCount = 6;
const askers = 3;
const submitEveryMs = 150;

export interface ChaosOptions {
  seconds: number;
  seed: number;
  /** Folder of the executables; null runs the source. */
  dist: string | null;
}

export interface ChaosReport {
  /** What must never be; empty when all went well. */
  wrong: string[];
  figures: Record<string, number>;
}

interface Accepted {
  agent: ChaosAgent;
  requestId: string;
  prompt: string;
}

/**
 * Kills agents, gateways and tmux servers, and lets gateways hang, at random under load through one
 * coordination server.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  await using fixture = createChaosFixture(options.dist);
  await using lostTime = measureLostTime();
  const allowance = (sinceMs: number) => lostTimeWeight * lostTime.since(sinceMs);
  const random = randomFrom(options.seed);
  const sockets = [fixture.socket, join(fixture.folder, "tmux-two")];
  const agents = Array.from({ length: agentCount }, (_, index) =>
    createChaosAgent(fixture, `agent-${index}`, sockets[index % sockets.length] ?? ""),
  );
  const wrong = new Set<string>();
  const accepted: Accepted[] = [];
  const listMs: number[] = [];
  const counts = { answers: 0, refused: 0, faults: 0, freezes: 0, servers: 0, revivals: 0 };
  let busy: ChaosAgent | undefined;
  const pause = (maxMs: number) => Bun.sleep(random() * maxMs);
  try {
    await Promise.all(agents.map((agent) => revive(agent)));
    await using server = await startCoordinator(fixture);
    const endMs = performance.now() + options.seconds * 1000;
    const on = () => performance.now() < endMs;
    await Promise.all([
      ...Array.from({ length: askers }, () => ask(server, on)),
      submit(server, on),
      injectFaults(on),
    ]);
    await Promise.all(agents.map((agent) => revive(agent)));
    for (const agent of agents) await drain(server, agent);
    for (const problem of lostOrDoubled(accepted, agents)) wrong.add(problem);
    if (server.complaints() !== "") wrong.add(`the server complains: ${server.complaints()}`);
  } finally {
    for (const agent of agents) await agent.stop().catch(() => {});
    for (const socket of sockets) endTmux(socket);
  }
  return {
    wrong: [...wrong],
    figures: {
      ...counts,
      accepted: accepted.length,
      list_p50_ms: percentile(listMs, 0.5),
      list_p99_ms: percentile(listMs, 0.99),
      list_max_ms: Math.max(...listMs),
    },
  };

  async function reply(server: CoordServer, path: string, body?: object) {
    const answer = await server.ask(path, body);
    counts.answers += 1;
    if (answer.status >= 400) counts.refused += 1;
    if (answer.status === 500) wrong.add(`500 to ${path}: ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /**
   * Asks and checks against what is certain: what was so before the question and still is after the answer.
   */
  async function ask(server: CoordServer, on: () => boolean): Promise<void> {
    while (on()) {
      const deaths = new Map(agents.map((agent) => [agent, agent.unsettled ? null : agent.death]));
      const steady = agents.filter((agent) => !agent.unsettled);
      const askedMs = performance.now();
      const stillDead = (agent: ChaosAgent) => {
        const death = deaths.get(agent);
        return death && agent.death === death && askedMs - death.sinceMs > freshMs + allowance(death.sinceMs)
          ? death
          : null;
      };
      if (random() < 0.5) {
        const { status, body } = await reply(server, "/svc/agents");
        listMs.push(performance.now() - askedMs);
        inPatience("the list", askedMs);
        if (status !== 200) wrong.add(`the list was answered with ${status}`);
        const listed = (body["agents"] ?? []) as Record<string, unknown>[];
        for (const agent of steady.filter((one) => !one.unsettled)) {
          const found = listed.find((one) => one["agent_name"] === agent.name);
          if (!found) wrong.add(`${agent.name} is not listed`);
          const death = stillDead(agent);
          if (death?.what === "session" && found?.["liveness"] === "alive") {
            wrong.add(`${agent.name} is listed as alive ${since(death.sinceMs)} after its session ended`);
          }
          if (death?.what === "gateway" && found?.["has_gateway"] === true) {
            wrong.add(`${agent.name} is listed with a gateway ${since(death.sinceMs)} after it died`);
          }
        }
      } else {
        const agent = agents[Math.floor(random() * agents.length)];
        if (!agent) continue;
        const { body } = await reply(server, `/svc/agents/${agent.name}/state`);
        if (steady.includes(agent) && !agent.unsettled) inPatience(`the state of ${agent.name}`, askedMs);
        const death = stillDead(agent);
        if (death && death.what !== "gateway" && body["availability"] === "available") {
          wrong.add(`${agent.name} is available ${since(death.sinceMs)} after its ${death.what} died`);
        }
      }
      await pause(30);
    }
  }

  function inPatience(what: string, askedMs: number): void {
    if (performance.now() - askedMs > patienceMs + allowance(askedMs))
      wrong.add(`${what} took ${since(askedMs)}`);
  }

  async function submit(server: CoordServer, isOn: () => boolean): Promise<void> {
    const ask: CoordServer["ask"] = (path, body) => reply(server, path, body ?? undefined);
    await driveLoad({ random, isOn, maxPauseMs: 2 * submitEveryMs }, [
      {
        weight: 1,
        async run(number) {
          const agent = agents[Math.floor(random() * agents.length)];
          if (!agent) return null;
          const prompt = `chaos prompt ${number}\nFAST`;
          const body = { kind: "submit_prompt" as const, payload: { prompt } };
          const response = await submitToCoordinator({ ask }, agent.name, body);
          if (response.kind === "ok") {
            accepted.push({ agent, requestId: response.requestId ?? "", prompt });
            busy = agent;
          }
          return response;
        },
      },
    ]);
  }

  async function injectFaults(on: () => boolean): Promise<void> {
    const healing = new Set<Promise<void>>();
    while (on()) {
      await pause(600);
      // As often as not one that was given work a moment ago.
      const agent = random() < 0.5 ? busy : agents[Math.floor(random() * agents.length)];
      if (!agent || agent.unsettled || agent.death) continue;
      const dice = random();
      if (dice < 0.15) {
        for (const struck of await killServer(agent)) heal(struck);
      } else if (dice < 0.3) {
        healing.add(freeze(agent));
      } else {
        const what = dice < 0.55 ? "gateway" : dice < 0.8 ? "program" : "session";
        await injectFault(agent, what);
        heal(agent);
      }
    }
    await Promise.all(healing);

    function heal(agent: ChaosAgent): void {
      const healed = pause(longestDeathMs).then(() => revive(agent));
      healing.add(healed);
      void healed.finally(() => healing.delete(healed));
    }
  }

  async function freeze(agent: ChaosAgent): Promise<void> {
    const thaw = agent.freezeGateway();
    if (!thaw) return;
    counts.freezes += 1;
    agent.unsettled = true;
    await pause(longestFreezeMs);
    thaw();
    agent.unsettled = false;
  }

  async function injectFault(agent: ChaosAgent, what: "gateway" | "program" | "session"): Promise<void> {
    counts.faults += 1;
    agent.unsettled = true;
    if (what === "gateway") await agent.killGateway();
    if (what === "program") await agent.killProgram();
    if (what === "session") await agent.killSession();
    agent.death = { what, sinceMs: performance.now() };
    agent.unsettled = false;
  }

  /** The server of this agent, and with it every agent on it; those that were not dead before. */
  async function killServer(victim: ChaosAgent): Promise<ChaosAgent[]> {
    const index = agents.indexOf(victim) % sockets.length;
    const neighbours = agents.filter((_, at) => at % sockets.length === index);
    if (neighbours.some((agent) => agent.unsettled)) return [];
    const living = neighbours.filter((agent) => agent.death === null);
    counts.servers += 1;
    for (const agent of neighbours) agent.unsettled = true;
    Bun.spawnSync(["tmux", "-S", sockets[index] ?? "", "-N", "kill-server"]);
    for (const agent of neighbours) {
      agent.death = { what: "session", sinceMs: performance.now() };
      agent.unsettled = false;
    }
    return living;
  }

  async function revive(agent: ChaosAgent): Promise<void> {
    if (agent.roots.length > 0 && agent.death === null) return;
    agent.unsettled = true;
    for (let attempt = 1; ; attempt++) {
      try {
        await agent.revive();
        counts.revivals += 1;
        break;
      } catch (error) {
        // A tmux server that ends with its last session takes a new one with it.
        if (attempt < 3) continue;
        wrong.add(`not revived: ${error instanceof Error ? error.message : error}`);
        break;
      }
    }
    agent.death = null;
    agent.unsettled = false;
  }
}

function createChaosFixture(dist: string | null): CliFixture {
  const fixture = createCliFixture(dist === null ? {} : { executable: join(dist, "svc-gateway") });
  if (dist === null) return fixture;
  const command = (program: Program) =>
    program === "svc-coord" ? [join(dist, "svc-coord")] : fixture.command(program);
  return { ...fixture, command };
}

const since = (ms: number) => `${((performance.now() - ms) / 1000).toFixed(1)} s`;

/** Until the agent's queue is empty; what keeps it from that is found by what its rows say. */
async function drain(server: CoordServer, agent: ChaosAgent): Promise<void> {
  await until(
    `the queue of ${agent.name} to be empty`,
    async () => {
      const { body } = await server.ask(`/svc/agents/${agent.name}/gateway`);
      return body["queue_depth"] === 0;
    },
    180_000,
  ).catch(() => {});
}

interface Row {
  request_id: string;
  state: string;
  error_detail: string | null;
  evidence_json: string;
}

/**
 * Every accepted request stands in the queue of one session of its agent, has ended there, and ran at most
 * once.
 */
function lostOrDoubled(accepted: readonly Accepted[], agents: readonly ChaosAgent[]): string[] {
  const problems: string[] = [];
  const rowsOf = new Map(agents.map((agent) => [agent, agent.roots.map(readRows)]));
  const heardBy = new Map(agents.map((agent) => [agent, agent.heard()]));
  for (const { agent, requestId, prompt } of accepted) {
    const sessions = rowsOf.get(agent) ?? [];
    const at = sessions.findIndex((rows) => rows.some((row) => row.request_id === requestId));
    const row = sessions[at]?.find((one) => one.request_id === requestId);
    const heard = heardBy.get(agent)?.filter((text) => text === prompt).length ?? 0;
    const ended = row?.state === "completed" || row?.state === "failed";
    // The queue of a session that was ended rests with it.
    const present = at === sessions.length - 1;
    if (!row) problems.push(`${requestId} of ${agent.name} was accepted and is nowhere`);
    else if (present && !ended) problems.push(`${requestId} of ${agent.name} stays ${row.state}`);
    else if (row.state === "completed" && heard === 0)
      problems.push(`${requestId} completed unheard: ${row.evidence_json}`);
    else if (row.state === "failed" && !row.error_detail)
      problems.push(`${requestId} failed without a reason`);
    if (heard > 1) problems.push(`${requestId} of ${agent.name} was heard ${heard} times`);
  }
  return problems;
}

function readRows(sessionRoot: string): Row[] {
  const database = new Database(sessionPaths(sessionRoot).queue, { readonly: true });
  try {
    return database
      .query<Row, []>("SELECT request_id, state, error_detail, evidence_json FROM gateway_requests")
      .all();
  } finally {
    database.close();
  }
}
