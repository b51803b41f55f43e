import { eventsIn, type WireEvent } from "./agui.ts";
import type { FakeClock } from "./fake-clock.ts";

/** A GUI stream of an app on a fake clock, read piece by piece. */
export interface AguiReader {
  reply: Response;
  /**
   * Reads, and lets time pass, until an event or a comment is as wanted. Throws when the stream ends before.
   */
  until(what: string, wanted: (event: WireEvent, raw: string) => boolean): Promise<WireEvent>;
  /** As `until`, and no time passes: what is wanted must be on its way. */
  arrives(what: string, wanted: (event: WireEvent, raw: string) => boolean): Promise<WireEvent>;
  /** Reads to the end, letting time pass. */
  rest(): Promise<WireEvent[]>;
  raw(): string;
  cancel(): Promise<void>;
}

/** Time passes in steps of this many milliseconds while a reader waits. */
const stepMs = 60;
/** Of the clock on the wall, for hangs only: how many steps a real connection needs is the machine's. */
const patienceMs = 60_000;

export function readAgui(reply: Response, clock: FakeClock): AguiReader {
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let raw = "";
  let pending: ReturnType<typeof reader.read> | null = null;

  /** False at the end of the stream. */
  async function more(timePasses = true): Promise<boolean> {
    pending ??= reader.read();
    let piece: Awaited<typeof pending> | null = timePasses ? null : await pending;
    const taken = pending.then((value) => {
      piece = value;
    });
    const beganMs = performance.now();
    while (piece === null) {
      if (performance.now() - beganMs > patienceMs) throw new Error(`nothing more came after: ${raw}`);
      await Promise.race([taken, clock.advance(stepMs)]);
    }
    pending = null;
    const { done, value } = piece as Awaited<ReturnType<typeof reader.read>>;
    raw += decoder.decode(value, { stream: true });
    return !done;
  }

  async function find(what: string, wanted: (event: WireEvent, raw: string) => boolean, timePasses: boolean) {
    for (;;) {
      const found = eventsIn(raw).find((event) => wanted(event, raw));
      if (found) return found;
      if (!(await more(timePasses))) throw new Error(`the stream ended before ${what}: ${raw}`);
    }
  }

  return {
    reply,
    raw: () => raw,
    until: (what, wanted) => find(what, wanted, true),
    arrives: (what, wanted) => find(what, wanted, false),
    async rest() {
      while (await more());
      return eventsIn(raw);
    },
    cancel: () => reader.cancel(),
  };
}
