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
import { type HostLink, handedBack, wordsOf } from "./host-link.ts";

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
interface Running {
  /** Which execution it is of all. */
  run: number;
  abort: AbortController;
  consumed: number;
  /** Called when the operator has taken further parts. */
  rouse: () => void;
  touch: () => void;
}

/**
 * A call that comes again while it is under way is carried out once. One that has ended is carried out again:
 * gateways keep the keys of what acts, and what keeps no key is harmless to repeat (decision 139). `send`
 * reaches the operator that called.
 */
export function createResponder(deps: {
  clock: Clock;
  link: HostLink;
  send: (operator: string, answer: HostAnswer, body: Uint8Array | null) => void;
}): Responder {
  const { clock, link } = deps;
  const open = new Map<string, Running>();
  let dropped = 0;
  let calls = 0;
  let stopped = false;

  const nameOf = ({ operator, id }: Pick<HostCall, "operator" | "id">) => `${operator} ${id}`;

  function drop(): void {
    dropped += 1;
  }

  function take(call: HostCall, body: Uint8Array) {
    const { id, operator } = call;
    const answer = (kind: "taken" | "failed", run: number, more: Partial<HostAnswer> = {}) =>
      deps.send(operator, { kind, id, run, seq: 0, ...more }, null);
    const running = open.get(nameOf(call));
    if (running) {
      running.touch();
      return answer("taken", running.run);
    }
    if (!hostOperations.has(call.operation)) {
      const detail = `this host has no operation "${call.operation}"`;
      return answer("failed", 0, { reason: "unknown_operation", detail });
    }
    if (body.length > maxBodyBytes) {
      const detail = `the body is larger than ${maxBodyBytes} bytes`;
      return answer("failed", 0, { reason: "too_large", detail });
    }
    if (open.size >= maxOpen) {
      const detail = `${open.size} calls are under way at this host`;
      return answer("failed", 0, { reason: "not_taken", detail });
    }
    void carryOut(call, body);
  }

  async function carryOut(call: HostCall, body: Uint8Array): Promise<void> {
    const { id, operator } = call;
    calls += 1;
    const run = calls;
    const abort = new AbortController();
    let cancelWatch = () => {};
    const running: Running = {
      run,
      abort,
      consumed: 0,
      rouse: () => {},
      touch() {
        cancelWatch();
        cancelWatch = clock.after(silentMs, () => abort.abort(new Error("the operator is silent")));
      },
    };
    running.touch();
    open.set(nameOf(call), running);
    const give = (kind: HostAnswer["kind"], seq: number, more: Partial<HostAnswer> = {}) =>
      deps.send(operator, { kind, id, run, seq, ...more }, null);
    const ticking = tick(clock, takenIntervalMs, () => give("taken", 0));
    give("taken", 0);
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
      give("head", 0, { status: response.status, headers: pick(response) });
      const last = await giveBody(response, running, (seq, part) =>
        deps.send(operator, { kind: "part", id, run, seq }, part),
      );
      give("end", last + 1);
    } catch (error) {
      const notDone = error instanceof ServiceError && error.reason === "unavailable";
      give("failed", 0, { reason: notDone ? "not_taken" : "lost", detail: wordsOf(error) });
    } finally {
      ticking.stop();
      cancelWatch();
      open.delete(nameOf(call));
    }
  }

  return {
    drop,
    receive(head, body) {
      if (stopped) return;
      if (Value.Check(HostCall, head)) return take(head, body);
      if (!Value.Check(HostControl, head)) return drop();
      const running = open.get(nameOf(head));
      if (!running) return;
      if (head.kind === "cancel") return running.abort.abort(new Error("the caller has left"));
      running.touch();
      running.consumed = Math.max(running.consumed, head.consumed);
      running.rouse();
    },
    counts: () => ({ open: open.size, dropped, calls }),
    stop() {
      stopped = true;
      for (const { abort } of open.values()) abort.abort(new Error("the host ends"));
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
