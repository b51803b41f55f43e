import { expect } from "bun:test";
import type { RequestRecord } from "../../../../src/protocol/gateway.ts";
import type { TerminalState } from "../../../../src/protocol/terminal.ts";
import type { ReceivedRequest } from "../../../support/model-server/records.ts";
import { until } from "../../../support/until.ts";
import { isIdle, type LabSession, type SessionSettings } from "../lab-session.ts";
import type { StageStep } from "../staged-steps.ts";

/** One thing that must hold for every tool, shown on a live session that is ready when it begins. */
export type LabStep = StageStep<LabSession, SessionSettings>;

/**
 * The phases of the turn of `record`, each once per stay: active, then ready. A turn may be seen to begin,
 * and a quick one to end, before its prompt is noted as submitted; from the note on it is active in any case.
 * A frame that is half repainted may read unknown in between: opencode 1.18.33 shows one of 30 ms when it
 * prints an error.
 */
export function turnPhases(state: TerminalState, record: RequestRecord): string[] {
  const phasesSince = (step: "typed" | "submitted") => {
    const sinceUtc = record.evidence.find((evidence) => evidence.step === step)?.at_utc ?? "";
    return state.recent_transitions
      .filter((transition) => transition.recorded_at_utc > sinceUtc)
      .map((transition) => transition.turn_phase);
  };
  const noted = phasesSince("submitted");
  const phases = noted.includes("active") ? noted : phasesSince("typed");
  return phases
    .slice(phases.indexOf("active"))
    .filter((phase) => phase !== "unknown")
    .filter((phase, index, stays) => index === 0 || phase !== stays[index - 1]);
}

/** A turn that the model has begun to answer, or is about to, and that the state tells of. */
export async function startTurn(session: LabSession, prompt: string): Promise<ReceivedRequest> {
  await session.isReady();
  const seen = session.model.received().length;
  await session.queue(prompt);
  const turn = await session.nextTurn(seen);
  await session.stateWhen("busy", (state) => state.turn.phase === "active");
  return turn;
}

/** The first words of the answer to the prompt that ends in `directive` stand on the screen. */
export async function speaks(session: LabSession, directive: string): Promise<void> {
  await until(`the first words after ${directive} on the screen`, () =>
    (session.gateway.screen().split(directive).at(-1) ?? "").includes("the river carries"),
  );
}

/**
 * The newest turn was told to have succeeded and the agent is ready. The result may be gone by then: a tool
 * that repaints its transcript late takes it back (spec/terminal.md 2.2, rule 5).
 */
export async function turnSucceeded(session: LabSession): Promise<TerminalState> {
  return session.stateWhen("ready after a success", (state) => {
    const past = state.recent_transitions;
    const afterTurn = past.slice(past.findLastIndex(({ turn_phase }) => turn_phase === "active") + 1);
    return isIdle(state) && afterTurn.some(({ last_turn_result }) => last_turn_result === "success");
  });
}

/** The model sees the client hang up, the state says so, and the agent is ready for more. */
export async function interrupted(session: LabSession, sequence: number): Promise<void> {
  const requestId = await session.interrupt();
  const turn = await session.model.next(
    (request) => request.sequence === sequence && request.outcome !== "open",
    15_000,
  );
  expect(turn.outcome).toBe("aborted");
  await session.requestWhen(requestId, "completed", ({ state }) => state === "completed");
  const state = await session.stateWhen("interrupted", ({ last_turn }) => last_turn.result === "interrupted");
  expect(state.turn.phase).toBe("ready");
  await session.isReady();
}

/** After the model had the turn this long, no sample may call the agent ready before the turn's end. */
const graceMs = 400;

/** No sample between the turn's arrival at the model and its end told that the agent was ready. */
export async function neverReadyDuring(session: LabSession, turn: ReceivedRequest): Promise<void> {
  const endMs = turn.ended_at_ms ?? Date.now();
  const { entries } = await session.gateway.history(300);
  const wrong = entries.filter((entry) => {
    const atMs = Date.parse(entry.recorded_at_utc);
    return entry.turn.phase === "ready" && atMs > turn.at_ms + graceMs && atMs < endMs;
  });
  expect(wrong.map(({ recorded_at_utc, active_reasons }) => ({ recorded_at_utc, active_reasons }))).toEqual(
    [],
  );
}

/** A direct prompt for an agent that can begin a turn. */
export function directly(session: LabSession, prompt = "Not now FAST") {
  return session.gateway.direct({ schema_version: 2, prompt, admission_policy: "ready_only" });
}

export function refusal(errorCode: string, status = 409) {
  return { status, body: { detail: expect.objectContaining({ error_code: errorCode, sent: false }) } };
}
