import type { GatewayEvent } from "../../protocol/events.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import { createEventSource } from "./event-stream.ts";
import type { GatewayClient } from "./gateway-client.ts";

/** A gateway that was found, or why none was. */
type Reached = { state: "healthy"; client: GatewayClient } | { state: "stale" | "absent"; why: string };

export interface FollowOptions {
  clock: Clock;
  /** Called before each connection: a gateway that comes back may listen elsewhere. */
  link: () => Promise<Reached>;
  /** Position after which events are delivered; null for those from the first connection on. */
  afterSeq: number | null;
  signal: AbortSignal;
  /** Published in order, once for each event; the next event waits for its promise. */
  onEvent: (event: GatewayEvent) => void | Promise<void>;
  /**
   * Called after each connection, before its events: the time to read the state that they change. `client`
   * reaches the gateway that was found.
   */
  onConnected?: (client: GatewayClient) => void | Promise<void>;
  /** Called once when a connection is lost, or the first is not made; not again until `onConnected`. */
  onLost?: (why: string) => void | Promise<void>;
}

const firstPauseMs = 250;
const maxPauseMs = 5000;
/** A gateway sends at least a heartbeat every 15 s. */
const silentMs = 45_000;

/**
 * Follows the events of one gateway until `signal` aborts, over its restarts: events of the time in between
 * come after the next connection, as long as the gateway's log keeps them. Holds one event at a time. Rejects
 * only when a callback throws.
 */
export async function followEvents(options: FollowOptions): Promise<void> {
  const { clock, signal } = options;
  const position = { seq: options.afterSeq };
  let pauseMs = firstPauseMs;
  let isReported = false;
  while (!signal.aborted) {
    const abort = new AbortController();
    const cancelled = AbortSignal.any([signal, abort.signal]);
    try {
      const opened = await open(options, position.seq, cancelled);
      if (opened.state === "open") {
        pauseMs = firstPauseMs;
        isReported = false;
        await options.onConnected?.(opened.client);
      }
      const why =
        opened.state === "open"
          ? await pump(opened.body, { ...options, position, giveUp: () => abort.abort() })
          : opened.why;
      if (signal.aborted) return;
      if (!isReported) await options.onLost?.(why);
      isReported = true;
    } finally {
      abort.abort();
    }
    await sleep(clock, pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, maxPauseMs);
  }
}

type Opened =
  | { state: "open"; client: GatewayClient; body: ReadableStream<Uint8Array> }
  | { state: "closed"; why: string };

async function open({ link }: FollowOptions, afterSeq: number | null, signal: AbortSignal): Promise<Opened> {
  const found = await link();
  if (found.state !== "healthy") return { state: "closed", why: found.why };
  const response = await found.client.openEvents({ afterSeq, signal });
  if (response.kind !== "ok") return { state: "closed", why: response.detail };
  return { state: "open", client: found.client, body: response.body };
}

/** Reads until the stream ends or is silent for too long; resolves with why. */
async function pump(
  body: ReadableStream<Uint8Array>,
  options: FollowOptions & { position: { seq: number | null }; giveUp: () => void },
): Promise<string> {
  const { clock, position, signal } = options;
  const reader = body.getReader();
  const source = createEventSource();
  for (;;) {
    const cancelWatch = clock.after(silentMs, options.giveUp);
    let bytes: Uint8Array | undefined;
    try {
      const part = await reader.read();
      if (part.done) return "the gateway ended the stream";
      bytes = part.value;
    } catch (error) {
      return messageOf(error);
    } finally {
      cancelWatch();
    }
    for (const event of source.push(bytes)) {
      if (signal.aborted) return "stopped";
      if (position.seq !== null && event.seq <= position.seq) continue;
      await options.onEvent(event);
      position.seq = event.seq;
    }
  }
}
