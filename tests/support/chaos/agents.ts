import { Database } from "bun:sqlite";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { percentile } from "../../bench/bench.ts";
import { createBuiltFixture } from "../built-agent.ts";
import type { CoordServer } from "../coord-server.ts";
import { startCoordinator } from "../coord-server.ts";
import { endTmux } from "../end-tmux.ts";
import { driveLoad, submitToCoordinator } from "../load.ts";
import { type ChaosAgent, createChaosAgent, type Death } from "./chaos-agent.ts";
import type { Fault, World } from "./engine.ts";
import { type PromptRow, promptProblems } from "./judgement.ts";
import { measureLostTime } from "./lost-time.ts";

/**
 * How long after its death an agent may still be reported as alive: two looks of half a second, and a slow
 * machine.
 */
const freshMs = 2500;
/** Longer than it takes to be seen by everyone. */
const longestDeathMs = 5000;
const longestFreezeMs = 3000;
/** No answer about an agent whose gateway runs may take longer because another one hangs. */
const patienceMs = 3000;
const agentCount = 6;
const askers = 3;

interface AcceptedPrompt {
  agent: ChaosAgent;
  requestId: string;
  prompt: string;
}

export const agentsWorld: World = {
  name: "agents",
  summary: `agents, gateways and tmux servers are killed, and gateways hang, under questions and prompts through one
coordination server: no answer is wrong, nothing accepted is lost or heard twice`,
  size: { seconds: 120 },
  async start(run) {
    const { stack, random, faultRandom } = run;
    const fixture = stack.use(createBuiltFixture(run.dist));
    const sockets = [fixture.socket, join(fixture.folder, "tmux-two")];
    stack.defer(() => sockets.forEach(endTmux));
    const lostTime = stack.use(measureLostTime());
    const agents = Array.from({ length: agentCount }, (_, index) =>
      createChaosAgent(fixture, `agent-${index}`, sockets[index % sockets.length] ?? ""),
    );
    stack.defer(async () => {
      for (const agent of agents) await agent.stop().catch(() => {});
    });
    await Promise.all(agents.map(revive));
    const server = stack.use(await startCoordinator(fixture));
    const accepted: AcceptedPrompt[] = [];
    const listMs: number[] = [];
    let busy: ChaosAgent | undefined;

    return {
      load: [...Array.from({ length: askers }, () => ask), submit],
      faults: { next: nextFault, maxPauseMs: 600, maxAtOnce: agentCount },
      async judge() {
        for (const agent of agents) {
          const isEmpty = async () =>
            (await server.ask(`/svc/agents/${agent.name}/gateway`)).body["queue_depth"] === 0;
          await run.expect(`the queue of ${agent.name} to be empty`, isEmpty, 180_000);
        }
        for (const problem of lostOrDoubled(accepted, agents)) run.problem(problem);
        if (server.complaints() !== "") run.problem(`the server complains: ${server.complaints()}`);
        run.count("accepted", accepted.length);
        run.count("list_p50_ms", percentile(listMs, 0.5));
        run.count("list_p99_ms", percentile(listMs, 0.99));
        run.count("list_max_ms", Math.max(...listMs));
      },
    };

    async function reply(path: string, body?: object) {
      const answer = await server.ask(path, body);
      run.count("answers");
      if (answer.status >= 400) run.count("refused");
      if (answer.status === 500) run.problem(`500 to ${path}: ${JSON.stringify(answer.body)}`);
      return answer;
    }

    /**
     * Asks and checks against what is certain: what was so before the question and still is after the answer.
     */
    async function ask(): Promise<void> {
      while (run.isOn()) {
        const deaths = new Map(agents.map((agent) => [agent, agent.unsettled ? null : agent.death]));
        const steady = agents.filter((agent) => !agent.unsettled);
        const askedMs = performance.now();
        const stillDead = (agent: ChaosAgent) => {
          const death = deaths.get(agent);
          if (!death || agent.death !== death) return null;
          return askedMs - death.sinceMs > freshMs + lostTime.allowanceMs(death.sinceMs) ? death : null;
        };
        if (random() < 0.5) {
          const { status, body } = await reply("/svc/agents");
          listMs.push(performance.now() - askedMs);
          inPatience("the list", askedMs);
          if (status !== 200) run.problem(`the list was answered with ${status}`);
          const listed = (body["agents"] ?? []) as Record<string, unknown>[];
          for (const agent of steady.filter((one) => !one.unsettled)) {
            const found = listed.find((one) => one["agent_name"] === agent.name);
            if (!found) run.problem(`${agent.name} is not listed`);
            const death = stillDead(agent);
            if (death?.what === "session" && found?.["liveness"] === "alive") {
              run.problem(`${agent.name} is listed as alive ${since(death.sinceMs)} after its session ended`);
            }
            if (death?.what === "gateway" && found?.["has_gateway"] === true) {
              run.problem(`${agent.name} is listed with a gateway ${since(death.sinceMs)} after it died`);
            }
          }
        } else {
          const agent = agents[Math.floor(random() * agents.length)];
          if (!agent) continue;
          const { body } = await reply(`/svc/agents/${agent.name}/state`);
          if (steady.includes(agent) && !agent.unsettled) inPatience(`the state of ${agent.name}`, askedMs);
          const death = stillDead(agent);
          if (death && death.what !== "gateway" && body["availability"] === "available") {
            run.problem(`${agent.name} is available ${since(death.sinceMs)} after its ${death.what} died`);
          }
        }
        await pause(random() * 30);
      }
    }

    function inPatience(what: string, askedMs: number): void {
      if (performance.now() - askedMs > patienceMs + lostTime.allowanceMs(askedMs))
        run.problem(`${what} took ${since(askedMs)}`);
    }

    async function submit(): Promise<void> {
      const counting: Pick<CoordServer, "ask"> = { ask: (path, body) => reply(path, body ?? undefined) };
      await driveLoad({ random, isOn: run.isOn, maxPauseMs: 300 }, [
        {
          weight: 1,
          async run(number) {
            const agent = agents[Math.floor(random() * agents.length)];
            if (!agent) return null;
            const prompt = `chaos prompt ${number}\nFAST`;
            const body = { kind: "submit_prompt" as const, payload: { prompt } };
            const response = await submitToCoordinator(counting, agent.name, body);
            if (response.kind === "ok") {
              accepted.push({ agent, requestId: response.requestId ?? "", prompt });
              busy = agent;
            }
            return response;
          },
        },
      ]);
    }

    function nextFault(): Fault | null {
      // As often as not one that was given work a moment ago.
      const agent = faultRandom() < 0.5 ? busy : agents[Math.floor(faultRandom() * agents.length)];
      const dice = faultRandom();
      const forMs = faultRandom() * (dice >= 0.15 && dice < 0.3 ? longestFreezeMs : longestDeathMs);
      if (!agent || agent.unsettled || agent.death) return null;
      const target = agent.name;
      if (dice < 0.15) return { target, inject: () => killServer(agent, forMs) };
      if (dice < 0.3) return { target, inject: () => freeze(agent, forMs) };
      const what = dice < 0.55 ? "gateway" : dice < 0.8 ? "program" : "session";
      return { target, inject: () => kill(agent, what, forMs) };
    }

    async function freeze(agent: ChaosAgent, forMs: number): Promise<void> {
      const thaw = agent.freezeGateway();
      if (!thaw) return;
      run.count("freezes");
      agent.unsettled = true;
      await pause(forMs);
      thaw();
      agent.unsettled = false;
    }

    async function kill(agent: ChaosAgent, what: Death["what"], forMs: number): Promise<void> {
      run.count("kills");
      agent.unsettled = true;
      if (what === "gateway") await agent.killGateway();
      if (what === "program") await agent.killProgram();
      if (what === "session") await agent.killSession();
      agent.death = { what, sinceMs: performance.now() };
      agent.unsettled = false;
      await pause(forMs);
      await revive(agent);
    }

    /** The server of this agent, and with it every agent on it; those that lived are revived. */
    async function killServer(victim: ChaosAgent, forMs: number): Promise<void> {
      const index = agents.indexOf(victim) % sockets.length;
      const neighbours = agents.filter((_, at) => at % sockets.length === index);
      if (neighbours.some((agent) => agent.unsettled)) return;
      const living = neighbours.filter((agent) => agent.death === null);
      run.count("servers");
      for (const agent of neighbours) agent.unsettled = true;
      Bun.spawnSync(["tmux", "-S", sockets[index] ?? "", "-N", "kill-server"]);
      for (const agent of neighbours) {
        agent.death = { what: "session", sinceMs: performance.now() };
        agent.unsettled = false;
      }
      await pause(forMs);
      await Promise.all(living.map(revive));
    }

    async function revive(agent: ChaosAgent): Promise<void> {
      agent.unsettled = true;
      for (let attempt = 1; ; attempt++) {
        try {
          await agent.revive();
          run.count("revivals");
          break;
        } catch (error) {
          // A tmux server that ends with its last session takes a new one with it.
          if (attempt < 3) continue;
          run.problem(`not revived: ${error instanceof Error ? error.message : error}`);
          break;
        }
      }
      agent.death = null;
      agent.unsettled = false;
    }
  },
};

