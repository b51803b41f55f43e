import { expect } from "bun:test";
import type { TurnProcess, TurnResult } from "../../src/protocol/turn-files.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { faultTest } from "../support/fault-table.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { randomFrom } from "../support/load.ts";
import { randomMoment } from "../support/random-moment.ts";
import { until } from "../support/until.ts";

// Kills at random moments. More turns, or those of a failed run again:
// SVC_FAULT_TURNS=1000 SVC_FAULT_SEED=7 bun test --timeout 7200000 tests/faults/turns-killed.test.ts
// SVC_FAULT_EXECUTABLE names a compiled svc-gateway to be hit instead of the source.
const turns = Number(process.env["SVC_FAULT_TURNS"] ?? 60);
const seed = Number(process.env["SVC_FAULT_SEED"] ?? 1);

type Fault = "none" | "gateway" | "bridge" | "both" | "interrupt";
const faults: readonly Fault[] = ["none", "gateway", "gateway", "bridge", "both", "interrupt"];
const works = ["FAST", "SLOW 60", "SLOW 250", "TOOL read\nSLOW 30", "ERROR no", "EXIT 4", "EXIT"] as const;

interface Begun {
  turnId: string;
  fault: Fault;
  requestId: string;
  result: TurnResult | null;
}

const read = <T>(agent: HeadlessAgentFixture, turnId: string, name: string) =>
  JSON.parse(agent.file(turnId, name) ?? "null") as T | null;

async function inject(agent: HeadlessAgentFixture, turnId: string, fault: Fault): Promise<void> {
  if (fault === "interrupt") await agent.call("/v1/requests", { kind: "interrupt" });
  const runner = read<TurnProcess>(agent, turnId, "process.json")?.runner_pid;
  if ((fault === "bridge" || fault === "both") && runner) agent.fixture.kill(runner);
  if (fault !== "gateway" && fault !== "both") return;
  const pid = agent.gatewayPid();
  agent.fixture.kill(pid);
  await until("the end of the gateway", () => !agent.fixture.alive(pid));
  await agent.revive();
}

async function begin(agent: HeadlessAgentFixture, index: number, random: () => number): Promise<Begun> {
  const choose = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
  const turnId = `turn-${index}`;
  const fault = choose(faults);
  const prompt = `${turnId}\n${choose(works)}`;
  const requestId = await agent.submit(turnId, prompt);
  await randomMoment(random, 500);
  await inject(agent, turnId, fault);
  await agent.settled(requestId);
  return { turnId, fault, requestId, result: read<TurnResult>(agent, turnId, "result.json") };
}

/** Told by their arguments: in a long run an id is soon another process's. */
async function providersAlive(agent: HeadlessAgentFixture): Promise<string[]> {
  const { stdout } = await createProcesses({ steps: quietSteps }).run(["ps", "-axww", "-o", "args"]);
  const folder = agent.fixture.folder;
  return stdout.split("\n").filter((line) => line.includes(folder) && line.includes("--headless"));
}

const row = {
  area: "processes",
  fault:
    "Turns without a terminal lose their gateway, their bridge or both, or are interrupted, at random moments",
  outcome:
    "each turn has exactly one final state, which never changes; none runs twice; no tool is left alive",
  seen: "`completed`, `failed` or `interrupted` in the turn and in its request alike",
  recovery: "the next gateway finds a turn that still runs, and settles one whose bridge died",
} as const;

faultTest(
  `of ${turns} turns each has exactly one final state and none runs twice, whatever is killed (seed ${seed})`,
  row,
  async () => {
    await using agent = await launchHeadless({
      name: "target",
      executable: process.env["SVC_FAULT_EXECUTABLE"],
    });
    const random = randomFrom(seed);
    const begun: Begun[] = [];
    for (let index = 1; index <= turns; index++) begun.push(await begin(agent, index, random));

    const runs = agent.runs();
    const problems = await Promise.all(
      begun.map(async ({ turnId, fault, requestId, result }) => {
        const said = (what: string) => [`${turnId} (${fault}): ${what}`];
        const record = await agent.request(requestId);
        const count = runs.filter((run) => run.prompt.startsWith(`${turnId}\n`)).length;
        if (count > 1) return said(`ran ${count} times`);
        if (!result)
          return record.state === "failed" && count === 0 ? [] : said(`no final state, ${record.state}`);
        if (!Bun.deepEquals(read(agent, turnId, "result.json"), result)) return said("changed its end");
        const want = result.status === "completed" ? "completed" : "failed";
        if (record.state !== want) return said(`${result.status}, but its request is ${record.state}`);
        if (result.status === "completed" && count !== 1) return said("completed without a run");
        if (agent.file(turnId, "exitcode") === null) return said("no exit code");
        return [];
      }),
    );
    expect(problems.flat()).toEqual([]);
    expect(await providersAlive(agent)).toEqual([]);
    const ends = new Set(begun.map(({ result }) => result?.status));
    for (const status of ["completed", "failed", "interrupted"] as const) expect(ends).toContain(status);
    expect((await agent.call("/v1/status")).body).toMatchObject({ queue_depth: 0, active_execution: "idle" });
  },
  Math.max(600_000, turns * 10_000),
);
