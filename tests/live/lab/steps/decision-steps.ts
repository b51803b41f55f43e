import { expect } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { LabSession } from "../lab-session.ts";
import { reads } from "../screen-labels.ts";
import { toolFacts } from "../tool-facts.ts";
import { directly, refusal, startTurn, turnSucceeded } from "./lab-step.ts";
import { arrived } from "./prompt-steps.ts";
import { reportedQuestion } from "./signal-steps.ts";

/**
 * While the question stands nothing is typed and all waits; answered by text, the command runs and the turn
 * ends.
 */
export async function approvalAllowed(session: LabSession): Promise<void> {
  const { allow } = toolFacts[session.tool].approval;
  const options = optionsOf(session, toolFacts[session.tool].approval);
  const { turn, file, question } = await asksForApproval(session);
  const reported = reportedQuestion[session.tool] ?? undefined;
  const asked = await session.stateWhen(
    "a question as the tool reports it",
    ({ awaiting_decision: now }) =>
      now !== undefined && (reported === undefined || now.reported !== undefined),
  );
  expect(asked.awaiting_decision?.reported).toEqual(reported);
  const screen = screenOf(session);
  expect(await directly(session)).toEqual(refusal("awaiting_decision"));
  const prompt = "After the question FAST";
  const seen = session.model.received().length;
  const waiting = await session.queue(prompt);
  const held = await session.requestWhen(waiting, "waits", (record) => record.waiting !== undefined);
  expect(held.waiting).toMatchObject({ reason: "awaiting_decision" });
  expect((await session.gateway.decide({ option: "Perhaps" })).status).toBe(422);
  expect((await session.gateway.decide({ option: 1, question: "Another question?" })).status).toBe(409);
  expect({ screen: screenOf(session), exists: existsSync(file) }).toEqual({ screen, exists: false });

  const option = options[allow - 1] ?? "";
  const reply = await session.gateway.decide({ option: option.toUpperCase(), question });
  expect(reply).toEqual({
    status: 200,
    body: expect.objectContaining({ option: { index: allow, text: option } }),
  });
  await session.model.next((request) => request.sequence > turn.sequence && request.tool_answered, 30_000);
  expect(existsSync(file)).toBe(true);
  await arrived(session, { requestId: waiting, seen, prompt });
}

/** Answered by index, the command does not run and the agent is ready for more. */
export async function approvalRefused(session: LabSession): Promise<void> {
  const { refuse, result } = toolFacts[session.tool].approval;
  const options = optionsOf(session, toolFacts[session.tool].approval);
  const { file } = await asksForApproval(session);
  const reply = await session.gateway.decide({ option: refuse });
  expect(reply).toEqual({
    status: 200,
    body: expect.objectContaining({ option: { index: refuse, text: options[refuse - 1] } }),
  });
  const state = await session.isReady();
  expect({ last: state.last_turn.result, exists: existsSync(file) }).toEqual({ last: result, exists: false });
  await session.shows("refused", reads.ready(result));
}

/**
 * Questions of two pages, the first one with several choices: each answer is one of `decide`, as a person
 * gives it, and what the model gets are those answers.
 */
export async function questionsAnswered(session: LabSession): Promise<void> {
  const turn = await startTurn(session, "Work ASKPAGES");
  const asks = async (question: string, options: readonly string[]) => {
    const { awaiting_decision: asked } = await session.stateWhen(
      `the question ${question}`,
      ({ awaiting_decision: now }) => now?.question === question && now.unread === undefined,
    );
    expect(asked?.options.map(({ text }) => text).slice(0, options.length)).toEqual([...options]);
    return asked;
  };
  const answer = async (option: string, id: string | undefined) => {
    const reply = await session.gateway.decide({ option, ...(id === undefined ? {} : { id }) });
    expect(reply).toEqual({
      status: 200,
      body: expect.objectContaining({ option: expect.objectContaining({ text: option }) }),
    });
  };
  const fruits = "Which fruits do we buy?";
  const first = await asks(fruits, ["Apple", "Pear", "Plum"]);
  expect(first?.options[1]).toMatchObject({ checked: false, description: "from the market" });
  await answer("Pear", first?.id);
  await answer("Plum", (await asks(fruits, ["Apple"]))?.id);
  const checked = await asks(fruits, ["Apple"]);
  expect(checked?.options.map((one) => one.checked).slice(0, 3)).toEqual([false, true, true]);
  await answer("Next", checked?.id);
  await answer("Blue", (await asks("Which colour shall the door have?", ["Red", "Blue"]))?.id);
  await answer("Submit answers", (await asks("Review your answers", ["Submit answers", "Cancel"]))?.id);
  const told = await session.model.next(
    (request) => request.sequence > turn.sequence && request.tool_answered,
    30_000,
  );
  expect(told.tool_results.join("\n")).toMatch(/Pear.*Plum.*Blue/su);
  await turnSucceeded(session);
}

const optionsOf = ({ box }: LabSession, { options }: { options: string[] }) =>
  options.map((option) => option.replace("{work}", box.work));

/** As the recorder leaves them: a shorter folder, padded with blanks, ends an option's text. */
const recordedOptions = ({ options }: { options: string[] }) =>
  options.map((option) => option.replace(/\{work\}.*$/, "/home/user/work"));

async function asksForApproval(session: LabSession) {
  const { kind, question, selected, allow } = toolFacts[session.tool].approval;
  const options = recordedOptions(toolFacts[session.tool].approval);
  const file = join(session.box.work, "tool-out.txt");
  rmSync(file, { force: true });
  await session.isReady();
  const turn = await startTurn(session, "Work RUNTOOL ESCALATE FAST");
  const state = await session.stateWhen("a question", (now) => now.awaiting_decision !== undefined);
  expect(state.surface).toMatchObject({ accepting_input: "no", ready_posture: "unknown" });
  await session.shows("approval", reads.asking({ kind, question, options, selected: selected ?? allow }));
  return { turn, file, question };
}

/** Codex blinks in its title while it asks. */
/**
 * The screen without its title and without the mark of a running action, which claude 2.1.330 blinks above
 * its question.
 */
const screenOf = (session: LabSession) =>
  session.gateway
    .screen()
    .split("\n")
    .slice(1)
    .map((row) => row.replace(/^[●⏺](?= )/u, " "))
    .join("\n");

/** A folder that the tool does not know yet: a prompt given meanwhile waits for the answer. */
export async function trustIsAsked(session: LabSession): Promise<void> {
  const { trust } = toolFacts[session.tool];
  if (!trust) throw new Error(`${session.tool} asks nothing about a folder`);
  const state = await session.stateWhen("a question", (now) => now.awaiting_decision !== undefined);
  expect(state.awaiting_decision?.kind).toBe(trust.kind);
  const { kind, question, options, selected, allow } = trust;
  await session.shows("trust", reads.asking({ kind, question, options, selected: selected ?? allow }));
  expect(await directly(session)).toEqual(refusal("awaiting_decision"));
  const prompt = "In a trusted folder FAST";
  const requestId = await session.queue(prompt);
  const held = await session.requestWhen(requestId, "waits", (record) => record.waiting !== undefined);
  expect(held.waiting).toMatchObject({ reason: "awaiting_decision" });
  const reply = await session.gateway.decide({ option: options[allow - 1] ?? "" });
  expect(reply.status).toBe(200);
  await arrived(session, { requestId, seen: 0, prompt });
  await turnSucceeded(session);
}
