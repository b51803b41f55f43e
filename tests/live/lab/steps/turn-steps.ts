import { expect } from "bun:test";
import { until } from "../../../support/until.ts";
import { isIdle, type LabSession } from "../lab-session.ts";
import { reads } from "../screen-labels.ts";
import { toolFacts } from "../tool-facts.ts";
import {
  directly,
  interrupted,
  neverReadyDuring,
  refusal,
  speaks,
  startTurn,
  turnPhases,
  turnSucceeded,
} from "./lab-step.ts";

export async function busyHoldsPrompts(session: LabSession): Promise<void> {
  const seen = session.model.received().length;
  const first = await startTurn(session, "Speak at length LONGTURN");
  await speaks(session, "LONGTURN");
  await session.shows("busy", reads.busy());
  expect(await directly(session)).toEqual(refusal("not_ready"));

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
  await neverReadyDuring(session, first);
}

/** A prompt for the composer of a busy agent: the tool holds it behind the turn or hands it to the turn. */
export async function promptWhileSpeaking(session: LabSession): Promise<void> {
  const { whileSpeaking } = toolFacts[session.tool];
  const seen = session.model.received().length;
  const first = await startTurn(session, "Speak MEDIUMTURN");
  await speaks(session, "MEDIUMTURN");
  const requestId = await session.queue("Also this FAST", "immediate");
  if (whileSpeaking === "held") await isHeld(session);
  const second = await session.nextTurn(first.sequence);
  expect(second.newest_user_text).toBe("Also this FAST");
  expect(first.outcome).toBe(whileSpeaking === "held" ? "finished" : "aborted");
  await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  const after = await turnSucceeded(session);
  expect(after.surface.pending_input).toBe("no");
  expect(session.turnsSince(seen)).toHaveLength(2);
  await neverReadyDuring(session, first);
}

/** The same for a tool that holds input only while it runs a command. */
export async function promptWhileCommandRuns(session: LabSession): Promise<void> {
  const first = await startTurn(session, "Work RUNTOOL SLEEPTOOL FAST");
  await session.model.next(
    (request) => request.sequence === first.sequence && request.outcome === "finished",
    15_000,
  );
  const requestId = await session.queue("Behind the command FAST", "immediate");
  await isHeld(session);
  const second = await session.model.next(
    (request) => request.sequence > first.sequence && request.newest_user_text === "Behind the command FAST",
    45_000,
  );
  expect(second.all_user_texts).toContain("Work RUNTOOL SLEEPTOOL FAST");
  await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  await turnSucceeded(session);
}

async function isHeld(session: LabSession): Promise<void> {
  await session.stateWhen("held", (state) => state.surface.pending_input === "yes");
  await session.shows("pending", reads.pending());
  const refused = await session.gateway.direct({
    schema_version: 2,
    prompt: "One more FAST",
    admission_policy: "if_no_pending",
  });
  expect(refused).toEqual(refusal("pending_input"));
}

export async function interruptWhileSpeaking(session: LabSession): Promise<void> {
  const turn = await startTurn(session, "Speak slowly SLOWTURN");
  // With its first words on the screen the tool shows an interruption and does not give the prompt back.
  await speaks(session, "SLOWTURN");
  await interrupted(session, turn.sequence);
  await session.shows("interrupted", reads.ready("interrupted"));
  await neverReadyDuring(session, turn);
}

/** As above, on a screen without the footer and the title that say that it works. */
export async function turnsOfFewSigns(session: LabSession): Promise<void> {
  const first = await startTurn(session, "Speak at length LONGTURN");
  await until("the prompt out of sight", () => {
    const screen = session.gateway.screen();
    return screen.includes("-- INSERT --") && !screen.includes("Speak at length");
  });
  expect(session.gateway.screen()).not.toContain("esc to interrupt");
  expect(await directly(session)).toEqual(refusal("not_ready"));
  await session.queue("In its turn FAST");
  const second = await session.nextTurn(first.sequence);
  expect([first.outcome, second.newest_user_text]).toEqual(["finished", "In its turn FAST"]);
  await turnSucceeded(session);
  await neverReadyDuring(session, first);

  const turn = await startTurn(session, "Speak slowly SLOWTURN");
  await speaks(session, "SLOWTURN");
  await interrupted(session, turn.sequence);
  await neverReadyDuring(session, turn);
}

