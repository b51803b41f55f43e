import type { Evidence } from "../../../../protocol/gateway.ts";
import type { TranscriptPage, TranscriptTurn } from "../../../../protocol/transcript.ts";
import { parseTimestamp, toTimestamp } from "../../../../system/clock.ts";
import { ServiceError } from "../../../../system/errors.ts";
import { isSamePrompt, keyOfText } from "../../../terminal/keys.ts";
import type { ReadTurn, TurnHead, TurnSource } from "./turn-source.ts";

/** A part of a text by bytes of UTF-8, never half a character. */
interface TextPart {
  text: string;
  /** Of the whole text. */
  bytes: number;
  /** Byte at which the next part begins; null when nothing follows. */
  next: number | null;
}

/** At most `maxBytes` from byte `offset` on, and at least one character where there is one. Pure. */
export function cutText(text: string, offset: number, maxBytes: number): TextPart {
  const whole = Buffer.from(text);
  const start = characterStart(whole, Math.min(offset, whole.length));
  let end = characterStart(whole, Math.min(whole.length, start + maxBytes));
  // A character that is larger than the part is given whole.
  if (end === start) end = characterEnd(whole, start);
  return {
    text: whole.toString("utf8", start, end),
    bytes: whole.length,
    next: end < whole.length ? end : null,
  };
}

const isInside = (bytes: Buffer, at: number) => at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80;

function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && isInside(bytes, start)) start -= 1;
  return start;
}

function characterEnd(bytes: Buffer, at: number): number {
  let end = Math.min(bytes.length, at + 1);
  while (isInside(bytes, end)) end += 1;
  return end;
}

/** The words of a search, each once. Pure. */
function searchWords(q: string): string[] {
  return [...new Set(folded(q).split(/\s+/u))].filter((word) => word !== "");
}

const maxMatch = 300;

/**
 * The line that holds the first word when the texts together hold all words, in any case; null otherwise.
 * Pure.
 */
function matchOf(words: readonly string[], texts: readonly string[]): string | null {
  const all = texts.map(folded);
  if (!words.every((word) => all.some((text) => text.includes(word)))) return null;
  const [first = ""] = words;
  const lines = texts.flatMap((text) => text.split("\n"));
  const line = lines.find((one) => folded(one).includes(first)) ?? lines[0] ?? "";
  const from = Math.max(0, folded(line).indexOf(first) - maxMatch / 2);
  return line
    .slice(from, from + maxMatch)
    .toWellFormed()
    .trim();
}

