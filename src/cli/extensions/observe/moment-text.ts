import type { RecordedEvent, RecordedMoment, RecorderStatus } from "../../../protocol/recorder.ts";
import { localDateTime } from "../../../system/time-zone.ts";
import { visibleLine } from "../../../system/visible.ts";
import { renderPairs } from "../../command-line/format.ts";

const size = (bytes: number) =>
  bytes < 2 ** 20 ? `${(bytes / 2 ** 10).toFixed(1)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function span(seconds: number): string {
  for (const [unit, length] of [
    ["d", 86_400],
    ["h", 3600],
    ["m", 60],
  ] as const) {
    if (seconds % length === 0) return `${seconds / length}${unit}`;
  }
  return `${seconds}s`;
}

/** Whether an agent is recorded, and what is kept. Pure. */
export function renderRecorder(status: RecorderStatus): string {
  const { enabled, recording, segments, bytes, max_bytes, max_age_seconds, recorded_from_utc } = status;
  const state = recording ? "yes" : enabled ? "no: it is on, and no gateway records" : "no: it is off";
  return renderPairs([
    ["recording", status.problem === null ? state : `no: ${visibleLine(status.problem)}`],
    [
      "on disk",
      segments === 0 ? "nothing" : `${size(bytes)} in ${segments} ${segments === 1 ? "part" : "parts"}`,
    ],
    ["since", recorded_from_utc && localDateTime(recorded_from_utc)],
    ["kept", `${size(max_bytes)} and ${span(max_age_seconds)} at most`],
  ]);
}

/**
 * Why the agent was idle or busy then: what it showed, which fact kept it from being ready, what waited.
 * `commandLine`: shows the screen of then; null when none can. Pure.
 */
export function renderMoment(moment: RecordedMoment, commandLine: string | null): string {
  const { terminal, decision, queue, events } = moment;
  const failing = terminal?.facts.find(({ holds }) => !holds);
  return [
    renderPairs(
      [
        ["at", localDateTime(moment.at_utc)],
        [
          "recorded",
          moment.recorded === "yes"
            ? `yes, last at ${localDateTime(moment.recorded_at_utc ?? "")}`
            : `no: ${moment.gap}`,
        ],
        ["ready", readyOf(moment)],
        ["asked a person", terminal?.question ?? null],
        ["busy because", terminal?.active_reasons.join(", ") || null],
        ["last turn", terminal && terminal.last_turn.result !== "none" ? terminal.last_turn.result : null],
        ["queue", decisionOf(moment)],
        ["admission", decision?.admission_block ?? null],
      ].map(([name, value]) => [name, value == null ? null : visibleLine(value)] as [string, string | null]),
    ),
    ...(terminal && terminal.facts.length > 0 ? ["", "facts that a queued prompt asks for:"] : []),
    ...(terminal?.facts ?? []).map((fact) => {
      const { name, value, wanted, holds } = fact;
      const blocks = fact === failing ? "  <- what kept it from being ready" : "";
      return `  ${holds ? "holds " : "fails "} ${name}=${visibleLine(value)}${holds ? "" : `, wanted ${wanted}`}${blocks}`;
    }),
    "",
    `in the queue: ${queue.queue_depth === 0 ? "nothing" : queue.queue_depth}`,
    ...queue.requests.map(
      ({ request_id, request_kind, state, accepted_at_utc }) =>
        `  ${request_id}  ${request_kind}  ${state}  accepted ${localDateTime(accepted_at_utc)}`,
    ),
    ...(events.length > 0 ? ["", "events before:"] : []),
    ...events.map((event) => `  ${localDateTime(event.at_utc)}  ${visibleLine(eventText(event))}`),
    ...(moment.screen_recorded && commandLine !== null ? ["", `its screen: ${commandLine}`] : []),
  ].join("\n");
}

function readyOf({ terminal, terminal_since_utc }: RecordedMoment): string | null {
  if (terminal === null) return "not known: no terminal was recorded";
  const since = localDateTime(terminal_since_utc ?? "");
  return terminal.ready ? `yes, since ${since}` : `no, since ${since}: ${terminal.blocking}`;
}

function decisionOf({ decision, decision_since_utc }: RecordedMoment): string | null {
  if (decision === null) return null;
  const since = localDateTime(decision_since_utc ?? "");
  switch (decision.do) {
    case "rest":
      return `nothing waited, since ${since}`;
    case "wait":
      return `${decision.request_id} waited since ${since}: ${decision.reason}: ${decision.detail}`;
    case "expire":
      return `${decision.request_id} failed at ${since}: ${decision.detail}`;
    case "run":
      return `${decision.request_id} was begun at ${since}`;
  }
}

function eventText(event: RecordedEvent): string {
  const { kind, at_utc: _at, ...rest } = event as RecordedEvent & Record<string, unknown>;
  const said = ["request_id", "step", "reason", "detail", "proof", "summary", "error_detail"].flatMap(
    (name) => {
      const value = rest[name];
      return typeof value === "string" ? [value.slice(0, 160)] : [];
    },
  );
  return [kind, ...said].join("  ");
}
