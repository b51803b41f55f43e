import type { AguiEvent, AguiObject, AguiRunInput, AguiTargetFamily } from "../../../../protocol/agui.ts";
import type { GatewayStatus, RequestRecord } from "../../../../protocol/gateway.ts";
import { agentQuestion, type TerminalState } from "../../../../protocol/terminal.ts";
import type { TurnEvent } from "../../../../protocol/turns.ts";
import { assertNever } from "../../../../system/errors.ts";
import { isObject, toSnapshot, withoutNulls } from "./snapshot.ts";

/**
 * What a GUI gets of a terminal agent while its run goes on. `terminal`: null when its screen cannot be read.
 * Pure.
 */
function toTuiStatus(facts: { record: RequestRecord; terminal: TerminalState | null }): AguiObject {
  const { record, terminal } = facts;
  const question = agentQuestion(terminal?.awaiting_decision);
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

type TurnCourse = { course: "open" } | { course: "ended" } | { course: "lost"; reason: string };

/**
 * How far the turn of a completed request has come. For a tool without a tracker the turn ends with the
 * typing. Pure.
 */
function courseOf(record: RequestRecord, facts: { tracked: boolean; epoch: number }): TurnCourse {
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
 * The lines of a transcript after those that were there before, also when it has scrolled since: the longest
 * end of `before` that `after` begins with is passed over. All of it where they have nothing in common.
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

/**
 * Ids are made of the run's and of the event's place in the turn. An answer that comes in pieces is one
 * message, sent as it grows; the whole that follows adds what was missing and closes it. Reasoning is sent
 * without its text. Pure but for the message that is open. Source: spec/mailbox-agui.md C.
 */
export function createTurnTranslator(runId: string) {
  let sequence = 0;
  let open: { messageId: string; text: string } | null = null;
  let lastCall: string | null = null;

  const idOf = (name: string | number) => `${runId}:${name}`;

  function begin(): { messageId: string; text: string } {
    open = { messageId: idOf(sequence), text: "" };
    return open;
  }

  function close(): AguiEvent[] {
    const closing: AguiEvent[] = open ? [{ type: "TEXT_MESSAGE_END", messageId: open.messageId }] : [];
    open = null;
    return closing;
  }

  function piece(delta: string): AguiEvent[] {
    if (delta === "") return [];
    const started = open === null;
    const message = open ?? begin();
    message.text += delta;
    const { messageId } = message;
    return [
      ...(started ? [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" } as const] : []),
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
    ];
  }

  function answer(text: string): AguiEvent[] {
    if (open && text.startsWith(open.text)) return [...piece(text.slice(open.text.length)), ...close()];
    if (open && text.trim() === open.text.trim()) return close();
    return [...close(), ...(text.trim() === "" ? [] : piece(text)), ...close()];
  }

  function call(data: Record<string, unknown>): AguiEvent[] {
    const toolCallId = idOf(actionOf(data) ?? `call-${sequence}`);
    lastCall = toolCallId;
    return [
      ...close(),
      { type: "TOOL_CALL_START", toolCallId, toolCallName: textOf(data["name"]) ?? "action" },
      { type: "TOOL_CALL_ARGS", toolCallId, delta: toArguments(data) },
      { type: "TOOL_CALL_END", toolCallId },
    ];
  }

  function result(data: Record<string, unknown>, message: string): AguiEvent[] {
    const action = actionOf(data);
    const toolCallId = action === null ? (lastCall ?? idOf(`call-${sequence}`)) : idOf(action);
    const content = textOf(data["result_summary"]) || textOf(data["status"]) || message;
    const messageId = `${toolCallId}:result`;
    return [{ type: "TOOL_CALL_RESULT", messageId, toolCallId, role: "tool", content }];
  }

  return {
    /** Closes what is open: before the end of the run. */
    close,
    /** In the order of the turn. */
    translate({ kind, message, payload }: TurnEvent): AguiEvent[] {
      sequence += 1;
      const data = payload?.data ?? {};
      switch (kind) {
        case "assistant":
          return answer(textOf(data["text"]) ?? message);
        case "action_request":
          return call(data);
        case "action_result":
          return result(data, message);
        case "reasoning":
          return [{ type: "CUSTOM", name: "svc.reasoning_redacted", value: { sequence } }];
        case "progress": {
          const delta = textOf(data["text_delta"]);
          if (delta !== null) return piece(delta);
          return [activity(idOf("progress"), "svc.gateway.progress", { message })];
        }
        case "completion": {
          const { status, usage } = data;
          const content = withoutNulls({ message, status, usage: isObject(usage) ? usage : null });
          return [...close(), activity(idOf("completion"), "svc.gateway.completion", content)];
        }
        case "diagnostic":
          return [{ type: "CUSTOM", name: "svc.gateway.diagnostic", value: { sequence, message } }];
        case "session":
        case "passthrough":
          return [{ type: "CUSTOM", name: "svc.gateway.event", value: { sequence, kind, message } }];
      }
    },
  };
}

/** One activity of the GUI, replaced by the next of the same id. */
function activity(
  messageId: string,
  activityType: (AguiEvent & { type: "ACTIVITY_SNAPSHOT" })["activityType"],
  content: Record<string, unknown>,
): AguiEvent {
  return { type: "ACTIVITY_SNAPSHOT", messageId, activityType, content, replace: true };
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

const actionOf = (data: Record<string, unknown>): string | null => textOf(data["action_id"]) || null;

/** A client reads the arguments as a JSON object. */
function toArguments(data: Record<string, unknown>): string {
  const given = data["arguments"] ?? { summary: data["arguments_summary"] ?? "" };
  return JSON.stringify(isObject(given) ? given : { input: given });
}

/** What is known of a run at the moment of asking. */
interface RunFacts {
  status(): GatewayStatus;
  record(): RequestRecord | null;
  /** Null while there is no turn. */
  turnEvents(page: { after: number; limit: number }): TurnEvent[] | null;
  terminal(): TerminalState | null;
}

interface Run {
  input: AguiRunInput;
  family: AguiTargetFamily;
  /** The agent's screen can be read. */
  tracked: boolean;
  /** The transcript before the run. */
  dialogBefore: string;
}

/** Few enough that even the largest events of a turn do not fill the memory. */
const pageSize = 32;

/** Shows one run as AG-UI events, from what is known at each look. Source: spec/mailbox-agui.md C. */
export function createRunTranslator(run: Run, facts: RunFacts) {
  const { threadId, runId, parentRunId } = run.input;
  const ids = { threadId, runId };
  const translator = createTurnTranslator(runId);
  let sent = 0;
  let lastState = "";
  let lastTui = "";

  function* stateIfNew(): Generator<AguiEvent> {
    const snapshot = toSnapshot({ status: facts.status(), own: run.input.state });
    const text = JSON.stringify(snapshot);
    if (text === lastState) return;
    lastState = text;
    yield { type: "STATE_SNAPSHOT", snapshot };
  }

  function* tuiIfNew(record: RequestRecord): Generator<AguiEvent> {
    if (run.family !== "tui") return;
    const content = toTuiStatus({ record, terminal: facts.terminal() });
    const text = JSON.stringify(content);
    if (text === lastTui) return;
    lastTui = text;
    yield activity(`${runId}:tui`, "svc.tui.status", content);
  }

  function* turnSoFar(): Generator<AguiEvent> {
    if (run.family !== "headless") return;
    for (;;) {
      const page = facts.turnEvents({ after: sent, limit: pageSize }) ?? [];
      for (const event of page) {
        sent += 1;
        yield* translator.translate(event);
      }
      if (page.length < pageSize) return;
    }
  }

  function finished(record: RequestRecord): AguiEvent {
    return {
      type: "RUN_FINISHED",
      ...ids,
      result: {
        gatewayRequestId: record.request_id,
        gatewayRequestState: record.state,
        targetTransportFamily: run.family,
      },
    };
  }

  /** A tool's own reason may be a single word: what failed and where the rest is goes with it. */
  const failed = ({ request_id }: RequestRecord, reason: string): AguiEvent => ({
    type: "RUN_ERROR",
    message: `the run failed: ${reason} (see GET /v1/requests/${request_id})`,
    code: "svc_gateway_request_failed",
  });

  /** Null while the run goes on. */
  function endOf(record: RequestRecord): AguiEvent[] | null {
    switch (record.state) {
      case "accepted":
      case "running":
        return null;
      case "failed":
        return [failed(record, record.error_detail ?? "no reason is known")];
      case "coalesced":
        return [finished(record)];
      case "completed": {
        if (run.family !== "tui") return [finished(record)];
        const epoch = facts.status().managed_agent_instance_epoch;
        const course = courseOf(record, { tracked: run.tracked, epoch });
        if (course.course === "open") return null;
        if (course.course === "lost") return [failed(record, course.reason)];
        const terminal = facts.terminal();
        const after = terminal?.turn.phase === "ready" ? terminal.parsed_surface?.dialog_text : undefined;
        const dialog = after === undefined ? [] : toDialogMessage(runId, run.dialogBefore, after);
        return [...dialog, finished(record)];
      }
      default:
        return assertNever(record.state);
    }
  }

  const breakOff = (message: string): AguiEvent[] => [
    ...translator.close(),
    { type: "RUN_ERROR", message, code: "svc_run_stream_failed" },
  ];

  return {
    /** The terminal event of a run whose stream must end before it. */
    breakOff,
    /** The first events of the stream. */
    begin: (): AguiEvent[] => [
      {
        type: "RUN_STARTED",
        ...ids,
        ...(parentRunId == null ? {} : { parentRunId }),
        // Clients of the 0.0 versions want both lists in what they sent, even when they are empty.
        input: { tools: [], context: [], ...withoutNulls(run.input) },
      },
    ],
    /** What has happened since the last look, oldest first; returns true with the terminal event. */
    *look(): Generator<AguiEvent, boolean> {
      // The end is written after what led to it: in this order nothing is missed.
      const record = facts.record();
      if (!record) {
        yield* breakOff("the request is no longer known");
        return true;
      }
      const end = endOf(record);
      yield* stateIfNew();
      yield* tuiIfNew(record);
      yield* turnSoFar();
      if (!end) return false;
      yield* translator.close();
      yield* end;
      return true;
    },
  };
}
