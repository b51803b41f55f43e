import { expect } from "bun:test";
import type { TranscriptTurn } from "../../../../src/protocol/transcript.ts";
import { type AnswerName, modelAnswers } from "../../../support/model-server/answers.ts";
import { sayAtOnce } from "../../../support/model-server/scenario.ts";
import type { Part } from "../../../support/model-server/server.ts";
import { until } from "../../../support/until.ts";
import type { LabTool } from "../cli-cache.ts";
import type { HeadlessSession } from "../headless-session.ts";
import type { LabSession } from "../lab-session.ts";
import { runManager, runShort } from "../programs.ts";
import type { StageStep } from "../staged-steps.ts";
import { interrupted, type LabStep, speaks, startTurn } from "./lab-step.ts";
import { ledgerCountsLongHeadlessRun, ledgerCountsLongRun } from "./ledger-steps.ts";

/** Two hundred turns of one agent, most with a tool call, whose answers are all different. */
const turns = 200;
const turnsOfStep = 10;
/** `log --limit` shows no more. */
const turnsOfLog = 100;
/** Of each ten: what is answered, and whether after a tool call. */
const round: readonly (readonly [answer: AnswerName, tool: boolean])[] = [
  ["SAYMARKDOWN", true],
  ["SAYWIDE", true],
  ["SAYMARKDOWN", false],
  ["SAYWIDE", true],
  ["SAYMARKDOWN", true],
  ["SAYWIDE", false],
  ["SAYMARKDOWN", true],
  ["SAYWIDE", true],
  ["SAYMARKDOWN", true],
  ["SAYHUGE", true],
];

function planOf(turn: number) {
  const [name, tool] = round[(turn - 1) % round.length] ?? ["SAYWIDE", false];
  return { tool, answer: `Turn ${turn}\n\n${modelAnswers[name]}\n\n終 **${turn}**` };
}

const promptOf = (turn: number) => `long turn ${turn}`;

/** Of so many turns one is refused at its first try, with an error after which every tool tries again. */
const turnsToRefusal = 20;

/**
 * The model's part: it refuses some turns once, runs a command where the turn has one, and then says the
 * answer of that turn.
 */
export function createLongPart(): Part {
  const refused = new Set<number>();
  return ({ prompt, toolAnswered }) => {
    const turn = Number(/^long turn (\d+)$/.exec(prompt.trim().split("\n").at(-1) ?? "")?.[1] ?? Number.NaN);
    if (Number.isNaN(turn)) return null;
    if (turn % turnsToRefusal === 0 && !refused.has(turn)) {
      refused.add(turn);
      return { kind: "failure", status: 500 };
    }
    const { tool, answer } = planOf(turn);
    if (!tool || toolAnswered) return sayAtOnce(answer);
    return {
      ...sayAtOnce(`I look at turn ${turn}.`),
      command: { command: `echo of turn ${turn}`, escalate: false },
    };
  };
}

/** gemini 0.61.0 keeps its answers without the marks that join emoji. */
const keptBy = (tool: LabTool, answer: string) =>
  tool === "gemini" ? answer.replaceAll("\u200d", "") : answer;

/** What `svc ask` prints is exactly what the model said, turn by turn. */
async function printsExactly(session: LabSession, first: number): Promise<void> {
  for (let turn = first; turn < first + turnsOfStep; turn++) {
    const { answer } = planOf(turn);
    const { exitCode, stdout, stderr } = await runShort(session.box, [
      "ask",
      `lab-${session.tool}`,
      promptOf(turn),
    ]);
    const printed = stdout === `${keptBy(session.tool, answer)}\n` ? "the answer" : stdout;
    // One line for each state of the wait.
    const others = stderr.replace(/^lab-\S+ (?:works|waits).*\n/gm, "");
    expect({ turn, exitCode, printed, stderr: others }).toEqual({
      turn,
      exitCode: 0,
      printed: "the answer",
      stderr: "",
    });
  }
}

/**
 * The log has each of the newest turns once, in order, from the tool's own record, with its tool call and its
 * output.
 */
