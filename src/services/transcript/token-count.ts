import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { parseJson, renderJson } from "../../protocol/json.ts";
import { type TokenSum, Tokens } from "../../protocol/usage.ts";
import { type Clock, sleep, toTimestamp } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import { transcriptPaths } from "./conversations.ts";
import type { ReadTurn, TurnHead, TurnSource } from "./turn-source.ts";
import { addTokens, noTokens } from "./turn-usage.ts";

/** tokens.json: what was counted, and the newest turn, which may still grow. */
const CountedTokens = Type.Object({
  schema_version: Type.Literal(1),
  since_ms: Type.Number(),
  /** Of the turns before the newest. */
  turns: Type.Integer({ minimum: 0 }),
  tokens: Tokens,
  newest: Type.Union([
    Type.Object({ turn_id: Type.String(), started_ms: Type.Number(), tokens: Tokens }),
    Type.Null(),
  ]),
});
type CountedTokens = Static<typeof CountedTokens>;

/**
 * The tokens of an agent's turns as a running sum: the gateway adds a turn when it ends, so that a client that shows it
 * reads no transcript. Each turn whose count changed is an event `turn_usage`.
 */
export interface TokenCount {
  /** The same object while nothing changed; null until a turn was counted. */
  sum(): TokenSum | null;
  /**
   * Counts soon, when the tool has written its record, and once more for a tool that writes late: at the end of a turn, and
   * at the start for the turns that came while no gateway ran. Nothing after `stop`.
   */
  countSoon(): void;
  stop(): Promise<void>;
}

/** After the end of a turn. */
const looksMs = [500, 2500] as const;
/** Turns that are read at one look; of more that came unseen, the newest. */
const maxTurnsRead = 200;

export function createTokenCount(deps: {
  files: Files;
  clock: Clock;
  sessionRoot: string;
  /** The records of the tool. */
  sources: () => readonly TurnSource[];
  events: Pick<EventLog, "append">;
  onChange: () => void;
  onProblem: (what: string) => void;
}): TokenCount {
  const { files, clock } = deps;
  const folder = transcriptPaths(deps.sessionRoot).root;
  const path = join(folder, "tokens.json");
  const beganMs = clock.nowMs();
  let counted: CountedTokens | null = null;
  let shown: { of: CountedTokens; sum: TokenSum | null } | null = null;
  let stopping: AbortController | null = null;
  let counting: Promise<void> = Promise.resolve();
  let stopped = false;

  function load(): CountedTokens {
    counted ??= readCounted();
    return counted;
  }

  function readCounted(): CountedTokens {
    const text = files.readOwn(path);
    const kept = text === null ? null : parseJson(CountedTokens, text);
    if (text !== null && kept === null)
      deps.onProblem("tokens.json is damaged: tokens are counted from now on");
    // Turns from before the session's first gateway are no work of this agent.
    return kept ?? { schema_version: 1, since_ms: beganMs, turns: 0, tokens: noTokens, newest: null };
  }

  function save(next: CountedTokens): void {
    files.ensureDirectory("file:transcript-folder", folder);
    files.write("file:transcript-tokens", path, renderJson(next), { durable: false });
    counted = next;
  }

  async function look(): Promise<void> {
    const turns = await turnsSince(deps.sources(), isNew);
    const { next, changed } = addTurns(load(), turns);
    if (changed.length === 0) return;
    save(next);
    for (const { turnId, usage, startedMs: at } of changed) {
      const { input_tokens, output_tokens } = tokensOf(usage);
      deps.events.append("turn_usage", {
        turn_id: turnId,
        turn_started_at_utc: at === null ? null : toTimestamp(at),
        ...{ input_tokens, output_tokens, usage },
      });
    }
    deps.onChange();
  }

  /** A turn that was not counted, or the newest one that was. */
  function isNew({ turnId, startedMs }: TurnHead): boolean {
    const { newest, since_ms } = load();
    if (turnId === newest?.turn_id) return true;
    return startedMs !== null && (newest === null ? startedMs >= since_ms : startedMs > newest.started_ms);
  }

  async function lookLater(signal: AbortSignal): Promise<void> {
    let waitedMs = 0;
    for (const atMs of looksMs) {
      await sleep(clock, atMs - waitedMs, signal);
      if (signal.aborted) return;
      waitedMs = atMs;
      await look().catch((error) => deps.onProblem(`tokens are not counted: ${messageOf(error)}`));
    }
  }

  return {
    sum() {
      const now = load();
      if (shown?.of !== now) shown = { of: now, sum: toSum(now) };
      return shown.sum;
    },
    countSoon() {
      if (stopped) return;
      // A look reads all turns since the last one that was counted.
      stopping?.abort();
      stopping = new AbortController();
      const { signal } = stopping;
      counting = counting.then(() => lookLater(signal));
    },
    async stop() {
      stopped = true;
      stopping?.abort();
      await counting;
    },
  };
}

/** `turns`, oldest first, added to what was counted; `changed`: those whose count is new. Pure. */
function addTurns(
  counted: CountedTokens,
  turns: readonly ReadTurn[],
): { next: CountedTokens; changed: ReadTurn[] } {
  let next = counted;
  const changed: ReadTurn[] = [];
  for (const turn of turns) {
    if (turn.usage.length === 0) continue;
    const { newest } = next;
    const tokens = tokensOf(turn.usage);
    const isSame = newest?.turn_id === turn.turnId;
    if (isSame && JSON.stringify(newest.tokens) === JSON.stringify(tokens)) continue;
    const former =
      isSame || newest === null
        ? {}
        : { turns: next.turns + 1, tokens: addTokens(next.tokens, newest.tokens) };
    next = {
      ...{ ...next, ...former },
      newest: { turn_id: turn.turnId, started_ms: turn.startedMs ?? 0, tokens },
    };
    changed.push(turn);
  }
  return { next, changed };
}

function toSum({ since_ms, turns, tokens, newest }: CountedTokens): TokenSum | null {
  if (newest === null) return null;
  return { since_utc: toTimestamp(since_ms), turns: turns + 1, ...addTokens(tokens, newest.tokens) };
}

const tokensOf = (usage: ReadTurn["usage"]): Tokens =>
  usage.reduce<Tokens>((sum, one) => addTokens(sum, one), noTokens);

/** Oldest first. */
async function turnsSince(
  sources: readonly TurnSource[],
  isNew: (head: TurnHead) => boolean,
): Promise<ReadTurn[]> {
  const found: { source: TurnSource; head: TurnHead }[] = [];
  for (const source of sources)
    found.push(...(await source.heads()).filter(isNew).map((head) => ({ source, head })));
  const wanted = found.sort((one, other) => (one.head.startedMs ?? 0) - (other.head.startedMs ?? 0));
  const turns: ReadTurn[] = [];
  for (const { source, head } of wanted.slice(-maxTurnsRead)) {
    const turn = await source.read(head.turnId, { last: true });
    if (turn) turns.push(turn);
  }
  return turns;
}
