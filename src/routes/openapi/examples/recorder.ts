import type { RecordedMoment, RecorderStatus } from "../../../protocol/recorder.ts";
import { surface } from "./terminal.ts";

/** Examples of bodies of the flight recorder, by component. Each is an instance of its schema. */

const at = (time: string) => `2026-11-21T${time}.000+00:00`;
const requestId = "gwreq-20261121-031140Z-4b1f0a6c";

const status: RecorderStatus = {
  schema_version: 1,
  enabled: true,
  recording: true,
  max_bytes: 268_435_456,
  max_age_seconds: 604_800,
  segments: 41,
  bytes: 39_871_204,
  recorded_from_utc: at("00:12:07"),
  problem: null,
};

const moment: RecordedMoment = {
  schema_version: 1,
  at_utc: at("03:12:00"),
  recorded: "yes",
  gap: null,
  recorded_at_utc: at("03:11:48"),
  terminal: {
    availability: "available",
    transport_state: "tmux_up",
    process_state: "tui_up",
    parse_status: "parsed",
    surface: { ...surface, editing_input: "yes" } as NonNullable<RecordedMoment["terminal"]>["surface"],
    turn_phase: "ready",
    last_turn: { result: "success", source: "explicit_input", updated_at_utc: at("02:58:31") },
    stable: true,
    question: null,
    parked: null,
    active_reasons: [],
    ready: false,
    blocking: "editing_input=yes",
    facts: [
      { name: "turn.phase", value: "ready", wanted: "ready", holds: true },
      { name: "editing_input", value: "yes", wanted: "no", holds: false },
    ],
  },
  terminal_since_utc: at("03:02:10"),
  decision: {
    do: "wait",
    request_id: requestId,
    reason: "not_ready",
    detail: "editing_input=yes",
    request_admission: "open",
    admission_block: null,
    managed_agent_instance_epoch: 1,
    execution_slot: null,
    typing: false,
    heads: [
      {
        request_id: requestId,
        request_kind: "submit_prompt",
        delivery: "turn_boundary",
        managed_agent_instance_epoch: 1,
      },
    ],
  },
  decision_since_utc: at("03:11:40"),
  queue: {
    queue_depth: 1,
    requests: [
      {
        request_id: requestId,
        request_kind: "submit_prompt",
        state: "accepted",
        accepted_at_utc: at("03:11:40"),
      },
    ],
  },
  events: [{ kind: "accepted", at_utc: at("03:11:40") }],
  screen_recorded: true,
};

const cast = {
  schema_version: 1,
  from_utc: at("03:12:00"),
  until_utc: at("03:13:00"),
  next_utc: null,
  cast: '{"version":2,"width":120,"height":36,"timestamp":1795230720}\n[0,"o","\\u001bc> a draft"]\n',
};

export const recorderExamples: Readonly<Record<string, readonly unknown[]>> = {
  RecorderStatus: [status],
  RecorderUpdate: [{ schema_version: 1, enabled: true, max_bytes: 1_073_741_824 }],
  RecordedMoment: [moment],
  RecordedCast: [cast],
};