function folded(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** A request of the queue as far as its turn is found by it. */
interface AskedRequest {
  prompt: string;
  turnId: string | null;
  /** When its execution began; null when that is not known. */
  startedMs: number | null;
  evidence: readonly Evidence[];
}

interface TranscriptQuery {
  limit: number;
  before?: string;
  request_id?: string;
  q?: string;
  max_bytes: number;
}

/**
 * What the agent was asked and what it answered, from whatever source has it. Throws ServiceError `not_found`
 * for a turn or a request that there is not.
 */
export interface Transcript {
  page(query: TranscriptQuery): Promise<TranscriptPage>;
  turn(turnId: string, part: { offset: number; max_bytes: number }): Promise<TranscriptTurn>;
}

/** A page ends when its texts are this large, and a search when it has read so much. */
const maxPageBytes = 4 * 1024 * 1024;
const maxSearchedBytes = 64 * 1024 * 1024;
const maxPromptBytes = 65_536;
/**
 * A tool's own time of a prompt, against the moment at which we typed it, where the start of the request is
 * not known.
 */
const beforeTypedMs = 2000;
const afterEndMs = 5000;

interface Found {
  head: TurnHead;
  source: TurnSource;
  /** No turn follows it. */
  last: boolean;
}

export function createTranscript(deps: {
  /** As they are known now, the oldest first. */
  sources: () => readonly TurnSource[];
  request: (requestId: string) => AskedRequest | null;
  /** How the agent ended, as a clause; null while it may run. */
  end?: () => string | null;
}): Transcript {
  async function read({ head, source, last }: Found): Promise<ReadTurn | null> {
    const end = deps.end?.() ?? null;
    const turn = await source.read(head.turnId, { last: last && end === null });
    return turn && end !== null ? withLoss(turn, end, { last }) : turn;
  }

  /** All turns, oldest first: those of one source stay in its order. */
  async function allTurns(): Promise<{ turns: Found[]; sources: readonly TurnSource[] }> {
    const sources = deps.sources();
    const turns: Found[] = [];
    for (const source of sources) {
      const heads = await source.heads();
      turns.push(...heads.map((head) => ({ head, source, last: false })));
    }
    const sorted = sortByTime(turns);
    const last = sorted.at(-1);
    if (last) last.last = true;
    return { turns: sorted, sources };
  }

  function describeGaps(sources: readonly TurnSource[]): Pick<TranscriptPage, "gaps" | "damaged_lines"> {
    return {
      gaps: sources.flatMap((source) => source.gap() ?? []),
      damaged_lines: sources.reduce((sum, source) => sum + source.damagedLines(), 0),
    };
  }

  async function pageOf(turns: readonly Found[], query: TranscriptQuery, evidence: string) {
    const words = query.q === undefined ? null : searchWords(query.q);
    const shown: TranscriptTurn[] = [];
    let bytes = 0;
    let searched = 0;
    let lastId: string | null = null;
    for (const [index, found] of turns.entries()) {
      const full = shown.length >= query.limit || bytes >= maxPageBytes || searched >= maxSearchedBytes;
      if (full) return { shown, next: lastId };
      const turn = await read(found);
      lastId = found.head.turnId;
      if (!turn) continue;
      searched += (turn.prompt?.length ?? 0) + (turn.answer?.length ?? 0);
      const match = words ? matchOf(words, [turn.prompt ?? "", turn.answer ?? ""]) : null;
      if (words && match === null) continue;
      const record = toRecord(turn, { offset: 0, max_bytes: query.max_bytes }, evidence);
      shown.push(match === null ? record : { ...record, match });
      bytes += sizeOf(record);
      if (index === turns.length - 1) break;
    }
    return { shown, next: null };
  }

  function turnsBefore(turns: readonly Found[], before: string | undefined): Found[] {
    if (before === undefined) return turns.toReversed();
    const index = turns.findIndex(({ head }) => head.turnId === before);
    if (index < 0)
      throw new ServiceError("not_found", "no turn of this transcript is `before`: begin again without it");
    return turns.slice(0, index).toReversed();
  }

  return {
    async page(query) {
      const asked = query.request_id === undefined ? null : deps.request(query.request_id);
      if (query.request_id !== undefined && asked === null) {
        throw new ServiceError("not_found", "no request of this agent has this `request_id`");
      }
      const { turns, sources } = await allTurns();
      const chosen = asked ? chooseTurn(turns, asked) : null;
      const wanted = asked ? (chosen ? [chosen.found] : []) : turnsBefore(turns, query.before);
      const { shown, next } = await pageOf(wanted, query, chosen?.evidence ?? "");
      // A turn that the screen showed has the text that was typed: with another text it is another turn.
      const fits = shown.filter(({ source }) => chosen?.evidence !== byTime || source !== "screen");
      return { schema_version: 1, turns: fits, next, ...describeGaps(sources) };
    },
    async turn(turnId, part) {
      const { turns, sources } = await allTurns();
      const found = turns.find(({ head }) => head.turnId === turnId);
      const turn = found && (await read(found));
      if (turn) return toRecord(turn, part, "");
      const [gap] = describeGaps(sources).gaps;
      throw new ServiceError("not_found", `no turn ${turnId}${gap === undefined ? "" : `; ${gap}`}`);
    },
  };
}

/**
 * A turn that runs no more because its agent ended. The record of a tool says how each turn ended, a screen
 * never does. Pure.
 */
function withLoss(turn: ReadTurn, how: string, { last }: { last: boolean }): ReadTurn {
  const isCut = turn.status === "running" || (last && turn.source === "tool" && turn.status === "unknown");
  if (!isCut) return turn;
  const error = turn.error ?? `the agent ended before this turn did: ${how}`;
  return { ...turn, status: "interrupted", error };
}

function sizeOf({ answer, prompt }: TranscriptTurn): number {
  return Buffer.byteLength(answer ?? "") + Buffer.byteLength(prompt ?? "");
}

/** By the time of the turn; one without a time stays behind the one before it. Stable. */
function sortByTime(turns: Found[]): Found[] {
  let latest = Number.NEGATIVE_INFINITY;
  let source: TurnSource | null = null;
  const timed = turns.map((turn) => {
    if (turn.source !== source) latest = Number.NEGATIVE_INFINITY;
    source = turn.source;
    latest = Math.max(latest, turn.head.startedMs ?? latest);
    return { turn, atMs: latest };
  });
  return timed.sort((left, right) => left.atMs - right.atMs || 0).map(({ turn }) => turn);
}

const byTime = "; found by the time of the prompt";

/**
 * The turn of a request: the headless turn that it names, else the first turn of its text since the request
 * began, else the only one that began while it ran. An earlier turn is never taken: a tool writes its record
 * a moment after the turn's end, and until then the turn before is the newest. Pure.
 */
function chooseTurn(turns: readonly Found[], asked: AskedRequest): { found: Found; evidence: string } | null {
  const named = turns.find(({ head }) => head.turnId === asked.turnId);
  if (named) return { found: named, evidence: "" };
  const at = (step: Evidence["step"]) => {
    const found = asked.evidence.find((one) => one.step === step);
    return found ? parseTimestamp(found.at_utc) : null;
  };
  const typedMs = at("typed") ?? at("submitted");
  if (typedMs === null) return null;
  const beginMs = asked.startedMs ?? typedMs - beforeTypedMs;
  const endMs = (at("turn_ended") ?? Number.POSITIVE_INFINITY) + afterEndMs;
  const within = turns.filter(
    ({ head: { startedMs, own } }) =>
      startedMs !== null && startedMs >= beginMs && startedMs <= endMs && own !== true,
  );
  const key = keyOfText(asked.prompt);
  const same = within.find(({ head }) => isSamePrompt(head.promptKey, key));
  if (same) return { found: same, evidence: "; found by the text of the prompt" };
  const [only] = within;
  return only && within.length === 1 ? { found: only, evidence: byTime } : null;
}

/** A stored request as far as its turn is found by it; null where there is none. Pure. */
export function toAskedRequest(
  stored: {
    payload: Readonly<Record<string, unknown>>;
    result: unknown;
    startedAtUtc: string | null;
    evidence: readonly Evidence[];
  } | null,
): AskedRequest | null {
  if (stored === null) return null;
  const { prompt, turn_id: asked } = stored.payload;
  const begun = (stored.result as { turn_id?: unknown } | null)?.turn_id;
  const turnId = typeof begun === "string" ? begun : typeof asked === "string" ? asked : null;
  return {
    prompt: typeof prompt === "string" ? prompt : "",
    turnId,
    startedMs: stored.startedAtUtc === null ? null : parseTimestamp(stored.startedAtUtc),
    evidence: stored.evidence,
  };
}

function toRecord(
  turn: ReadTurn,
  part: { offset: number; max_bytes: number },
  evidence: string,
): TranscriptTurn {
  const prompt = turn.prompt === null || turn.prompt === "" ? null : cutText(turn.prompt, 0, maxPromptBytes);
  const answer = turn.answer === null ? null : cutText(turn.answer, part.offset, part.max_bytes);
  const time = (atMs: number | null) => (atMs === null ? null : toTimestamp(atMs));
  return {
    turn_id: turn.turnId,
    source: turn.source,
    evidence: `${turn.evidence}${evidence}${turn.cut ? "; not all of it could be read" : ""}`,
    conversation_id: turn.conversationId,
    status: turn.status,
    prompt: prompt?.text ?? null,
    prompt_truncated: prompt !== null && prompt.next !== null,
    ...(turn.own ? { own: true } : {}),
    answer: answer?.text ?? null,
    answer_bytes: answer?.bytes ?? 0,
    truncated: turn.cut || (answer !== null && (answer.next !== null || part.offset > 0)),
    answer_next: answer?.next ?? null,
    remarks: turn.remarks,
    tool_calls: turn.toolCalls,
    tool_calls_omitted: turn.toolCallsOmitted,
    error: turn.error,
    ...(turn.usage.length === 0 ? {} : { usage: turn.usage }),
    started_at_utc: time(turn.startedMs),
    ended_at_utc: time(turn.endedMs),
  };
}
