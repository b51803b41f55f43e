import {
  defaultRecorderLimits,
  type RecordedCast,
  type RecordedMoment,
  type RecorderStatus,
  type RecorderUpdate,
} from "../../../../protocol/recorder.ts";
import { parseTimestamp, toTimestamp } from "../../../../system/clock.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { sessionPaths } from "../../../sessions/roots.ts";
import { openSessionFolder } from "../../../sessions/session-folder.ts";
import type { RecordedAgent } from "./open-recorder.ts";
import type { Recorder } from "./recorder.ts";
import { measureSegments } from "./segments.ts";

/** The recorder of a gateway's agent. While it is off nothing of it is loaded, and it listens to nothing. */
export type RecorderControl = ReturnType<typeof createRecorderControl>;

const defaultSpanMs = 60_000;

export function createRecorderControl(agent: RecordedAgent) {
  const { files, sessionRoot } = agent;
  const { gatewayRoot } = sessionPaths(sessionRoot);
  let recorder: Recorder | null = null;
  let acts: Promise<unknown> = Promise.resolve();

  /** One after the other: two callers may switch it at once. */
  function inOrder<T>(task: () => Promise<T>): Promise<T> {
    const done = acts.then(task);
    acts = done.catch(() => {});
    return done;
  }

  async function open(): Promise<void> {
    const settings = recorderSettings(files, sessionRoot);
    if (!settings.enabled || recorder !== null) return;
    const { openRecorder } = await import("./open-recorder.ts");
    recorder = openRecorder(agent, {
      gatewayRoot,
      limits: { maxBytes: settings.maxBytes, maxAgeMs: settings.maxAgeSeconds * 1000 },
    });
    recorder.start();
    agent.log.line("recording");
  }

  async function close(): Promise<void> {
    const open = recorder;
    recorder = null;
    await open?.stop();
  }

  function status(): RecorderStatus {
    const facts = recorder?.facts() ?? null;
    return toRecorderStatus(files, sessionRoot, facts);
  }

  return {
    /** Begins when the setting says so. */
    start: (): Promise<void> => inOrder(open),
    stop: (): Promise<void> => inOrder(close),
    status,
    update: (wish: RecorderUpdate): Promise<RecorderStatus> =>
      inOrder(async () => {
        saveRecorderWish(files, sessionRoot, wish);
        // Other limits are those of another recorder.
        await close();
        await open();
        return status();
      }),
    ...createRecordingReader(agent),
  };
}

/** What was recorded, whether a gateway runs or not. */
export function createRecordingReader({
  files,
  clock,
  sessionRoot,
  agentName,
}: Pick<RecordedAgent, "files" | "clock" | "sessionRoot" | "agentName">) {
  const { gatewayRoot } = sessionPaths(sessionRoot);
  return {
    /** Throws `not_found` where nothing is recorded, and `invalid_request` for what is no moment. */
    async moment({ at }: { at: string }): Promise<RecordedMoment> {
      const { readMoment } = await import("./reader.ts");
      const atMs = momentOf("at", at);
      return readMoment(files, gatewayRoot, { atMs, nowMs: clock.nowMs(), agentName });
    },
    async cast({ from, until }: { from: string; until?: string }): Promise<RecordedCast> {
      const { readCast, toRecordedCast } = await import("./reader.ts");
      const fromMs = momentOf("from", from);
      // An end before the beginning asks for nothing.
      const untilMs =
        until === undefined ? fromMs + defaultSpanMs : Math.max(fromMs, momentOf("until", until));
      const cast = readCast(files, gatewayRoot, { fromMs, untilMs, agentName });
      return toRecordedCast(cast, { untilMs, title: agentName });
    },
  };
}

function momentOf(name: string, text: string): number {
  const atMs = parseTimestamp(text);
  if (atMs === null) throw new ServiceError("invalid_request", `\`${name}\` is no RFC 3339 time`);
  return atMs;
}

/** What the session's desired-config.json says. Throws as `readDesiredConfig`. */
function recorderSettings(files: Files, sessionRoot: string) {
  const wish = openSessionFolder(files, sessionRoot).readDesiredConfig().desired_recorder;
  return {
    enabled: wish?.enabled ?? false,
    maxBytes: wish?.max_bytes ?? defaultRecorderLimits.maxBytes,
    maxAgeSeconds: wish?.max_age_seconds ?? defaultRecorderLimits.maxAgeSeconds,
  };
}

/** Keeps the setting for this and each later gateway. Throws as `readDesiredConfig`. */
export function saveRecorderWish(
  files: Files,
  sessionRoot: string,
  { enabled, max_bytes, max_age_seconds }: RecorderUpdate,
): void {
  const before = openSessionFolder(files, sessionRoot).readDesiredConfig().desired_recorder;
  openSessionFolder(files, sessionRoot).saveWish({
    recorder: {
      ...before,
      enabled,
      ...(max_bytes === undefined ? {} : { max_bytes }),
      ...(max_age_seconds === undefined ? {} : { max_age_seconds }),
    },
  });
}

/** The setting and what is on disk. `live`: what the recorder that runs says; null when none does. */
export function toRecorderStatus(
  files: Files,
  sessionRoot: string,
  live: ReturnType<Recorder["facts"]> | null,
): RecorderStatus {
  const { gatewayRoot } = sessionPaths(sessionRoot);
  const { enabled, maxBytes, maxAgeSeconds } = recorderSettings(files, sessionRoot);
  const segments = measureSegments(files, gatewayRoot);
  return {
    schema_version: 1,
    enabled,
    recording: live !== null && live.problem === null,
    max_bytes: maxBytes,
    max_age_seconds: maxAgeSeconds,
    segments: segments.length,
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
    recorded_from_utc: segments[0] ? toTimestamp(segments[0].startMs) : null,
    problem: live?.problem ?? null,
  };
}
