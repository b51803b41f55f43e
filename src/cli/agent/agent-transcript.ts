import type { TranscriptTurn } from "../../protocol/transcript.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { localDateTime } from "../../system/time-zone.ts";
import { visibleLine } from "../../system/visible.ts";
import { bodyOf } from "./target.ts";

const partBytes = 4 * 1024 * 1024;
const pageBytes = 65_536;
const callTimeoutMs = 30_000;

interface TranscriptAsked {
  limit: number;
  before?: string;
  request_id?: string;
  q?: string;
}

/**
 * One page of turns, newest first, each with the beginning of its answer. Ends the command where it is
 * refused.
 */
export async function readTranscript(client: GatewayCalls, asked: TranscriptAsked) {
  const query = { ...asked, max_bytes: pageBytes };
  return bodyOf(await client.call("transcript", { query, timeoutMs: callTimeoutMs }));
}

/** The turn with all of its answer. */
export async function withWholeAnswer(client: GatewayCalls, turn: TranscriptTurn): Promise<TranscriptTurn> {
  let { answer, answer_next: next } = turn;
  while (next !== null) {
    const params = { turn_id: turn.turn_id };
    const query = { offset: next, max_bytes: partBytes };
    const part = bodyOf(await client.call("transcriptTurn", { params, query, timeoutMs: callTimeoutMs }));
    // A turn that was cut meanwhile has nothing there.
    if (part.answer === null || part.answer === "") break;
    answer = `${answer ?? ""}${part.answer}`;
    next = part.answer_next;
  }
  const whole = next === null && turn.answer_next !== null;
  return { ...turn, answer, answer_next: next, truncated: whole ? false : turn.truncated };
}

/** Of a tool without a record: what the screen shows is kept this long after the end at the latest. */
const maxRecordingMs = 7000;
const pollIntervalMs = 100;

/**
 * The turn of a request whose end was seen, with its whole answer. A tool writes its record a moment after
 * the end, so it is looked for again for some seconds, and for `maxWritingMs` while the record has the turn
 * without its end: a busy machine delays the write of a long answer. The status of such a turn is `running`
 * also when the time is over. `turn` is null where nothing has it; `why` is then a clause for people.
 */
export async function findAnswer(
  clock: Clock,
  client: GatewayCalls,
  requestId: string,
  { maxWritingMs = maxRecordingMs }: { maxWritingMs?: number } = {},
): Promise<{ turn: TranscriptTurn; why: null } | { turn: null; why: string }> {
  const begunMs = clock.monotonicMs();
  for (;;) {
    const response = await client.call("transcript", {
      query: { limit: 1, request_id: requestId, max_bytes: pageBytes },
      timeoutMs: callTimeoutMs,
    });
    // A gateway of an earlier version has no transcript; the request is done all the same.
    if (response.kind !== "ok") return { turn: null, why: response.detail };
    const [turn] = response.body.turns;
    const limitMs = turn?.status === "running" ? maxWritingMs : maxRecordingMs;
    const over = clock.monotonicMs() - begunMs >= limitMs;
    if (turn && (turn.status !== "running" || over))
      return { turn: await withWholeAnswer(client, turn), why: null };
    if (over) return { turn: null, why: response.body.gaps.join("; ") || "no source has its text" };
    await sleep(clock, pollIntervalMs);
  }
}

/**
 * What a turn comes to for a person who waited for it: the answer as the model wrote it, or why there is
 * none. Pure.
 */
export function renderAnswer(turn: TranscriptTurn): string {
  if (turn.answer !== null && turn.answer !== "") return turn.answer;
  const why = turn.error === null ? "" : `: ${visibleLine(turn.error)}`;
  return `the turn has no answer (${turn.status}${why})`;
}

/** Where an answer is from that is not the tool's own text; null for that. Pure. */
export function sourceNote({ source, answer }: TranscriptTurn): string | null {
  if (source === "tool" || answer === null) return null;
  const from = source === "screen" ? "the screen" : "the events of the turn";
  return `this answer is read from ${from}; no record of the tool has it`;
}

/** A screen shows that a turn ended, not how. Pure. */
const statusForPeople = ({ status, source }: TranscriptTurn): string =>
  status === "unknown" && source === "screen" ? "ended" : status;

/** A turn in a log: when, who asked what, what was done, what was answered. Pure. */
export function renderTurn(turn: TranscriptTurn): string {
  const { prompt, tool_calls: calls, tool_calls_omitted: omitted } = turn;
  const source =
    turn.source === "tool" ? "" : ` · read from the ${turn.source === "screen" ? "screen" : "events"}`;
  const head = `${turn.turn_id}  ${turn.started_at_utc ? localDateTime(turn.started_at_utc) : "at an unknown time"}  ${statusForPeople(turn)}${source}`;
  const by = turn.own ? "(begun by the tool) " : "";
  const asked = `${by}${prompt ?? "(the prompt is not known)"}`.split("\n").map((line) => `> ${line}`);
  if (turn.prompt_truncated) asked.push("> …");
  const actions = calls.map(
    ({ name, input, status }) => `  · ${name} ${visibleLine(input).slice(0, 120)} (${status})`,
  );
  const more = omitted > 0 ? [`  · and ${omitted} earlier`] : [];
  const rest = turn.truncated ? ["…"] : [];
  return [head, ...asked, ...more, ...actions, renderAnswer(turn), ...rest].join("\n");
}
