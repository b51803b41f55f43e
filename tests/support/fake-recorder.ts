import type { RecordedMoment, RecorderStatus } from "../../src/protocol/recorder.ts";
import type { GatewayObservers } from "../../src/routes/observe/app.ts";
import { ServiceError } from "../../src/system/errors.ts";

/** The recorder of an agent without any recording but that of one moment. */
export function fakeRecorder(): GatewayObservers["recorder"] {
  const at = "2026-01-01T00:00:00.000+00:00";
  const status: RecorderStatus = {
    schema_version: 1,
    enabled: false,
    recording: false,
    segments: 0,
    bytes: 0,
    recorded_from_utc: null,
    problem: null,
    max_bytes: 268_435_456,
    max_age_seconds: 604_800,
  };
  const moment: RecordedMoment = {
    schema_version: 1,
    at_utc: at,
    recorded: "yes",
    gap: null,
    recorded_at_utc: at,
    terminal: null,
    decision: null,
    terminal_since_utc: null,
    decision_since_utc: null,
    queue: { queue_depth: 0, requests: [] },
    events: [],
    screen_recorded: true,
  };
  const unlessEarlier = <T>(time: string, answer: T): T => {
    if (Date.parse(time) >= Date.parse(at)) return answer;
    throw new ServiceError("not_found", `nothing is recorded before ${at}`);
  };
  return {
    status: () => status,
    async update({ enabled, max_bytes = status.max_bytes, max_age_seconds = status.max_age_seconds }) {
      return Object.assign(status, { enabled, recording: enabled, max_bytes, max_age_seconds });
    },
    moment: async (query) => unlessEarlier(query.at, { ...moment, at_utc: query.at }),
    cast: async ({ from, until = from }) => {
      const cast = '{"version":2,"width":80,"height":24,"timestamp":1767225600}\n[0,"o","ready"]\n';
      return unlessEarlier(from, {
        schema_version: 1,
        from_utc: from,
        until_utc: until,
        next_utc: null,
        cast,
      });
    },
  };
}
