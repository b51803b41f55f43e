import type { Clock } from "../../../system/clock.ts";
import { messageOf } from "../../../system/errors.ts";
import { createLoop, orAborted } from "../../../system/lifecycle.ts";

/** What a directory holds, from its present state on. It ends when nothing more comes, and after `stop`. */
interface Entries<T> extends AsyncIterable<T> {
  stop(): void;
}

/** A watch over a directory that goes on until it is stopped: one that fails or ends is opened again. */
export type DirectoryWatch = ReturnType<typeof createDirectoryWatch>;

const firstRetryMs = 500;
const maxRetryMs = 8000;

/**
 * `onError` gets a fault once, until an entry came or `again` was called. A later one that is the same is not
 * reported.
 */
export function createDirectoryWatch<T>(deps: {
  clock: Clock;
  open: () => Promise<Entries<T>>;
  receive: (entry: T) => void;
  onError: (error: unknown) => void;
}) {
  let begun: PromiseWithResolvers<void> | null = null;
  let replaced = new AbortController();
  let failures = 0;
  let said = "";

  function recovered(): void {
    failures = 0;
    said = "";
  }

  /** Reads until `over`; resolves earlier when nothing more comes. */
  async function read(over: AbortSignal): Promise<void> {
    const opening = deps.open();
    const entries = await orAborted(opening, over);
    if (entries === null) {
      opening.then(
        (late) => late.stop(),
        () => {},
      );
      return;
    }
    begun?.resolve();
    begun = null;
    const stop = () => entries.stop();
    over.addEventListener("abort", stop, { once: true });
    try {
      for await (const entry of entries) {
        if (over.aborted) return;
        deps.receive(entry);
        recovered();
      }
    } finally {
      over.removeEventListener("abort", stop);
      stop();
    }
  }

  function report(error: unknown): void {
    begun?.reject(error);
    if (begun === null && messageOf(error) !== said) deps.onError(error);
    begun = null;
    said = messageOf(error);
  }

  const loop = createLoop({
    clock: deps.clock,
    async turn(signal) {
      replaced = new AbortController();
      const over = AbortSignal.any([signal, replaced.signal]);
      try {
        await read(over);
        if (over.aborted) return 0;
        throw new Error("its watch ended");
      } catch (error) {
        if (over.aborted) return 0;
        report(error);
        failures += 1;
        return Math.min(maxRetryMs, firstRetryMs * 2 ** (failures - 1));
      }
    },
    onError: deps.onError,
  });

  return {
    /** Resolves once it is open. Throws what kept it from that; it is then to be stopped. */
    async start(): Promise<void> {
      begun = Promise.withResolvers();
      const first = begun.promise;
      loop.start();
      await first;
    },
    /** The connection was interrupted, and what is open may be silent: opens it again at once. */
    again(): void {
      recovered();
      replaced.abort();
      loop.wake();
    },
    stop: (): Promise<void> => loop.stop(),
  };
}
