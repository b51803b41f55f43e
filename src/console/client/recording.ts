import type { RecordedCast, RecordedMoment } from "../../protocol/recorder.ts";
import { nowMs, parseTime } from "../browser/browser.ts";
import { joinCasts } from "../state/recorded.ts";
import type { ScreenView } from "../state/screen.ts";
import { type Answer, call } from "./api.ts";

/** The recordings of an agent, as its gateway gives them. */

export interface RecordedSpan {
  fromMs: number;
  toMs: number;
}

export interface PastMoment {
  moment: RecordedMoment;
  /** Null where the screen of that moment is not recorded. */
  screen: ScreenView | null;
}

const isoOf = (atMs: number) => new Date(atMs).toISOString();

/** The time of which something is recorded; null where nothing is. */
export async function loadSpan(agent: string): Promise<Answer<RecordedSpan | null>> {
  const params = { agent_ref: agent };
  const status = await call("agentReadRecorder", { params });
  if (!status.ok) return status;
  const fromMs = parseTime(status.value.recorded_from_utc);
  if (fromMs === null) return { ok: true, value: null };
  const presentMs = nowMs();
  if (status.value.recording) return { ok: true, value: { fromMs, toMs: presentMs } };
  const newest = await call("agentRecordedMoment", { params, query: { at: isoOf(presentMs) } });
  if (!newest.ok) return newest;
  return { ok: true, value: { fromMs, toMs: parseTime(newest.value.recorded_at_utc) ?? presentMs } };
}

export async function loadMoment(agent: string, atMs: number): Promise<Answer<PastMoment>> {
  const params = { agent_ref: agent };
  const at = isoOf(atMs);
  const moment = await call("agentRecordedMoment", { params, query: { at } });
  if (!moment.ok) return moment;
  if (!moment.value.screen_recorded) return { ok: true, value: { moment: moment.value, screen: null } };
  const cast = await call("agentRecordedCast", { params, query: { from: at, until: at } });
  const { drawCast } = await import("./past-screen.ts");
  const screen = cast.ok ? await drawCast(cast.value.cast) : null;
  return { ok: true, value: { moment: moment.value, screen } };
}

/** More is for the command line. */
const maxCastChars = 64 * 2 ** 20;

/**
 * An asciicast v2 file of what the terminal showed. `whole`: false where it ends early because it became too
 * large.
 */
export async function loadCast(
  agent: string,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Promise<Answer<{ cast: string; whole: boolean }>> {
  const parts: { fromMs: number; cast: string }[] = [];
  let chars = 0;
  let from: string | null = isoOf(fromMs);
  while (from !== null && chars < maxCastChars) {
    const query: Record<string, string> = { from, until: isoOf(untilMs) };
    const answer = await call("agentRecordedCast", { params: { agent_ref: agent }, query });
    if (!answer.ok) return answer;
    const { cast, from_utc, next_utc }: RecordedCast = answer.value;
    parts.push({ fromMs: parseTime(from_utc) ?? fromMs, cast });
    chars += cast.length;
    from = next_utc;
  }
  return { ok: true, value: { cast: joinCasts(parts), whole: from === null } };
}
