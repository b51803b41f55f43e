import type { ToolReport } from "../../../protocol/tool-report.ts";
import { isSamePrompt, keyOfReport, type PromptKey } from "../keys.ts";

/** A prompt that we typed, until its turn is over. */
interface TypedPrompt {
  key: PromptKey;
  /** Wall clock right before the first byte; an earlier report is not about it. */
  wallMs: number;
  /** One of the tool's own commands, which may begin a new session. */
  command: boolean;
  /** It was submitted, as far as the screen or the tool says. */
  noted: boolean;
  /** The tool reported that it took exactly this text. */
  taken: boolean;
  /** The tool reported another prompt meanwhile: somebody else submitted one. */
  otherTaken: boolean;
  /** Text of that prompt; null when its report was cut. */
  otherText: string | null;
}

export interface ReportedEnd {
  result: "ended" | "failed";
  /** Wall clock of the tool's hook. */
  wallMs: number;
  /** When it reached us, monotonic. */
  reachedMs: number;
}

/** The newest turn that the tool reported. */
interface ReportedTurn {
  turnId: string | null;
  key: PromptKey | null;
  end: ReportedEnd | null;
}

/** A question that the tool reported and that nothing after it answered. */
interface ReportedQuestion {
  message: string | null;
  action: string | null;
  turnId: string | null;
  wallMs: number;
}

/** What all reports so far come to. Text of prompts is not kept, but of one taken beside a typed one. */
export interface ReportedTurns {
  /** Wall clock of the first moment: an end from before it ends nothing now. */
  sinceMs: number;
  /** The tool's id of the conversation in the pane; null until a report binds it. */
  sessionId: string | null;
  /** That conversation has ended; the next one that reports takes its place. */
  sessionOver: boolean;
  typed: TypedPrompt | null;
  newest: ReportedTurn | null;
  /** Older prompts without a reported end: an end without an id may be theirs. Oldest first. */
  outstanding: readonly { key: PromptKey | null; turnId: string | null; asideMs: number }[];
  /** Ends whose beginning has not been reported, by turn. */
  earlyEnds: readonly { turnId: string; end: ReportedEnd }[];
  closedTurnIds: readonly string[];
  reportIds: readonly string[];
  question: ReportedQuestion | null;
  /**
   * What the tool said at the end of its newest turn to go on beside it; null when it was nothing.
   * `reachedMs`: monotonic.
   */
  background: { work: readonly string[]; reachedMs: number } | null;
  received: number;
  last: { kind: ToolReport["kind"]; wallMs: number } | null;
  /** Reports that were not believed, newest last, for people. */
  doubts: readonly { wallMs: number; doubt: string }[];
}

export const noReports = (sinceMs: number): ReportedTurns => ({
  sinceMs,
  sessionId: null,
  sessionOver: false,
  typed: null,
  newest: null,
  outstanding: [],
  earlyEnds: [],
  closedTurnIds: [],
  reportIds: [],
  question: null,
  background: null,
  received: 0,
  last: null,
  doubts: [],
});

const maxRemembered = 64;
const maxDoubts = 8;

const append = <T>(list: readonly T[], item: T, max = maxRemembered): T[] => [...list, item].slice(-max);

/** A hook that runs so long after its turn is another turn's. */
const reportedWithinMs = 10_000;
/** A caller notes a prompt at most so long after it was typed. */
const notedWithinMs = 30_000;

/** We are about to type a prompt: the turn before it is not the newest any more. Pure. */
export function typedPrompt(
  turns: ReportedTurns,
  prompt: { key: PromptKey; command: boolean; wallMs: number },
): ReportedTurns {
  const wallMs = Math.floor(prompt.wallMs);
  const typed: TypedPrompt = {
    ...prompt,
    wallMs,
    noted: false,
    taken: false,
    otherTaken: false,
    otherText: null,
  };
  return { ...setAside(turns, wallMs), typed };
}

/**
 * The typed prompt was submitted. `noted`: a prompt that a caller noted and the gateway did not type. Pure.
 */
export function promptSubmitted(
  turns: ReportedTurns,
  noted: { key: PromptKey; command: boolean; wallMs: number } | null,
): ReportedTurns {
  if (noted === null) return turns.typed ? { ...turns, typed: { ...turns.typed, noted: true } } : turns;
  const known =
    turns.newest !== null && turns.newest.end === null && isSamePrompt(turns.newest.key, noted.key);
  return known
    ? turns
    : promptSubmitted(typedPrompt(turns, { ...noted, wallMs: noted.wallMs - notedWithinMs }), null);
}

