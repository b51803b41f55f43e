import type { FleetEvent } from "../../protocol/coordinator.ts";
import { brief, words } from "./format.ts";

/** The events of one or all agents that this page has seen, and what follows from them. Pure. */

export interface PastEvent {
  /** Grows with each event; names the event within this page. */
  key: number;
  atMs: number;
  agentId: string | null;
  event: FleetEvent;
}

/** Older events are dropped: the page keeps a bounded history. */
export const maxPastEvents = 5_000;

/** Gateways send what they logged: an event of one agent may be older than the last one of another. */
export const addEvents = (history: readonly PastEvent[], events: readonly PastEvent[]): PastEvent[] =>
  [...history, ...events].sort((a, b) => a.atMs - b.atMs || a.key - b.key).slice(-maxPastEvents);

/** One event as the timeline shows it. */
interface Moment {
  text: string;
  /** Every fact that changed, for those who want them. */
  detail: string;
  tone: "plain" | "waits" | "broken" | "done";
}

export const toMoment = (event: FleetEvent): Moment => ({
  text: textOf(event),
  detail: event.kind === "turn_usage" ? usageInWords(event) : field(event, "summary"),
  tone: toneOf(event),
});

const broken = /failed|lost|refused|error|gap/;
const done = /completed|turn_finished|reconciled/;

function toneOf(event: FleetEvent): Moment["tone"] {
  if (broken.test(event.kind)) return "broken";
  if (event.kind === "terminal_state" && /awaiting_operator$/.test(phaseText(event))) return "waits";
  return done.test(event.kind) ? "done" : "plain";
}

const phaseText = (event: FleetEvent): string =>
  /business_state: (\w+ -> \w+)/.exec(field(event, "summary"))?.[1] ?? "";

const turns: Record<string, string> = {
  active: "a turn runs",
  unknown: "it does not say whether a turn runs",
};

/** What of a terminal a person follows, in words; the other facts are in the event. */
const facts: readonly [pattern: RegExp, words: (value: string) => string][] = [
  [/turn\.phase: \w+ -> (\w+)/, (phase) => turns[phase] ?? `turn ${phase}`],
  [
    /business_state: \w+ -> (\w+)/,
    (state) => (state === "awaiting_operator" ? "waits for a person" : words(state)),
  ],
  [/last_turn\.result: \w+ -> (\w+)/, (result) => `last turn ${words(result)}`],
  [/pending_input: \w+ -> (yes)/, () => "somebody types"],
  [
    /availability: \w+ -> (\w+)/,
    (state) => (state === "available" ? "its screen is read" : `its screen is ${words(state)}`),
  ],
  [
    /parked_until: \S+ -> (\S+)/,
    (until) => (until === "none" ? "the usage limit is over" : `usage limit until ${until}`),
  ],
];

function terminalText(summary: string): string {
  const found = facts.flatMap(([pattern, inWords]) => {
    const value = pattern.exec(summary)?.[1];
    return value === undefined ? [] : [inWords(value)];
  });
  return `terminal: ${found.length > 0 ? [...new Set(found)].join(", ") : "changed"}`;
}

/** Kinds whose own name says little to a person; the step of an evidence says it. */
const kindNames: Record<string, string> = {
  accepted: "request accepted",
  accepted_internal: "wake by mail accepted",
  executing: "request begins",
  request_evidence: "",
  control_prompt_evidence: "direct prompt",
  reminder_evidence: "reminder",
  completed: "request completed",
  failed: "request failed",
};

function textOf(event: FleetEvent): string {
  if (event.kind === "turn_usage") return `the turn used ${brief(tokensIn(event))} tokens`;
  if (event.kind === "terminal_state") return terminalText(field(event, "summary"));
  const what = kindNames[event.kind] ?? words(event.kind);
  const detail =
    field(event, "detail") ||
    field(event, "proof") ||
    field(event, "summary") ||
    field(event, "error_detail") ||
    field(event, "message");
  const step = field(event, "step");
  return [what, words(step), detail].filter((part) => part !== "").join(" · ");
}

