import { expect } from "bun:test";
import type { TranscriptTurn } from "../../../../src/protocol/transcript.ts";
import { type AnswerName, modelAnswers } from "../../../support/model-server/answers.ts";
import type { HeadlessSession } from "../headless-session.ts";
import type { LabSession } from "../lab-session.ts";
import { type ManagerRun, runManager } from "../programs.ts";

const names = Object.keys(modelAnswers) as AnswerName[];

/** `run` printed exactly the answer of the model, read from `source`. */
function answered(run: ManagerRun, name: AnswerName, source: TranscriptTurn["source"]): TranscriptTurn {
  const { answer, turn } = run.json<{ answer: string | null; turn: TranscriptTurn | null }>();
  const same = answer === modelAnswers[name];
  expect({
    exitCode: run.exitCode,
    answer: same ? name : answer,
    source: turn?.source,
    status: turn?.status,
  }).toEqual({ exitCode: 0, answer: name, source, status: "completed" });
  return turn as TranscriptTurn;
}

/**
 * Markdown, wide characters and 58 KB: `prompt --wait` prints what the model said, from the tool's own
 * record.
 */
export async function answersAreExact(session: LabSession): Promise<void> {
  const words = ["agents", "single", "--agent-name", `lab-${session.tool}`];
  for (const name of names) {
    await session.isReady();
    const prompt = ["prompt", "--prompt", `answer ${name}`, "--wait", "--json"];
    answered(await runManager(session.box, [...words, ...prompt]), name, "tool");
  }
  const log = await runManager(session.box, [...words, "log", "--limit", "3", "--json"]);
  const { turns } = log.json<{ turns: TranscriptTurn[] }>();
  expect(turns.map(({ prompt }) => prompt)).toEqual(names.map((name) => `answer ${name}`).toReversed());
}

/** The same without a terminal, where each answer follows a tool call. */
export async function headlessAnswersAreExact({ mgr }: HeadlessSession): Promise<void> {
  for (const name of names) {
    const run = await mgr(["prompt", "--prompt", `work RUNTOOL ${name}`, "--wait", "--json"]);
    const turn = answered(run, name, "headless");
    expect(turn.tool_calls).toMatchObject([
      { input: expect.stringContaining("touch tool-out.txt"), status: "ok" },
    ]);
  }
}