/** The newest turn is over; where the screen alone said so, its end may still be reported. Pure. */
export function turnOver(turns: ReportedTurns, wallMs: number): ReportedTurns {
  const { typed, newest } = turns;
  if ((typed === null && newest === null) || typed?.noted === false) return turns;
  return setAside(turns, wallMs);
}

/** The screen contradicted the reported end of the newest turn for too long: it decides alone. Pure. */
export function endGivenUp(turns: ReportedTurns, because: string, wallMs: number): ReportedTurns {
  const doubts = append(
    turns.doubts,
    { wallMs, doubt: `the reported end was not followed: ${because}` },
    maxDoubts,
  );
  return { ...turnOver(turns, wallMs), doubts };
}

/** Nothing on the screen followed the reported beginning of the newest turn for too long. Pure. */
export function beginGivenUp(turns: ReportedTurns, wallMs: number): ReportedTurns {
  const doubts = append(
    turns.doubts,
    { wallMs, doubt: "the reported beginning was not followed by work on the screen" },
    maxDoubts,
  );
  return { ...turnOver(turns, wallMs), doubts };
}

/**
 * The reported end of the newest turn; null while a submitted prompt waits for the report that it was taken.
 * Pure.
 */
export function endOfNewest({ typed, newest }: ReportedTurns): ReportedEnd | null {
  return typed === null || (typed.noted && typed.taken) ? (newest?.end ?? null) : null;
}

/** The tool reported that its newest turn began, and not that it ended. Pure. */
export function runsByReport(turns: ReportedTurns): boolean {
  return turns.newest !== null && endOfNewest(turns) === null;
}

/** What was typed and never submitted, as far as is known, has no turn. */
function setAside(turns: ReportedTurns, asideMs: number): ReportedTurns {
  const { typed, newest, outstanding } = turns;
  let aside = outstanding;
  if (newest && newest.end === null)
    aside = append(aside, { key: newest.key, turnId: newest.turnId, asideMs });
  // A tool may report no beginning, and what we typed may have run all the same.
  if (typed?.noted && !typed.taken && !typed.command)
    aside = append(aside, { key: typed.key, turnId: null, asideMs });
  return { ...turns, typed: null, newest: null, outstanding: aside };
}

/**
 * Takes one report in. `turnRuns`: the screen or a submitted prompt says that a turn runs. What a report is
 * about is decided by the first that holds:
 * 1. an `id` that was seen: nothing, it came twice;
 * 2. the begin of a session: it is the agent's when none is known, the known one is over, or no turn runs; in
 *   the middle
 *    of a turn it is another program's (an agent that the agent started);
 * 3. exactly the text that we typed, not before we typed it: our turn, and its session is the agent's;
 * 4. another session than the agent's: not believed;
 * 5. a turn with an id: that turn alone, also when its end comes before its beginning;
 * 6. a prompt's text without an id: the oldest prompt of that text whose end is not known;
 * 7. neither: the newest turn, unless an older one still waits for its end.
 * Pure.
 */
export function takeReport(
  turns: ReportedTurns,
  report: ToolReport,
  { reachedMs, turnRuns }: { reachedMs: number; turnRuns: boolean },
): ReportedTurns {
  if (turns.reportIds.includes(report.id)) return turns;
  const counted: ReportedTurns = {
    ...turns,
    reportIds: append(turns.reportIds, report.id, 4 * maxRemembered),
    received: turns.received + 1,
    last: { kind: report.kind, wallMs: report.at_ms },
  };
  if (report.kind === "session_started") return beginSession(counted, report, turnRuns);
  const ours = isOurs(counted, report);
  const bound = counted.sessionId;
  const foreign = bound !== null && report.session_id !== null && report.session_id !== bound;
  const follows = counted.sessionOver && report.kind === "prompt_submitted";
  if (foreign && !ours && !follows) return doubt(counted, report, "another session's");
  const own = ours || bound === null || follows ? bind(counted, report, ours) : counted;
  switch (report.kind) {
    case "prompt_submitted":
      return withoutPast(beginTurn(own, report, ours));
    case "own_turn_started":
      return withoutPast(beginTurn(own, report, false));
    case "turn_ended":
    case "turn_failed": {
      const work = report.background ?? [];
      const background = work.length === 0 ? null : { work, reachedMs };
      return { ...withoutPast(endTurn(own, report, { reachedMs, ours })), background };
    }
    case "question_asked":
      return { ...own, question: questionOf(report) };
    case "tool_started":
      return reopen(answered(own, report), report);
    case "tool_finished":
      return answered(own, report);
    case "session_ended":
      return { ...own, sessionOver: own.sessionId !== null, question: null };
  }
}