export async function interruptBeforeOutput(session: LabSession): Promise<void> {
  const turn = await startTurn(session, "Think first SILENT");
  await session.shows("busy-silent", reads.busy());
  await interrupted(session, turn.sequence);
  const state = await session.isReady();
  expect(state.surface.editing_input).toBe("no");
}

/** Input that the tool holds begins when its turn is stopped; all of it is stopped with one interrupt. */
export async function interruptWithHeldInput(session: LabSession): Promise<void> {
  const seen = session.model.received().length;
  const first = await startTurn(session, "Speak slowly SLOWTURN");
  await speaks(session, "SLOWTURN");
  const held = await session.queue("And then this SLOWTURN", "immediate");
  if (toolFacts[session.tool].whileSpeaking === "held") await isHeld(session);
  else await session.nextTurn(first.sequence);
  await session.requestWhen(held, "completed", ({ state }) => state === "completed");

  const requestId = await session.interrupt();
  const record = await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  expect(record.result_json).toMatchObject({ outcome: "interrupted" });
  await until("no turn is open at the model", () =>
    session.turnsSince(seen).every(({ outcome }) => outcome === "aborted"),
  );
  const state = await session.isReady();
  expect({ last: state.last_turn.result, ...state.surface }).toMatchObject({
    last: "interrupted",
    editing_input: "no",
    pending_input: "no",
  });
  expect(session.turnsSince(seen).map(({ outcome }) => outcome)).not.toContain("open");
}

export async function interruptWhenIdle(session: LabSession): Promise<void> {
  await session.isReady();
  const screen = session.gateway.screen();
  const requestId = await session.interrupt();
  const record = await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  expect(JSON.stringify(record.result_json)).toContain("no_op");
  expect(session.gateway.screen()).toBe(screen);
}

/** The model answers with an error that the tool shows and gives up on. */
export async function failureIsShown(
  session: LabSession,
  { status, result }: { status: number; result: "known_failure" | "none" },
): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  const requestId = await session.queue(`Please FAIL${status}`);
  const turn = await session.nextTurn(seen);
  expect(turn.newest_user_text).toBe(`Please FAIL${status}`);
  const record = await session.requestWhen(requestId, "its turn has ended", ({ evidence }) =>
    evidence.some(({ step }) => step === "turn_ended"),
  );
  const state = await session.stateWhen(
    "ready after the failure",
    (now) => isIdle(now) && now.last_turn.result === result,
  );
  expect(session.turnsSince(seen).map(({ outcome }) => outcome)).not.toContain("finished");
  await session.shows(`error-${status}`, reads.ready(result));
  expect(turnPhases(state, record)).toEqual(["active", "ready"]);
}

/**
 * The model answers with an error after which the tool tries again and again: busy until it is interrupted.
 */
export async function failureIsRetried(session: LabSession, status: number): Promise<void> {
  await session.isReady();
  const seen = session.model.received().length;
  await session.queue(`Please FAIL${status}`);
  await session.nextTurn(seen);
  await until("the tool asks the model again", () => session.turnsSince(seen).length >= 2);
  const busy = await session.stateWhen("busy", (state) => state.turn.phase === "active");
  expect(busy.last_turn.result).toBe("none");
  await session.shows(`retrying-${status}`, reads.busy());
  const requestId = await session.interrupt();
  await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  const state = await session.isReady();
  expect(state.last_turn.result).toBe("interrupted");
}
