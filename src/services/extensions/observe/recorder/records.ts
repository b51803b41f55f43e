import { Value } from "@sinclair/typebox/value";
import type { GatewayEvent } from "../../../../protocol/events.ts";
import {
  maxRecordedEvents,
  maxRecordedRequests,
  RecordedDecision,
  type RecordedEvent,
  type RecordedQueue,
  type RecordedRequest,
  RecordedTerminal,
} from "../../../../protocol/recorder.ts";
import { redactJson, redactText } from "./redact.ts";
import { secretHint } from "./secret-patterns.ts";

/** What is known at a moment; it follows from a checkpoint and the records after it. */
export interface Known {
  terminal: Since<RecordedTerminal> | null;
  decision: Since<RecordedDecision> | null;
  queue: RecordedQueue;
  events: readonly RecordedEvent[];
}

interface Since<T> {
  sinceMs: number;
  of: T;
}

/** One line of a segment's records, without its time. */
export type Recorded =
  /** All that is known: the first line of a segment, and again after some tens of kilobytes. */
  | { k: "checkpoint"; known: Known }
  | { k: "event"; event: GatewayEvent }
  | { k: "terminal"; terminal: RecordedTerminal }
  | { k: "decision"; decision: RecordedDecision }
  /** Nothing, or not all, was recorded from `fromMs` until this record. */
  | { k: "gap"; fromMs: number; why: string }
  /** The recorder ran, and nothing happened. */
  | { k: "alive" }
  /** The last line of a segment that was ended in order: the next one follows at once, or recording ended. */
  | { k: "end"; goesOn: boolean };

export type RecordLine = Recorded & { t: number };

export const nothingKnown: Known = {
  terminal: null,
  decision: null,
  queue: { queue_depth: 0, requests: [] },
  events: [],
};

/** A larger event is remembered by its kind alone; its own line has all of it. */
const maxRememberedEvent = 2000;

/** What is known after a record. Pure. */
export function advance(known: Known, line: RecordLine): Known {
  switch (line.k) {
    case "checkpoint":
      return line.known;
    case "event":
      return {
        ...known,
        queue: queueAfter(known.queue, line.event),
        events: [...known.events.slice(1 - maxRecordedEvents), shortened(line.event)],
      };
    case "terminal":
      return { ...known, terminal: { sinceMs: line.t, of: line.terminal } };
    case "decision":
      return { ...known, decision: { sinceMs: line.t, of: line.decision } };
    default:
      return known;
  }
}

function shortened(event: GatewayEvent): RecordedEvent {
  const { kind, at_utc } = event;
  return JSON.stringify(event).length > maxRememberedEvent ? { kind, at_utc } : event;
}

/** The requests that wait or run after an event of the gateway. Pure. */
function queueAfter(queue: RecordedQueue, happened: GatewayEvent): RecordedQueue {
  const event: Readonly<Record<string, unknown>> & Pick<GatewayEvent, "kind" | "at_utc"> = happened;
  const { kind } = event;
  const id = textOf(event["request_id"]);
  switch (kind) {
    case "accepted":
    case "accepted_internal":
      return added(queue, {
        request_id: id,
        request_kind: textOf(event["request_kind"]),
        state: "accepted",
        accepted_at_utc: textOf(event["accepted_at_utc"]) || event.at_utc,
      });
    case "executing":
      return {
        ...queue,
        requests: queue.requests.map((one) => (one.request_id === id ? { ...one, state: "running" } : one)),
      };
    case "completed":
    case "failed":
      return without(queue, [id]);
    case "coalesced":
      return without(queue, namesIn(event["coalesced_request_ids"]));
    case "reconciled":
      return without(queue, namesIn(event["failed_request_ids"]));
    default:
      return queue;
  }
}

function added(queue: RecordedQueue, request: RecordedRequest): RecordedQueue {
  const requests =
    queue.requests.length < maxRecordedRequests ? [...queue.requests, request] : queue.requests;
  return { queue_depth: queue.queue_depth + 1, requests };
}

function without(queue: RecordedQueue, ids: readonly string[]): RecordedQueue {
  if (ids.length === 0) return queue;
  const gone = new Set(ids);
  return {
    queue_depth: Math.max(0, queue.queue_depth - gone.size),
    requests: queue.requests.filter(({ request_id }) => !gone.has(request_id)),
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const namesIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

/** How each checkpoint begins, for who looks for one without reading all lines. */
export const checkpointStart = '{"k":"checkpoint","t":';

/** A line of the file with its end, all secrets in it overwritten. Pure. */
export function renderRecord({ k, t, ...fields }: RecordLine): string {
  const line = JSON.stringify({ k, t, ...fields });
  if (!secretHint.test(line)) return `${line}\n`;
  const safe = redactJson(fields, 0) as object;
  return `${JSON.stringify({ k, t, ...safe })}\n`;
}

/** Null for a line that is torn, damaged or no record. Pure. */
export function parseRecord(line: string): RecordLine | null {
  if (!line.startsWith('{"k":"')) return null;
  try {
    const value = JSON.parse(line) as RecordLine;
    return Math.abs(value.t) <= maxTimeMs && fits(value) ? value : null;
  } catch {
    return null;
  }
}

/** The last moment that a date can have, epoch milliseconds. */
const maxTimeMs = 8.64e15;

/** Whether what the readers use of a record is there. */
function fits(line: RecordLine): boolean {
  switch (line.k) {
    case "checkpoint": {
      const { terminal, decision, queue, events } = line.known;
      const known = [terminal, decision].every((one) => one === null || Math.abs(one.sinceMs) <= maxTimeMs);
      return (
        known &&
        (terminal === null || Value.Check(RecordedTerminal, terminal.of)) &&
        (decision === null || Value.Check(RecordedDecision, decision.of)) &&
        Number.isSafeInteger(queue.queue_depth) &&
        queue.requests.every(isRequest) &&
        events.every(isEvent)
      );
    }
    case "event":
      return isEvent(line.event);
    case "terminal":
      return Value.Check(RecordedTerminal, line.terminal);
    case "decision":
      return Value.Check(RecordedDecision, line.decision);
    case "gap":
      return Math.abs(line.fromMs) <= maxTimeMs && typeof line.why === "string";
    default:
      return true;
  }
}

const areTexts = (values: readonly unknown[]) => values.every((one) => typeof one === "string");
const isRequest = (one: RecordedRequest) =>
  areTexts([one.request_id, one.request_kind, one.state, one.accepted_at_utc]);
const isEvent = (one: RecordedEvent) => areTexts([one.kind, one.at_utc]);

/** One line of an asciicast: seconds since its begin, `o` output, `r` new size, `m` a mark. Pure. */
export function renderCastLine(seconds: number, code: "o" | "r" | "m", data: string): string {
  return `${JSON.stringify([Math.max(0, Math.round(seconds * 1e6) / 1e6), code, data])}\n`;
}

interface CastHeader {
  width: number;
  height: number;
  /** Of the first moment, milliseconds. */
  startMs: number;
  title: string;
}

/** The first line of an asciicast v2 file. Pure. */
export function renderCastHeader({ width, height, startMs, title }: CastHeader): string {
  const timestamp = Math.floor(startMs / 1000);
  const env = { TERM: "xterm-256color" };
  return `${JSON.stringify({ version: 2, width, height, timestamp, title: redactText(title), env })}\n`;
}
