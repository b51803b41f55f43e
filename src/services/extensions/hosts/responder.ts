import { Value } from "@sinclair/typebox/value";
import {
  type HostAnswer,
  HostCall,
  HostControl,
  hostOperations,
  maxPartBytes,
} from "../../../protocol/hosts.ts";
import type { Clock } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import { type HostLink, handedBack, isRead, wordsOf } from "./host-link.ts";

/** Carries out the calls of operators, on the host. */
export interface Responder {
  /** A message of an operator, checked here; anything else is counted and dropped. Never throws. */
  receive(head: unknown, body: Uint8Array): void;
  /** Counts a message that is no operator's. */
  drop(): void;
  /** How many calls are under way, and how many messages were dropped. */
  counts(): { open: number; dropped: number; calls: number };
  /** Ends every call; idempotent. */
  stop(): void;
}

/** How many parts may be under way to a reader that takes none. */
const windowParts = 16;
/** How often a call that has no answer yet shows that it is under way. */
const takenIntervalMs = 1000;
/** An operator sends something for each open call more often than this. */
const silentMs = 30_000;
const maxOpen = 256;
const maxBodyBytes = 8 * 1024 * 1024;
/** Calls of one operator that are remembered; older ones are refused. */
const maxRemembered = 2048;
const maxOperators = 1024;
/** An answer that is kept for a repeated call, and all of them. */
const keptAnswerBytes = 256 * 1024;
const keptTotalBytes = 32 * 1024 * 1024;

interface Piece {
  answer: HostAnswer;
  body: Uint8Array | null;
}

interface Entry {
  call: HostCall;
  /** Null when it is over. */
  running: Running | null;
  runs: number;
  /**
   * The answer of an operation that changes something; null while there is none or when it was too large to
   * keep.
   */
  kept: Piece[] | null;
  keptBytes: number;
}

interface Running {
  abort: AbortController;
  consumed: number;
  /** Called when the operator has taken further parts. */
  rouse: () => void;
  touch: () => void;
}

interface Window {
  entries: Map<number, Entry>;
  /** Calls up to here that are not remembered are refused. */
  forgotten: number;
}

/**
 * A call with a known number is never carried out again when it changes something: the operator that lost the
 * answer gets the first one. A call older than the remembered ones is refused, so a replayed message does
 * nothing. `send` reaches the operator that called.
 */