/** What ended before this gateway began to look is over, and the screen says what is now. */
function withoutPast(turns: ReportedTurns): ReportedTurns {
  const ended = turns.newest?.end;
  return ended && ended.wallMs < turns.sinceMs ? { ...turns, newest: null } : turns;
}

function beginSession(turns: ReportedTurns, report: ToolReport, turnRuns: boolean): ReportedTurns {
  const id = report.session_id;
  if (id === null || (id === turns.sessionId && !turns.sessionOver)) return turns;
  const inTurn = turnRuns && turns.typed?.command !== true;
  if (turns.sessionId !== null && !turns.sessionOver && inTurn) {
    return doubt(turns, report, "a session that began in the middle of a turn");
  }
  return { ...turns, sessionId: id, sessionOver: false, question: null };
}

/** A prompt of somebody else's session binds nothing: codex reports its own title turn first. */
function bind(turns: ReportedTurns, report: ToolReport, ours: boolean): ReportedTurns {
  const begins = ours || report.kind === "prompt_submitted" || report.kind === "own_turn_started";
  if (report.session_id === null || !begins) return turns;
  return { ...turns, sessionId: report.session_id, sessionOver: false };
}

/** Whether the report names exactly the text that we typed and that is not known to be taken. */
function isOurs({ typed, outstanding }: ReportedTurns, report: ToolReport): boolean {
  const key = keyOfReport(report);
  if (!typed || typed.taken || report.at_ms < typed.wallMs || !isSamePrompt(key, typed.key)) return false;
  if (report.kind === "prompt_submitted") return true;
  const older = outstanding.some((one) => isSamePrompt(one.key, key));
  return (report.kind === "turn_ended" || report.kind === "turn_failed") && !older;
}

function beginTurn(turns: ReportedTurns, report: ToolReport, ours: boolean): ReportedTurns {
  const { typed, newest } = turns;
  const turnId = report.turn_id;
  const key = keyOfReport(report);
  if (turnId !== null && turns.closedTurnIds.includes(turnId)) return turns;
  const again = newest !== null && newest.turnId === turnId && isSamePrompt(newest.key, key);
  if (again) return turns;
  const isOwn = report.kind === "own_turn_started";
  if (typed && !ours && !isOwn && report.at_ms < typed.wallMs)
    return doubt(turns, report, "older than the typed prompt");
  const early = turns.earlyEnds.find((one) => one.turnId === turnId)?.end ?? null;
  const former = newest?.end === null ? [{ ...newest, asideMs: report.at_ms }] : [];
  const began: ReportedTurns = {
    ...turns,
    outstanding: [...turns.outstanding, ...former].slice(-maxRemembered),
    newest: { turnId, key, end: early },
    closedTurnIds: early && turnId !== null ? append(turns.closedTurnIds, turnId) : turns.closedTurnIds,
    question: isAskedIn(turns, { turnId, ours }) ? turns.question : null,
  };
  // A turn of the tool's own says nothing of what we typed: the tool holds that behind it.
  if (!typed || typed.taken || isOwn) return began;
  if (ours) return { ...began, typed: { ...typed, taken: true } };
  return doubt(
    { ...began, typed: { ...typed, otherTaken: true, otherText: report.prompt } },
    report,
    "another text than the typed one",
  );
}

/**
 * Whether the question is of the turn whose begin is reported after it: by its id, or since its text was
 * typed before.
 */
function isAskedIn(
  { question, typed }: ReportedTurns,
  begun: { turnId: string | null; ours: boolean },
): boolean {
  if (question === null) return false;
  if (begun.turnId !== null) return begun.turnId === question.turnId;
  return begun.ours && typed !== null && typed.wallMs <= question.wallMs;
}

