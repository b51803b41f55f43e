import { expect } from "bun:test";
import { until } from "../../support/until.ts";
import type { LabTool } from "./cli-cache.ts";
import { expectedArrival } from "./expected-arrival.ts";
import { isIdle, type LabSession } from "./lab-session.ts";

/** One thing that must hold for every tool, shown on a live session that is ready when it begins. */
export interface LabStep {
  id: string;
  run(session: LabSession): Promise<void>;
}

/** The steps of one tool, in the order in which they share a session. */
export function stepsOf(tool: LabTool): LabStep[] {
  return [
    { id: "a fresh agent is ready and has no last turn", run: freshIsReady },
    ...prompts.map(({ id, prompt }) => ({ id, run: (session: LabSession) => arrives(session, prompt) })),
    { id: "a direct prompt is delivered when the agent is ready", run: directWhenReady },
    {
      id: "busy is seen, a direct prompt is refused and a queued one waits for the turn's end",
      run: busyHoldsPrompts,
    },
    { id: "an interrupt stops a turn that is speaking", run: interruptWhileSpeaking },
    { id: "an interrupt before the first word leaves an empty composer", run: interruptBeforeOutput },
    { id: "an interrupt of an idle agent presses no key", run: interruptWhenIdle },
    {
      id: `a prompt after all this arrives in the same ${tool} session`,
      run: (session) => arrives(session, "Last FAST"),
    },
  ];
}

const line = (number: number) => `line ${number} `.padEnd(79, "abcdefghij ");

/** `FAST` stands in each last line so that the model answers at once. */
const prompts: readonly { id: string; prompt: string }[] = [
  { id: "one line arrives exactly", prompt: "Say one word FAST" },
  { id: "many lines arrive exactly", prompt: "first\n\n  second, indented\nthird\n- a list\nFAST" },
  {
    id: "20 KB arrive exactly",
    prompt: `${Array.from({ length: 256 }, (_, index) => line(index)).join("\n")}\nFAST`,
  },
  {
    id: "Unicode arrives exactly",
    prompt: "漢字とかな 한국어 עברית عربى Ω ж 👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️ \u{20BB7} FAST",
  },
  { id: "combining characters arrive as the tool writes them", prompt: "e\u0301 a\u0308\u0323 हिन्दी FAST" },
  {
    id: "tabs and quotes arrive as the tool writes them",
    prompt: "\ta 'b' \"c\" `d` $HOME #{pane_id} ~ %1 {x} ;\tFAST;",
  },
  { id: "a leading dash arrives exactly", prompt: "- FAST" },
  { id: "a leading ! is text, not a shell command", prompt: "!echo FAST" },
  { id: "a trailing @name is text, not a popup", prompt: "FAST look at @README.md" },
  { id: "a bare @ at the end is text, not a popup", prompt: "FAST at @" },
  { id: "a trailing $name is text, not a popup", prompt: "FAST costs $foo" },
  { id: "a trailing backslash is text, not a line break", prompt: "FAST in C:\\" },
  { id: "a hidden end of paste does not submit the rest", prompt: "before \x1b[201~\rafter FAST" },
  {
    id: "other control characters never reach the tool",
    prompt: "a\x00b\x07c\x1b[31md\x7fe\u009b201~f\x03 FAST",
  },
];

async function freshIsReady(session: LabSession): Promise<void> {
  const state = await session.isReady();
  expect({ ...state.surface, last: state.last_turn.result }).toEqual({
    accepting_input: "yes",
    editing_input: "no",
    ready_posture: "yes",
    pending_input: "no",
    last: "none",
  });
  expect(session.model.received().filter((request) => request.purpose === "turn")).toEqual([]);
}