const since = (ms: number) => `${((performance.now() - ms) / 1000).toFixed(1)} s`;

interface StoredRow extends PromptRow {
  evidence: string;
}

/** What is wrong with the accepted prompts. The queue of a session that was ended rests with it. */
function lostOrDoubled(accepted: readonly AcceptedPrompt[], agents: readonly ChaosAgent[]): string[] {
  const rowsOf = new Map(agents.map((agent) => [agent, agent.roots.map(readRows)]));
  const heardBy = new Map(agents.map((agent) => [agent, agent.heard()]));
  return accepted.flatMap(({ agent, requestId, prompt }) => {
    const sessions = rowsOf.get(agent) ?? [];
    const at = sessions.findIndex((rows) => rows.some((row) => row.requestId === requestId));
    const row = sessions[at]?.find((one) => one.requestId === requestId);
    const hasEnded = row?.state === "completed" || row?.state === "failed";
    const ended =
      row && !hasEnded && at < sessions.length - 1 ? { state: "failed", errorDetail: "ended" } : {};
    const problems = promptProblems({
      agent: agent.name,
      key: requestId,
      requestIds: [requestId],
      answer: "accepted",
      rows: row ? [{ ...row, ...ended }] : [],
      heard: heardBy.get(agent)?.filter((text) => text === prompt).length ?? 0,
      reported: ended.state ?? row?.state ?? null,
    });
    return problems.map((problem) => `${problem}: ${row?.evidence ?? "no row"}`);
  });
}

function readRows(sessionRoot: string): StoredRow[] {
  const database = new Database(sessionPaths(sessionRoot).queue, { readonly: true });
  try {
    return database
      .query<StoredRow, []>(
        `SELECT request_id AS requestId, state, error_detail AS errorDetail, evidence_json AS evidence
         FROM gateway_requests`,
      )
      .all();
  } finally {
    database.close();
  }
}
