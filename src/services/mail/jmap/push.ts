import { type Clock, sleep } from "../../../system/clock.ts";
import { messageOf } from "../../../system/errors.ts";
import { createLoop } from "../../../system/lifecycle.ts";
import { createEventParser } from "../../../system/server-sent-events.ts";
import type { JmapClient } from "./client.ts";
import { EmailChanges, EmailState } from "./wire.ts";

/** How often a server without an event stream is asked whether mail came. */
export const defaultPollMs = 5000;

const firstLookMs = 500;
const maxRetryMs = 60_000;
/** A server pings twice in this time; one that is silent for longer is gone. */
const silenceMs = 75_000;
/** When a server without a working stream is asked for one again. */
const streamRetryMs = 300_000;

/**
 * Calls `notify` after mail may have come: by the server's event stream where it has one, else by asking for changes every
 * `pollMs`; also whenever the server is reached again. After a failure it tries again, in growing pauses of at
 * most a minute; `onFault` gets each distinct failure once, until the server answers. Returns the function that ends it.
 */
export function watchArrivals(deps: {
  client: JmapClient;
  clock: Clock;
  pollMs: number;
  notify: () => void;
  onFault?: (why: string) => void;
}): () => void {
  const { client, clock, notify, pollMs } = deps;
  let reported: string | null = null;
  let known: string | null = null;
  let failures = 0;
  let noStreamUntilMs = 0;
  let begun = false;

  async function turn(signal: AbortSignal): Promise<number | null> {
    if (!begun) {
      begun = true;
      return firstLookMs;
    }
    try {
      const pauseMs = await look(signal);
      failures = 0;
      reported = null;
      return pauseMs;
    } catch (error) {
      report(messageOf(error));
      failures += 1;
      known = null;
      return Math.min(maxRetryMs, 1000 * 2 ** Math.min(failures - 1, 6));
    }
  }

  function report(why: string): void {
    if (why !== reported) deps.onFault?.(why);
    reported = why;
  }

  async function look(signal: AbortSignal): Promise<number> {
    if (clock.monotonicMs() >= noStreamUntilMs) {
      const followed = await follow(signal);
      if (followed || signal.aborted) return 0;
      noStreamUntilMs = clock.monotonicMs() + streamRetryMs;
    }
    if (await changed()) notify();
    return pollMs;
  }

  /** Resolves at the end of the stream with true, or with false when there is none. */
  async function follow(signal: AbortSignal): Promise<boolean> {
    const silence = new AbortController();
    const both = AbortSignal.any([signal, silence.signal]);
    const stream = await client.openEvents(["Email", "EmailDelivery"], both).catch(() => null);
    if (stream === null) return false;
    // The stream says nothing of mail that came before it.
    notify();
    let cancel = () => {};
    const heard = () => {
      cancel();
      cancel = clock.after(silenceMs, () => silence.abort());
    };
    heard();
    try {
      const parse = createEventParser();
      for await (const bytes of stream) {
        heard();
        if (parse(bytes).some(({ name }) => name === "state")) notify();
      }
    } catch (error) {
      if (!silence.signal.aborted) throw error;
    } finally {
      cancel();
    }
    await sleep(clock, 1000, signal);
    return true;
  }

  async function changed(): Promise<boolean> {
    if (known === null) {
      const answers = await client.call([["Email/get", { ids: [] }, "state"]], { safe: true });
      known = answers.of(EmailState, "Email/get", "state").state;
      return true;
    }
    const answers = await client.call([["Email/changes", { sinceState: known }, "changes"]], { safe: true });
    const { newState, created, hasMoreChanges } = answers.of(EmailChanges, "Email/changes", "changes");
    known = hasMoreChanges ? null : newState;
    return created.length > 0 || hasMoreChanges;
  }

  const loop = createLoop({ clock, turn, onError: (error) => report(messageOf(error)) });
  loop.start();
  return () => void loop.stop();
}
