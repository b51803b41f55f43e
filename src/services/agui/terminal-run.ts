import type { AguiEvent, AguiObject } from "../../protocol/agui.ts";
import type { RequestRecord } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";

/**
 * What a GUI gets of a terminal agent while its run goes on. `terminal`: null when its screen cannot be read. Pure.
 */
export function toTuiStatus(facts: { record: RequestRecord; terminal: TerminalState | null }): AguiObject {
  const { record, terminal } = facts;
  const question = terminal?.awaiting_decision;
  return {
    requestState: record.state,
    ...(record.waiting ? { waiting: { reason: record.waiting.reason, detail: record.waiting.detail } } : {}),
    ...(terminal
      ? {
          turnPhase: terminal.turn.phase,
          readyPosture: terminal.surface.ready_posture,
          lastTurnResult: terminal.last_turn.result,
        }
      : {}),
    ...(question
      ? {
          awaitingDecision: {
            kind: question.kind,
            question: question.question,
            options: question.options.map(({ index, text }) => ({ index, text })),
          },
        }
      : {}),
  };
}

export type TurnCourse = { course: "open" } | { course: "ended" } | { course: "lost"; reason: string };

/**
 * How far the turn of a completed request has come. A tool without a tracker is done with what was typed. Pure.
 */
export function courseOf(record: RequestRecord, facts: { tracked: boolean; epoch: number }): TurnCourse {
  if (!facts.tracked) return { course: "ended" };
  const ended = record.evidence.find((one) => one.step === "turn_ended");
  if (ended?.agent_ended) return { course: "lost", reason: ended.proof };
  if (ended) return { course: "ended" };
  const settled = record.evidence.find((one) => one.step === "settled");
  if (settled) return { course: "lost", reason: settled.proof };
  if (record.managed_agent_instance_epoch !== facts.epoch) {
    return { course: "lost", reason: "the agent is a new instance" };
  }
  return { course: "open" };
}

/** What the screen says now and did not say before the run, as one message; none when that is blank. Pure. */
export function toDialogMessage(runId: string, before: string, after: string): AguiEvent[] {
  const delta = addedLines(before, after).trim();
  const messageId = `${runId}:dialog`;
  return delta === ""
    ? []
    : [
        { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
        { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
        { type: "TEXT_MESSAGE_END", messageId },
      ];
}

/**
 * The lines of a transcript after those that were there before, also when it has scrolled since: the longest end
 * of `before` that `after` begins with is passed over. All of it where they have nothing in common.
 */
function addedLines(before: string, after: string): string {
  const old = before.split("\n");
  const now = after.split("\n");
  const from = old.findIndex((_, at) => now.length >= old.length - at && isHead(old, at, now));
  return from < 0 ? after : now.slice(old.length - from).join("\n");
}

function isHead(old: readonly string[], at: number, now: readonly string[]): boolean {
  for (let index = at; index < old.length; index++) if (old[index] !== now[index - at]) return false;
  return true;
}
