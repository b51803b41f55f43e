import type { LedgerReader, LedgerStore, LedgerTurn } from "../../../../db/gateway/ledger-store.ts";
import type { RequestStore } from "../../../../db/gateway/request-store.ts";
import type { LedgerPage, LedgerSummary } from "../../../../protocol/ledger.ts";
import type { TokenSum } from "../../../../protocol/usage.ts";
import { afterThisTurn, type Clock, parseTimestamp, toTimestamp } from "../../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import { createLoop } from "../../../../system/lifecycle.ts";
import type { Submission } from "../../../agent/agent.ts";
import type { EventLog } from "../../../diagnostics/event-log.ts";
import { hasTokens, sumOf } from "../../../headless/turn-usage.ts";
import { keyOfText } from "../../../terminal/keys.ts";
import type { ReadTurn, TurnHead, TurnSource } from "../transcript/turn-source.ts";
import { decideWake, type GivenPrompt, toGivenPrompt, wakeOfRequest } from "./wake-reason.ts";

/** `since` and `until`: RFC 3339; another text is refused with `invalid_request`. */
interface LedgerQuery {
  since?: string;
  until?: string;
}

/**
 * The tokens of an agent's turns, each counted once, however often it is read: a turn is looked up when it
 * has ended, and at the start those that came while no gateway ran. Each turn whose count changed is an event
 * `turn_usage`. Source: decision 80.
 */
export interface Ledger {
  /** The same object while nothing changed; null until a turn with tokens was counted. */
  sum(): TokenSum | null;
  /** A prompt begins, which is remembered until its turn is counted. */
  promptBegins(submission: Pick<Submission, "prompt" | "requestId">): void;
  /**
   * Counts soon, when the tool has written its record, and once more for a tool that writes late. Nothing
   * after `stop`.
   */
  countSoon(): void;
  /** A turn has ended that no look came after. */
  counting(): boolean;
  /** Called after the first look that follows a turn. */
  onLook(listener: () => void): void;
  page(query: LedgerQuery & { limit: number; before?: number }): LedgerPage;
  summary(query: LedgerQuery): LedgerSummary;
  stop(): Promise<void>;
}

/** After the end of a turn. */
const looksMs = [500, 2500] as const;
/** Turns that are read before they are written down. */
const batchTurns = 100;
/** So many counted turns in a row: those before them are counted too. */
const knownRun = 50;
/** Requests among which the one of a turn is looked up. */
const requestsLookedAt = 100;
const maxGiven = 200;

/**
 * When turns are looked up after the end of a turn. `asked` counts the ends, `answered` is the newest of them
 * that a look began after.
 */
export interface LooksState {
  asked: number;
  answered: number;
  /** On the monotonic clock, the next one first. */
  dueAtMs: readonly number[];
  isStopped: boolean;
}

export type LooksEvent =
  | { kind: "asked"; nowMs: number }
  | { kind: "look_began" }
  /** `ask`: how often a look was asked for when this one began. */
  | { kind: "look_ended"; ask: number }
  | { kind: "stopped" };

export const initialLooks: LooksState = { asked: 0, answered: 0, dueAtMs: [], isStopped: false };

/** Pure. */
export function next(state: LooksState, event: LooksEvent): LooksState {
  switch (event.kind) {
    case "asked": {
      if (state.isStopped) return state;
      // A look reads all turns since the last one that was counted: one row of looks serves all ends.
      return { ...state, asked: state.asked + 1, dueAtMs: looksMs.map((ms) => event.nowMs + ms) };
    }
    case "look_began":
      return { ...state, dueAtMs: state.dueAtMs.slice(1) };
    case "look_ended":
      return { ...state, answered: event.ask };
    case "stopped":
      return { ...state, isStopped: true, dueAtMs: [] };
  }
}