/** Queued, delivered once and exactly, its evidence complete, its end seen. */
async function arrives(session: LabSession, prompt: string): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  const requestId = await session.queue(prompt);
  const turn = await session.nextTurn(seen);
  expect(turn.newest_user_text).toBe(expectedArrival(session.tool, prompt));
  await turnSucceeded(session);
  const record = await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  expect(record.evidence.map(({ step }) => step)).toEqual(
    expect.arrayContaining(["accepted", "typed", "submitted", "turn_started"]),
  );
  expect(session.turnsSince(seen)).toHaveLength(1);
}

async function directWhenReady(session: LabSession): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  const reply = await session.gateway.direct({
    schema_version: 2,
    prompt: "Directly FAST",
    admission_policy: "ready_only",
  });
  expect(reply).toEqual({ status: 200, body: expect.objectContaining({ status: "ok", sent: true }) });
  expect((await session.nextTurn(seen)).newest_user_text).toBe("Directly FAST");
  await turnSucceeded(session);
}

async function busyHoldsPrompts(session: LabSession): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  await session.queue("Speak at length LONGTURN");
  const first = await session.nextTurn(seen);
  await session.stateWhen(
    "busy",
    (state) => state.turn.phase === "active" && state.surface.ready_posture === "no",
  );

  const refused = await session.gateway.direct({ schema_version: 2, prompt: "Not now FAST" });
  expect(refused.status).toBe(409);
  expect(refused.body).toEqual({ detail: expect.objectContaining({ error_code: "not_ready", sent: false }) });

  const waiting = await session.queue("In its turn FAST");
  const held = await session.requestWhen(
    waiting,
    "waits and says why",
    (record) => record.waiting !== undefined,
  );
  expect([held.state, first.outcome]).toEqual(["accepted", "open"]);

  const second = await session.nextTurn(first.sequence);
  expect(second.newest_user_text).toBe("In its turn FAST");
  expect(first.outcome).toBe("finished");
  expect(second.at_ms).toBeGreaterThanOrEqual(first.ended_at_ms ?? Number.POSITIVE_INFINITY);
  await turnSucceeded(session);
  expect(session.turnsSince(seen)).toHaveLength(2);
}

async function interruptWhileSpeaking(session: LabSession): Promise<void> {
  const turn = await startTurn(session, "Speak slowly SLOWTURN");
  // With its first words on the screen the tool shows an interruption and does not give the prompt back.
  await until("the first words on the screen", () => {
    const afterPrompt = session.gateway.screen().split("SLOWTURN").at(-1) ?? "";
    return afterPrompt.includes("the river carries");
  });
  await interrupted(session, turn.sequence);
}

async function interruptBeforeOutput(session: LabSession): Promise<void> {
  const turn = await startTurn(session, "Think first SILENT");
  await interrupted(session, turn.sequence);
  const state = await session.isReady();
  expect(state.surface.editing_input).toBe("no");
}

async function interruptWhenIdle(session: LabSession): Promise<void> {
  await session.isReady();
  const screen = session.gateway.screen();
  const requestId = await session.interrupt();
  const record = await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  expect(JSON.stringify(record.result_json)).toContain("no_op");
  expect(session.gateway.screen()).toBe(screen);
}

async function startTurn(session: LabSession, prompt: string) {
  await session.isReady();
  const seen = session.model.received().length;
  await session.queue(prompt);
  const turn = await session.nextTurn(seen);
  await session.stateWhen("busy", (state) => state.turn.phase === "active");
  return turn;
}

/** The model sees the client hang up, the state says so, and the agent is ready for more. */
async function interrupted(session: LabSession, sequence: number): Promise<void> {
  const requestId = await session.interrupt();
  const turn = await session.model.next(
    (request) => request.sequence === sequence && request.outcome !== "open",
    5000,
  );
  expect(turn.outcome).toBe("aborted");
  await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  const state = await session.stateWhen("interrupted", ({ last_turn }) => last_turn.result === "interrupted");
  expect(state.turn.phase).toBe("ready");
  await session.isReady();
}

async function turnSucceeded(session: LabSession): Promise<void> {
  await session.stateWhen(
    "ready after a success",
    (state) => state.last_turn.result === "success" && isIdle(state),
  );
}
