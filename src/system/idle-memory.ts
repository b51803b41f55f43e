import { afterThisTurn, type Clock } from "./clock.ts";

/**
 * From this size on garbage is collected between requests; by default the runtime lets the heap double first.
 */
const pressureBytes = 128 * 1024 * 1024;
/**
 * Minimum growth since the last collection. With less garbage a collection gains nothing.
 */
const growthBytes = 8 * 1024 * 1024;
const betweenLooksMs = 50;

/** Memory of the process. */
interface ProcessMemory {
  /** Bytes; null when the system does not report it, as without a free descriptor. */
  residentBytes(): number | null;
  collect(): void;
}

const ownMemory: ProcessMemory = {
  residentBytes() {
    try {
      return process.memoryUsage.rss();
    } catch {
      return null;
    }
  },
  collect() {
    // Read through destructuring: the build removes calls of `Bun.gc`, since a library makes one while the
    // first callers wait. Read here: other runtimes load this file and have no `gc`.
    const { gc } = Bun;
    gc(true);
  },
};

/**
 * Collects when the process holds more than 128 MiB and has grown by 8 MiB from its minimum since the last
 * collection. A collection of a large heap takes 40 ms, too long for each request.
 */
function createPressure(memory: ProcessMemory): () => void {
  let minBytes = 0;
  return () => {
    const heldBytes = memory.residentBytes();
    if (heldBytes === null) return;
    minBytes = Math.min(minBytes, heldBytes);
    if (heldBytes <= pressureBytes || heldBytes < minBytes + growthBytes) return;
    memory.collect();
    minBytes = memory.residentBytes() ?? heldBytes;
  };
}

/**
 * Returns a function to call after each request. It collects garbage under pressure and checks every 50 ms at
 * most, so that a series of large requests costs little more than one. The answer does not wait for it.
 */
export function createPressureRelief(clock: Clock, memory: ProcessMemory = ownMemory): () => void {
  const relieve = createPressure(memory);
  let lookedMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - lookedMs < betweenLooksMs) return;
    lookedMs = nowMs;
    afterThisTurn(relieve);
  };
}

const betweenReadsBytes = 8 * 1024 * 1024;

/** Returns the same for one request that reads many large files; call it with the bytes of each file. */
export function createReadRelief(): (bytes: number) => void {
  const relieve = createPressure(ownMemory);
  let readBytes = 0;
  return (bytes) => {
    readBytes += bytes;
    if (readBytes < betweenReadsBytes) return;
    readBytes = 0;
    relieve();
  };
}

/** Time after which the start is over; its code and garbage are a quarter of a gateway's memory. */
const afterStartMs = 3000;
/** Quiet time before a release, since recent code is likely to run again and would be compiled again. */
const quietMs = 60_000;

/**
 * Releases memory of past work after a quiet time. Create it after the first part of the start: it collects
 * in another thread, in 0.1 ms of this one, so that later objects reuse the space. It calls `release` when
 * the start is over, and after each quiet minute that follows activity. It has one timer at most, and none
 * while nothing happens.
 */
export function createIdleMemory(deps: { clock: Clock; release?: () => void }) {
  const { clock, release = Bun.shrink } = deps;
  const { gc } = Bun;
  gc(false);
  let touchedMs = clock.monotonicMs();
  let cancel: (() => void) | null = clock.after(afterStartMs, due);
  let stopped = false;

  function due(): void {
    release();
    cancel = null;
  }

  function whenQuiet(): void {
    const leftMs = touchedMs + quietMs - clock.monotonicMs();
    // One timer that checks again is cheaper than a timer that each touch resets.
    if (leftMs > 0) cancel = clock.after(leftMs, whenQuiet);
    else due();
  }

  return {
    /** Reports activity. Cheap enough for every change. */
    touch(): void {
      touchedMs = clock.monotonicMs();
      if (!stopped) cancel ??= clock.after(quietMs, whenQuiet);
    },
    /** Stops releasing memory. Idempotent. */
    stop(): void {
      stopped = true;
      cancel?.();
      cancel = null;
    },
  };
}