export function createResponder(deps: {
  clock: Clock;
  link: HostLink;
  send: (operator: string, answer: HostAnswer, body: Uint8Array | null) => void;
}): Responder {
  const { clock, link } = deps;
  const windows = new Map<string, Window>();
  const open = new Map<string, { entry: Entry; running: Running }>();
  let keptBytes = 0;
  let dropped = 0;
  let calls = 0;
  let stopped = false;

  function drop(): void {
    dropped += 1;
  }

  function windowOf(operator: string): Window {
    const window = windows.get(operator) ?? { entries: new Map<number, Entry>(), forgotten: 0 };
    windows.delete(operator);
    windows.set(operator, window);
    if (windows.size > maxOperators) {
      const [oldest] = windows.keys();
      if (oldest !== undefined) windows.delete(oldest);
    }
    return window;
  }

  function remember(window: Window, entry: Entry): void {
    window.entries.set(entry.call.seq, entry);
    for (const [seq, one] of window.entries) {
      if (window.entries.size <= maxRemembered && keptBytes <= keptTotalBytes) break;
      if (one.running) continue;
      keptBytes -= one.keptBytes;
      window.entries.delete(seq);
      window.forgotten = Math.max(window.forgotten, seq);
    }
  }

  function refuse(call: HostCall, reason: HostAnswer["reason"], detail: string, run = 0) {
    const { id, operator } = call;
    deps.send(operator, { kind: "failed", id, run, seq: 0, ...(reason ? { reason } : {}), detail }, null);
  }

  function take(call: HostCall, body: Uint8Array) {
    const endpoint = hostOperations.get(call.operation);
    if (!endpoint) return refuse(call, "unknown_operation", `this host has no operation "${call.operation}"`);
    if (body.length > maxBodyBytes)
      return refuse(call, "too_large", `the body is larger than ${maxBodyBytes} bytes`);
    const window = windowOf(call.operator);
    const known = window.entries.get(call.seq);
    if (known) return again(known, call, body, isRead(endpoint));
    if (call.seq <= window.forgotten) {
      return refuse(
        call,
        "lost",
        "this call is older than those that the host remembers; it was not repeated",
      );
    }
    if (open.size >= maxOpen)
      return refuse(call, "not_taken", `${open.size} calls are under way at this host`);
    const entry: Entry = { call, running: null, runs: 0, kept: null, keptBytes: 0 };
    calls += 1;
    void run(entry, body, isRead(endpoint));
    remember(window, entry);
  }

  /** The operator has no answer, or the message was replayed. */
  function again(entry: Entry, call: HostCall, body: Uint8Array, reads: boolean) {
    const { id, operator } = entry.call;
    if (call.id !== id || call.operation !== entry.call.operation) return drop();
    if (entry.running) {
      entry.running.touch();
      deps.send(operator, { kind: "taken", id, run: entry.runs, seq: 0 }, null);
    } else if (reads) {
      void run(entry, body, true);
    } else if (entry.kept) {
      for (const piece of entry.kept) deps.send(operator, piece.answer, piece.body);
    } else {
      refuse(call, "lost", "it was carried out; its answer was not kept", entry.runs);
    }
  }

  async function run(entry: Entry, body: Uint8Array, reads: boolean): Promise<void> {
    const { call } = entry;
    const { id, operator } = call;
    entry.runs += 1;
    const number = entry.runs;
    const abort = new AbortController();
    let cancelWatch = () => {};
    const running: Running = {
      abort,
      consumed: 0,
      rouse: () => {},
      touch() {
        cancelWatch();
        cancelWatch = clock.after(silentMs, () => abort.abort(new Error("the operator is silent")));
      },
    };
    running.touch();
    entry.running = running;
    open.set(`${operator} ${id}`, { entry, running });
    const kept: Piece[] = [];
    let size = 0;
    const give = (answer: HostAnswer, part: Uint8Array | null) => {
      if (!reads) size += (part?.length ?? 0) + 1;
      if (!reads && size <= keptAnswerBytes) kept.push({ answer, body: part });
      deps.send(operator, answer, part);
    };
    const taken = () => deps.send(operator, { kind: "taken", id, run: number, seq: 0 }, null);
    const ticking = tick(clock, takenIntervalMs, taken);
    taken();
    try {
      const response = await link.send({
        operation: call.operation,
        params: call.params,
        query: call.query,
        headers: call.headers,
        ...(call.head_only ? { method: "HEAD" as const } : {}),
        body: call.has_body ? body : null,
        signal: abort.signal,
      });
      ticking.stop();
      give({ kind: "head", id, run: number, seq: 0, status: response.status, headers: pick(response) }, null);
      const last = await giveBody(response, running, (seq, part) =>
        give({ kind: "part", id, run: number, seq }, part),
      );
      give({ kind: "end", id, run: number, seq: last + 1 }, null);
      if (!reads && size <= keptAnswerBytes) {
        entry.kept = kept;
        entry.keptBytes = size;
        keptBytes += size;
      }
    } catch (error) {
      const notDone = error instanceof ServiceError && error.reason === "unavailable";
      const detail = wordsOf(error);
      give({ kind: "failed", id, run: number, seq: 0, reason: notDone ? "not_taken" : "lost", detail }, null);
      if (!reads) entry.kept = kept;
    } finally {
      ticking.stop();
      cancelWatch();
      entry.running = null;
      open.delete(`${operator} ${id}`);
    }
  }

  return {
    drop,
    receive(head, body) {
      if (stopped) return;
      if (Value.Check(HostCall, head)) return take(head, body);
      if (!Value.Check(HostControl, head)) return drop();
      const found = open.get(`${head.operator} ${head.id}`);
      if (!found) return;
      if (head.kind === "cancel") return found.running.abort.abort(new Error("the caller has left"));
      found.running.touch();
      found.running.consumed = Math.max(found.running.consumed, head.consumed);
      found.running.rouse();
    },
    counts: () => ({ open: open.size, dropped, calls }),
    stop() {
      stopped = true;
      for (const { running } of open.values()) running.abort.abort(new Error("the host ends"));
    },
  };
}

/** Gives the body part by part as the operator takes them; resolves with the number of the last. */
async function giveBody(
  response: Response,
  running: Running,
  give: (seq: number, part: Uint8Array) => void,
): Promise<number> {
  if (response.body === null) return 0;
  const reader = response.body.getReader();
  const { signal } = running.abort;
  const leave = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  let seq = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) throw signal.reason;
      if (done) return seq;
      for (let at = 0; at < value.length; at += maxPartBytes) {
        while (seq - running.consumed >= windowParts) await nextTaken(running);
        seq += 1;
        give(seq, value.subarray(at, at + maxPartBytes));
      }
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

async function nextTaken(running: Running): Promise<void> {
  const { signal } = running.abort;
  if (signal.aborted) throw signal.reason;
  const taken = Promise.withResolvers<void>();
  running.rouse = taken.resolve;
  signal.addEventListener("abort", () => taken.resolve(), { once: true });
  await taken.promise;
  if (signal.aborted) throw signal.reason;
}

function tick(clock: Clock, everyMs: number, act: () => void): { stop(): void } {
  let cancel = () => {};
  let over = false;
  const next = () => {
    cancel = clock.after(everyMs, () => {
      if (over) return;
      act();
      next();
    });
  };
  next();
  return {
    stop() {
      over = true;
      cancel();
    },
  };
}

function pick(response: Response): Record<string, string> {
  return Object.fromEntries(
    handedBack.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}
