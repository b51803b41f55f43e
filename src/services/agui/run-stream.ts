import type { AguiEvent, AguiRunInput, AguiTargetFamily } from "../../protocol/agui.ts";
import type { GatewayStatus, RequestRecord } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import type { TurnEvent } from "../../protocol/turns.ts";
import { assertNever } from "../../system/errors.ts";
import { withoutNulls } from "./json.ts";
import { toSnapshot } from "./snapshot.ts";
import { courseOf, toDialogMessage, toTuiStatus } from "./terminal-run.ts";
import { activity, createTurnTranslator } from "./turn-events.ts";

/** What is known of a run at the moment of asking. */
export interface RunFacts {
  status(): GatewayStatus;
  record(): RequestRecord | null;
  /** Null while there is no turn. */
  turnEvents(page: { after: number; limit: number }): TurnEvent[] | null;
  terminal(): TerminalState | null;
}

export interface Run {
  input: AguiRunInput;
  family: AguiTargetFamily;
  /** The agent's screen can be read. */
  tracked: boolean;
  /** The transcript before the run. */
  dialogBefore: string;
}

export interface RunTranslator {
  /** The first events of the stream. */
  begin(): AguiEvent[];
  /** What has happened since the last look, oldest first; returns true with the terminal event. */
  look(): Generator<AguiEvent, boolean>;
  /** The terminal event of a run whose stream must end before it. */
  breakOff(reason: string): AguiEvent[];
}

/** Few enough that even the largest events of a turn do not fill the memory. */
const pageSize = 32;

/** Shows one run as AG-UI events, from what is known at each look. Source: spec/mailbox-agui.md C. */
export function createRunTranslator(run: Run, facts: RunFacts): RunTranslator {
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
    breakOff,
    begin: () => [
      {
        type: "RUN_STARTED",
        ...ids,
        ...(parentRunId == null ? {} : { parentRunId }),
        // Clients of the 0.0 versions want both lists in what they sent, even when they are empty.
        input: { tools: [], context: [], ...withoutNulls(run.input) },
      },
    ],
    *look() {
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
