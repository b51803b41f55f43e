import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { TurnProcess, TurnResult } from "../../../src/protocol/turn-files.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../headless-fixture.ts";
import { until } from "../until.ts";
import type { World } from "./engine.ts";
import { providersBelow } from "./gateways.ts";

const faults = ["none", "gateway", "gateway", "bridge", "both", "interrupt"] as const;
const works = ["FAST", "SLOW 60", "SLOW 250", "TOOL read\nSLOW 30", "ERROR no", "EXIT 4", "EXIT"] as const;

interface EndedTurn {
  turnId: string;
  fault: (typeof faults)[number];
  requestId: string;
  result: TurnResult | null;
}

export const turnsWorld: World = {
  name: "turns",
  summary: `turns without a terminal lose their gateway, their bridge or both, or are interrupted: each has one final state,
which never changes, none runs twice, and no tool is left alive`,
  size: { rounds: 1000 },
  async start(run) {
    const { faultRandom: random } = run;
    const executable = join(run.dist, "svc-gateway");
    const agent = run.stack.use(await launchHeadless({ name: "target", executable }));
    const ended: EndedTurn[] = [];
    const choose = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
    let turns = 0;

    async function inject(turnId: string, fault: EndedTurn["fault"]): Promise<void> {
      if (fault === "interrupt") await agent.call("/v1/requests", { kind: "interrupt" });
      const runner = read<TurnProcess>(agent, turnId, "process.json")?.runner_pid;
      if ((fault === "bridge" || fault === "both") && runner) agent.fixture.kill(runner);
      if (fault !== "gateway" && fault !== "both") return;
      const pid = agent.gatewayPid();
      agent.fixture.kill(pid);
      await until("the end of the gateway", () => !agent.fixture.alive(pid));
      await agent.revive();
    }

    return {
      load: [],
      faults: {
        next() {
          const turnId = `turn-${++turns}`;
          const fault = choose(faults);
          const prompt = `${turnId}\n${choose(works)}`;
          const afterMs = random() ** 2 * 500;
          return {
            target: turnId,
            async inject() {
              const requestId = await agent.submit(turnId, prompt);
              await pause(afterMs);
              await inject(turnId, fault);
              await agent.settled(requestId);
              const result = read<TurnResult>(agent, turnId, "result.json");
              ended.push({ turnId, fault, requestId, result });
              run.count(result?.status ?? "without_result");
            },
          };
        },
      },
      async judge() {
        for (const turn of ended) {
          const problem = await problemOf(agent, turn);
          if (problem !== null) run.problem(`${turn.turnId} (${turn.fault}) ${problem}`);
        }
        providersBelow(agent.fixture.folder).forEach(run.problem);
        const { body } = await agent.call("/v1/status");
        const isIdle = body["queue_depth"] === 0 && body["active_execution"] === "idle";
        if (!isIdle) run.problem(`the gateway is not idle: ${JSON.stringify(body)}`);
      },
    };
  },
};

const read = <T>(agent: HeadlessAgentFixture, turnId: string, name: string) =>
  JSON.parse(agent.file(turnId, name) ?? "null") as T | null;

async function problemOf(agent: HeadlessAgentFixture, turn: EndedTurn): Promise<string | null> {
  const { turnId, requestId, result } = turn;
  const { state } = await agent.request(requestId);
  const times = agent.runs().filter((one) => one.prompt.startsWith(`${turnId}\n`)).length;
  if (times > 1) return `ran ${times} times`;
  if (!result)
    return state === "failed" && times === 0 ? null : `has no final state, its request is ${state}`;
  if (!Bun.deepEquals(read(agent, turnId, "result.json"), result)) return "changed its end";
  const wanted = result.status === "completed" ? "completed" : "failed";
  if (state !== wanted) return `is ${result.status}, but its request is ${state}`;
  if (result.status === "completed" && times !== 1) return "completed without a run";
  return agent.file(turnId, "exitcode") === null ? "has no exit code" : null;
}