function field(event: FleetEvent, name: string): string {
  const value = (event as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}

const numberIn = (event: FleetEvent, name: string): number => {
  const value = (event as Record<string, unknown>)[name];
  return typeof value === "number" && value >= 0 ? value : 0;
};

const tokensIn = (event: FleetEvent) => numberIn(event, "input_tokens") + numberIn(event, "output_tokens");

const usageInWords = (event: FleetEvent): string =>
  `${numberIn(event, "input_tokens")} tokens read, ${numberIn(event, "output_tokens")} written`;

/** Tokens at the moments at which they were counted. */
interface Spent {
  atMs: number;
  tokens: number;
}

/** What each turn used. A later count of the same turn adds what it has more. */
export function toSpent(events: readonly PastEvent[]): Spent[] {
  const known = new Map<string, number>();
  return events.flatMap(({ atMs, agentId, event }) => {
    if (event.kind !== "turn_usage") return [];
    const turn = `${agentId} ${field(event, "turn_id")}`;
    const more = tokensIn(event) - (known.get(turn) ?? 0);
    known.set(turn, tokensIn(event));
    return [{ atMs, tokens: more }];
  });
}

export interface Span {
  fromMs: number;
  /** Null while it goes on. */
  toMs: number | null;
  kind: "turn" | "wait";
}

/** The turns of each agent and its waits for a person, from the transitions of its terminal. */
export function toSpans(events: readonly PastEvent[]): Map<string, Span[]> {
  const spans = new Map<string, Span[]>();
  for (const { atMs, agentId, event } of events) {
    if (agentId === null) continue;
    const list = spans.get(agentId) ?? [];
    spans.set(agentId, list);
    const open = (kind: Span["kind"]) => list.find((span) => span.kind === kind && span.toMs === null);
    const change = (kind: Span["kind"], active: boolean) => {
      const current = open(kind);
      if (active && !current) list.push({ fromMs: atMs, toMs: null, kind });
      if (!active && current) current.toMs = atMs;
    };
    if (event.kind === "executing") change("turn", true);
    if (/^(?:completed|failed|turn_finished|gateway_stopped)$/.test(event.kind)) change("turn", false);
    if (event.kind !== "terminal_state") continue;
    const phase = field(event, "turn_phase");
    if (phase !== "") change("turn", phase === "active");
    const business = phaseText(event).split(" -> ")[1];
    if (business !== undefined) change("wait", business === "awaiting_operator");
  }
  return spans;
}

export interface Series {
  /** When each part begins. */
  at: number[];
  turns: number[];
  waits: number[];
  tokens: number[];
}

/**
 * What the chart draws, for each of `buckets` equal parts of a period: how many agents work and wait in it,
 * and the tokens that were counted in it. `spans`: those of each agent.
 */
export function toSeries(
  history: { spans: Iterable<readonly Span[]>; spent: readonly Spent[] },
  period: { fromMs: number; toMs: number },
  buckets: number,
): Series {
  const step = (period.toMs - period.fromMs) / buckets;
  const partOf = (atMs: number) => Math.min(buckets - 1, Math.floor((atMs - period.fromMs) / step));
  const at = Array.from({ length: buckets }, (_, index) => period.fromMs + index * step);
  const [turns, waits, tokens] = [at.map(() => 0), at.map(() => 0), at.map(() => 0)];
  for (const list of history.spans) {
    // An agent has one turn and one wait at a time, also where two of them fall into one part.
    const parts = { turn: new Set<number>(), wait: new Set<number>() };
    for (const { fromMs, toMs, kind } of list) {
      const last = partOf(toMs ?? period.toMs);
      for (let index = Math.max(0, partOf(fromMs)); index <= last; index++) parts[kind].add(index);
    }
    for (const index of parts.turn) turns[index] = (turns[index] ?? 0) + 1;
    for (const index of parts.wait) waits[index] = (waits[index] ?? 0) + 1;
  }
  for (const { atMs, tokens: spent } of history.spent) {
    const index = partOf(atMs);
    if (index >= 0) tokens[index] = (tokens[index] ?? 0) + spent;
  }
  return { at, turns, waits, tokens };
}