async function logIsWhole(session: LabSession, first: number): Promise<void> {
  const words = [
    "agents",
    "single",
    "--agent-name",
    `lab-${session.tool}`,
    "log",
    "--limit",
    `${turnsOfLog}`,
    "--json",
  ];
  const log = (await runManager(session.box, words)).json<{ turns: TranscriptTurn[] }>();
  const told = log.turns
    .map(({ prompt, source, status, tool_calls: calls }) => ({ prompt, source, status, calls: calls.length }))
    .toReversed();
  const want = Array.from({ length: turnsOfLog }, (_, index) => ({
    prompt: promptOf(first + index),
    source: "tool",
    status: "completed",
    calls: planOf(first + index).tool ? 1 : 0,
  }));
  expect(told).toEqual(want as typeof told);
}

const interruptions = 10;

async function turnsAreInterrupted(session: LabSession): Promise<void> {
  for (let count = 0; count < interruptions; count++) {
    const { sequence } = await startTurn(session, `Stop me ${count} SLOWTURN`);
    await speaks(session, `Stop me ${count} SLOWTURN`);
    await interrupted(session, sequence);
  }
}

/** Opt-in, `bun run live TOOL --long`: the steps of one session. */
export function longStepsOf(): LabStep[] {
  const atTheEnd: LabStep[] = [
    { id: `${interruptions} turns are interrupted`, run: turnsAreInterrupted },
    {
      id: "the ledger counts all turns, those tried again and those interrupted, as the model counted them",
      run: (session) => ledgerCountsLongRun(session, { turns, interruptions }),
    },
  ];
  return [...stepsOfTurns(), ...atTheEnd];
}

function stepsOfTurns(): LabStep[] {
  return Array.from({ length: turns / turnsOfStep }, (_, index): LabStep[] => {
    const first = index * turnsOfStep + 1;
    const last = first + turnsOfStep - 1;
    const answers: LabStep = {
      id: `the answers of turns ${first} to ${last} are printed as the model said them`,
      run: (session) => printsExactly(session, first),
    };
    if (last % turnsOfLog !== 0) return [answers];
    const firstOfLog = last - turnsOfLog + 1;
    const log: LabStep = {
      id: `the log has each of turns ${firstOfLog} to ${last} once`,
      run: (session) => logIsWhole(session, firstOfLog),
    };
    return [answers, log];
  }).flat();
}

/** Opt-in too: as many turns without a terminal. */
export function longHeadlessSteps(): StageStep<HeadlessSession, null>[] {
  const rounds = Array.from({ length: turns / turnsOfStep }, (_, index): StageStep<HeadlessSession, null> => {
    const first = index * turnsOfStep + 1;
    return {
      id: `turns ${first} to ${first + turnsOfStep - 1} end`,
      run: (session) => turnsEnd(session, first),
    };
  });
  return [
    ...rounds,
    { id: `${interruptions} turns are interrupted`, run: headlessTurnsAreInterrupted },
    {
      id: "the ledger counts all turns that ended, those tried again too, as the model counted them",
      run: (session) => ledgerCountsLongHeadlessRun(session, { turns, interruptions }),
    },
  ];
}

async function turnsEnd(session: HeadlessSession, first: number): Promise<void> {
  for (let turn = first; turn < first + turnsOfStep; turn++) {
    expect(await session.turn(`long-${turn}`, promptOf(turn))).toMatchObject({ status: "completed" });
  }
}

async function headlessTurnsAreInterrupted(session: HeadlessSession): Promise<void> {
  for (let count = 0; count < interruptions; count++) {
    const prompt = `Stop me ${count} SLOWTURN`;
    const { requestId } = await session.begin(`stopped-${count}`, prompt);
    await session.model.next((one) => one.purpose === "turn" && one.newest_user_text === prompt, 60_000);
    expect((await session.mgr(["interrupt", "--json"])).json()["disposition"]).toBe("accepted");
    await until("the end of the turn", async () => (await session.request(requestId)).state === "failed");
  }
}