export function createLedger(deps: {
  store: LedgerStore;
  requests: Pick<RequestStore, "get" | "list">;
  clock: Clock;
  tool: string;
  /** Where turns are counted. */
  sources: () => readonly TurnSource[];
  /** Since when an earlier version counted, of the same session; null where none did. */
  countedSinceMs: () => number | null;
  events: Pick<EventLog, "append">;
  onChange: () => void;
  onProblem: (what: string) => void;
}): Ledger {
  const { store, requests, clock } = deps;
  const beganMs = clock.nowMs();
  let given: GivenPrompt[] = [];
  /** Turns that were the newest when they were read: they may have grown since. */
  let growing: ReadonlySet<string> | null = null;
  /** Requests whose turns were found and may not be written yet. */
  const claimed = new Set<string>();
  let since: string | null = null;
  let shown: TokenSum | null | undefined;
  let looks = initialLooks;
  const listeners: (() => void)[] = [];

  const sinceUtc = () => {
    since ??= store.since() ?? store.begin(toTimestamp(deps.countedSinceMs() ?? beganMs));
    return since;
  };

  /** Counted turns that an earlier gateway may have read while they ran. */
  function leftGrowing(found: readonly Found[]): Set<string> {
    const counted = found.filter((one) => one.counted).map(({ head }) => head.turnId);
    const running = counted.filter((turnId) => store.read(turnId)?.status === "running");
    return new Set([...running, ...counted.slice(-1)]);
  }

  function beginNow(): void {
    try {
      if (!looks.isStopped) sinceUtc();
    } catch (error) {
      deps.onProblem(`the ledger is not begun: ${messageOf(error)}`);
    }
  }

  async function look(): Promise<void> {
    claimed.clear();
    const sinceMs = parseTimestamp(sinceUtc()) ?? beganMs;
    const found: Found[] = [];
    for (const source of deps.sources()) {
      const heads = (await source.heads()).filter(
        ({ startedMs }) => startedMs === null || startedMs >= sinceMs,
      );
      found.push(...newestUncounted(heads, store.has).map((one) => ({ ...one, source })));
    }
    found.sort((one, other) => (one.head.startedMs ?? 0) - (other.head.startedMs ?? 0));
    const newest = found.at(-1)?.head.turnId ?? null;
    const mayGrow = growing ?? leftGrowing(found);
    const wanted = found.filter(
      ({ head: { turnId }, counted }) => !counted || turnId === newest || mayGrow.has(turnId),
    );
    let changed = false;
    for (let at = 0; at < wanted.length; at += batchTurns) {
      const turns: LedgerTurn[] = [];
      for (const { source, head } of wanted.slice(at, at + batchTurns)) {
        const read = await source.read(head.turnId, { last: head.turnId === newest });
        const turn = read && countTurn(read, head);
        if (turn && !turns.some((one) => isCopy(one, turn))) turns.push(turn);
      }
      changed = write(turns) || changed;
    }
    growing = new Set(newest === null ? [] : [newest]);
    if (!changed) return;
    shown = undefined;
    deps.onChange();
  }

  /** Null for a turn that says nothing new. */
  function countTurn(read: ReadTurn, head: TurnHead): LedgerTurn | null {
    const known = store.read(head.turnId);
    const covered = isCovered(read);
    if (read.usage.length === 0 && read.status === "running") return null;
    const { turnId, startedMs, endedMs } = read;
    const source = read.source === "headless" && read.headless?.acp ? ("acp" as const) : read.source;
    const startedAtUtc = known?.started_at_utc ?? toTimestamp(startedMs ?? head.startedMs ?? clock.nowMs());
    const turn: LedgerTurn = {
      turn_id: turnId,
      ...(known ? { request_id: known.request_id, wake_reason: known.wake_reason } : wakeOf(read, head)),
      tool: deps.tool,
      source,
      status: read.status,
      covered,
      usage: read.usage,
      started_at_utc: startedAtUtc,
      ended_at_utc: endedMs === null ? null : toTimestamp(endedMs),
    };
    if (known) return JSON.stringify(known) === JSON.stringify(turn) ? null : turn;
    return source === "tool" && store.hasCopy(turn) ? null : turn;
  }

  function wakeOf(read: ReadTurn, head: TurnHead): Pick<LedgerTurn, "request_id" | "wake_reason"> {
    if (read.headless) {
      const { requestId } = read.headless;
      const kind = requestId === null ? null : (requests.get(requestId)?.kind ?? null);
      return { request_id: requestId, wake_reason: wakeOfRequest(requestId, kind) };
    }
    const stored = requests.list({ limit: requestsLookedAt }).flatMap((one) => toGivenPrompt(one) ?? []);
    const free = [...given, ...stored].filter(
      ({ requestId }) => requestId === null || !(claimed.has(requestId) || store.hasRequest(requestId)),
    );
    const wake = decideWake(head, free, beganMs);
    given = given.filter((one) => one !== wake.given);
    if (wake.given?.requestId != null) claimed.add(wake.given.requestId);
    return { request_id: wake.given?.requestId ?? null, wake_reason: wake.reason };
  }

  function write(turns: readonly LedgerTurn[]): boolean {
    if (turns.length === 0) return false;
    const before = turns.map(({ turn_id }) => JSON.stringify(store.read(turn_id)?.usage ?? []));
    store.record(turns);
    for (const [at, { turn_id, usage, started_at_utc }] of turns.entries()) {
      if (before[at] === JSON.stringify(usage)) continue;
      const { input_tokens, output_tokens } = sumOf(usage);
      deps.events.append("turn_usage", {
        turn_id,
        turn_started_at_utc: started_at_utc,
        input_tokens,
        output_tokens,
        usage,
      });
    }
    return true;
  }

  const loop = createLoop({
    clock,
    async turn() {
      const [dueAtMs] = looks.dueAtMs;
      if (dueAtMs === undefined) return null;
      const waitMs = dueAtMs - clock.monotonicMs();
      if (waitMs > 0) return waitMs;
      const { asked: ask } = looks;
      looks = next(looks, { kind: "look_began" });
      await look().catch((error) => deps.onProblem(`tokens are not counted: ${messageOf(error)}`));
      looks = next(looks, { kind: "look_ended", ask });
      for (const notify of listeners) notify();
      return 0;
    },
    onError: (error) => deps.onProblem(`a listener of the ledger failed: ${messageOf(error)}`),
  });

  function note({ prompt, requestId: id }: Pick<Submission, "prompt" | "requestId">, atMs: number): void {
    const requestId = id ?? null;
    const kind = requestId === null ? null : (requests.get(requestId)?.kind ?? null);
    const reason = wakeOfRequest(requestId, kind);
    given = [...given, { key: keyOfText(prompt), atMs, reason, requestId }].slice(-maxGiven);
  }

  function totalNow(): TokenSum | null {
    const { turns, ...tokens } = store.total();
    return turns === 0 ? null : { since_utc: sinceUtc(), turns, ...tokens };
  }

  return {
    sum() {
      if (shown === undefined) shown = totalNow();
      return shown;
    },
    promptBegins(submission) {
      const atMs = clock.nowMs();
      // The agent gets its text first.
      afterThisTurn(() => note(submission, atMs));
    },
    countSoon() {
      if (looks.isStopped) return;
      // A gateway that is killed before its first look has seen turns all the same.
      if (since === null) afterThisTurn(beginNow);
      looks = next(looks, { kind: "asked", nowMs: clock.monotonicMs() });
      loop.start();
      loop.wake();
    },
    counting: () => looks.answered < looks.asked,
    onLook: (listener) => void listeners.push(listener),
    ...createLedgerReader(store),
    async stop() {
      looks = next(looks, { kind: "stopped" });
      await loop.stop();
    },
  };
}