function endTurn(
  turns: ReportedTurns,
  report: ToolReport,
  { reachedMs, ours }: { reachedMs: number; ours: boolean },
): ReportedTurns {
  const { newest, typed } = turns;
  const turnId = report.turn_id;
  const key = keyOfReport(report);
  const result = report.kind === "turn_failed" ? "failed" : "ended";
  const end: ReportedEnd = { result, wallMs: report.at_ms, reachedMs };
  const closed = (of: ReportedTurns): ReportedTurns => ({
    ...of,
    question: null,
    closedTurnIds: turnId === null ? of.closedTurnIds : append(of.closedTurnIds, turnId),
  });
  if (turnId !== null && turns.closedTurnIds.includes(turnId)) return turns;
  if (ours && typed) {
    return closed({ ...turns, newest: { turnId, key, end }, typed: { ...typed, taken: true } });
  }
  if (turnId !== null && newest?.turnId === turnId) return closed({ ...turns, newest: { ...newest, end } });
  const waiting = outstandingOf(turns, { turnId, key, wallMs: report.at_ms });
  if (waiting) return closed({ ...turns, outstanding: turns.outstanding.filter((one) => one !== waiting) });
  if (turnId !== null && (newest === null || newest.turnId !== null) && key === null) {
    const earlyEnds = append(turns.earlyEnds, { turnId, end });
    return doubt({ ...turns, earlyEnds }, report, "the end of a turn whose beginning was not reported");
  }
  const open = newest?.end === null ? newest : null;
  if (
    open &&
    (key === null || isSamePrompt(key, open.key)) &&
    (typed === null || report.at_ms >= typed.wallMs)
  ) {
    return closed({ ...turns, newest: { ...open, end } });
  }
  // A turn that a person typed, of a tool that reports ends alone.
  const theirs = typed === null && open === null && key !== null && report.session_id === turns.sessionId;
  if (theirs && turns.sessionId !== null) return closed({ ...turns, newest: { turnId, key, end } });
  return doubt(turns, report, "the end of a turn that is not the newest");
}

/**
 * The older prompt that an end is about: by its id, by its text, or the oldest recent one when the end has
 * neither.
 */
function outstandingOf(
  { outstanding }: ReportedTurns,
  end: { turnId: string | null; key: PromptKey | null; wallMs: number },
) {
  const { turnId, key } = end;
  const byId = turnId === null ? undefined : outstanding.find((one) => one.turnId === turnId);
  if (byId) return byId;
  const unnamed = outstanding.filter((one) => one.turnId === null || turnId === null);
  if (key !== null) return unnamed.find((one) => isSamePrompt(one.key, key));
  return turnId === null ? unnamed.find((one) => end.wallMs - one.asideMs < reportedWithinMs) : undefined;
}

function questionOf({ message, action, turn_id, at_ms }: ToolReport): ReportedQuestion {
  return { message, action, turnId: turn_id, wallMs: at_ms };
}

/**
 * An action that begins or ends after a question answers it. Hooks run at once, in any order: that of the
 * very action that is asked about may run after the one of its question.
 */
function answered(turns: ReportedTurns, report: ToolReport): ReportedTurns {
  const { question } = turns;
  if (question === null || report.at_ms <= question.wallMs) return turns;
  const sinceMs = report.at_ms - question.wallMs;
  const asksFor =
    report.kind === "tool_started" && report.action === question.action && sinceMs < reportedWithinMs;
  return asksFor ? turns : { ...turns, question: null };
}

/** A turn that goes on after its end was reported: somebody's own hook keeps the tool from stopping. */
function reopen(turns: ReportedTurns, report: ToolReport): ReportedTurns {
  const { newest } = turns;
  const goesOn = newest?.end != null && report.turn_id === newest.turnId && report.at_ms > newest.end.wallMs;
  if (!goesOn || newest === null) return turns;
  const closedTurnIds = turns.closedTurnIds.filter((id) => id !== newest.turnId);
  return doubt(
    { ...turns, closedTurnIds, newest: { ...newest, end: null } },
    report,
    "work after the reported end",
  );
}

/** Adds a line for people; `why` says what the report is. */
function doubt(turns: ReportedTurns, report: ToolReport, why: string): ReportedTurns {
  const text = `${report.kind}: ${why}`;
  return { ...turns, doubts: append(turns.doubts, { wallMs: report.at_ms, doubt: text }, maxDoubts) };
}
