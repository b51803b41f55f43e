import type { Clock } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";

/** A body whose next part does not come for so long has ended early. */
const silentMs = 40_000;
/** An open body takes this many parts before it says so; see the responder's window. */
const consumeEvery = 8;
const keepOpenIntervalMs = 10_000;
/** Four times what a host may send ahead. */
const maxUnreadBytes = 4 * 1024 * 1024;

export interface AnswerBody {
  stream: ReadableStream<Uint8Array>;
  push(part: Uint8Array): void;
  end(): void;
  fail(error: Error): void;
}

/** The body of an answer; the host sends further parts as they are read. */
export function createAnswerBody(deps: {
  clock: Clock;
  signal: AbortSignal;
  consumed: (count: number) => void;
  cancel: () => void;
}): AnswerBody {
  const { clock } = deps;
  const parts: Uint8Array[] = [];
  let count = 0;
  let reported = 0;
  let unreadBytes = 0;
  let end: "open" | "ended" | Error = "open";
  let rouse = () => {};
  let cancelSilence = () => {};
  let cancelKeep = () => {};

  const close = (how: "ended" | Error) => {
    if (end !== "open") return;
    end = how;
    cancelSilence();
    cancelKeep();
    deps.signal.removeEventListener("abort", leave);
    rouse();
  };
  const leave = () => {
    if (end !== "open") return;
    deps.cancel();
    close(new Error("the caller has left"));
  };
  const listen = () => {
    cancelSilence();
    cancelSilence = clock.after(silentMs, () => {
      // While nobody reads, the silence is the reader's.
      if (parts.length > 0) return listen();
      deps.cancel();
      close(new ServiceError("unavailable", `silent for ${silentMs} ms`));
    });
  };
  const countPart = () => {
    count += 1;
    if (count - reported < consumeEvery) return;
    reported = count;
    deps.consumed(count);
  };
  const keepOpen = () => {
    cancelKeep = clock.after(keepOpenIntervalMs, () => {
      deps.consumed(reported);
      keepOpen();
    });
  };
  deps.signal.addEventListener("abort", leave, { once: true });
  listen();
  keepOpen();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const part = parts.shift();
          if (part) {
            unreadBytes -= part.length;
            countPart();
            return controller.enqueue(part);
          }
          if (end === "ended") return controller.close();
          if (end !== "open") return controller.error(end);
          await new Promise<void>((resolve) => {
            rouse = resolve;
          });
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
  return {
    stream,
    push(part) {
      if (end !== "open") return;
      // No sign of life and nothing to keep: parts without bytes would pass every limit.
      if (part.length === 0) return countPart();
      listen();
      parts.push(part);
      unreadBytes += part.length;
      if (unreadBytes > maxUnreadBytes) {
        deps.cancel();
        return close(new ServiceError("unavailable", "the host sends more than it was asked for"));
      }
      rouse();
    },
    end: () => close("ended"),
    fail: close,
  };
}