/** What the ledger has. */
export function createLedgerReader(store: LedgerReader): Pick<Ledger, "page" | "summary"> {
  return {
    page({ limit, before, ...period }) {
      const { entries, more } = store.page({
        limit,
        ...toPeriod(period),
        ...(before === undefined ? {} : { before }),
      });
      return { schema_version: 1, entries, next: more ? (entries.at(-1)?.seq ?? null) : null };
    },
    summary: (query) => ({
      schema_version: 1,
      since_utc: store.since(),
      groups: store.groups(toPeriod(query)),
    }),
  };
}

interface Found {
  source: TurnSource;
  head: TurnHead;
  counted: boolean;
}

/** The newest turns, back to where all are counted. `heads`: oldest first. Pure but for `has`. */
function newestUncounted(
  heads: readonly TurnHead[],
  has: (turnId: string) => boolean,
): Omit<Found, "source">[] {
  const found: Omit<Found, "source">[] = [];
  let run = 0;
  for (const head of heads.toReversed()) {
    const counted = has(head.turnId);
    run = counted ? run + 1 : 0;
    found.push({ head, counted });
    if (run === knownRun) break;
  }
  return found;
}

/** Tools copy a conversation that is continued, with its times. */
function isCopy(one: LedgerTurn, other: LedgerTurn): boolean {
  const isSame =
    one.source === "tool" && other.source === "tool" && one.started_at_utc === other.started_at_utc;
  return isSame && one.turn_id !== other.turn_id && JSON.stringify(one.usage) === JSON.stringify(other.usage);
}

/**
 * A tool's record of a turn that failed is complete also when it counts nothing: the model gave no answer.
 * One that was interrupted may have used tokens that codex 0.169.0 never hears of.
 */
function isCovered({ source, status, usage }: ReadTurn): boolean {
  if (usage.some(hasTokens)) return true;
  return source === "tool" && status === "failed";
}

/** Times as they are stored, so that they compare as text. */
export function toPeriod({ since, until }: LedgerQuery): LedgerQuery {
  const stored = (name: string, text: string) => {
    const atMs = parseTimestamp(text);
    if (atMs !== null) return toTimestamp(atMs);
    throw new ServiceError("invalid_request", `${name} is no time such as 2026-11-25T22:00:00Z`);
  };
  return {
    ...(since === undefined ? {} : { since: stored("since", since) }),
    ...(until === undefined ? {} : { until: stored("until", until) }),
  };
}
