import { afterThisTurn, type Clock } from "./clock.ts";

/**
 * From this size garbage is collected between requests: by default the runtime lets the heap double first.
 */
const pressureBytes = 128 * 1024 * 1024;
/**
 * A process that is in use at its size, or whose garbage is less than this, gains nothing from a collection.
 */
const growthBytes = 8 * 1024 * 1024;
const betweenLooksMs = 50;

/** What the process takes of the machine's memory, and how to collect its garbage. */
interface ProcessMemory {
  /** Bytes; null where the system will not say, as without a free descriptor: relief is no duty. */
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
    // The packed programs have no `Bun.gc` by that name: a library calls it while the first callers wait.
    // Looked up when it is needed: another runtime loads this file and has none.
    const { gc } = Bun;
    gc(true);
  },
};

/**
 * Collects when the process holds more than 128 MiB, and 8 MiB more than it held at the least since the last
 * collection: one takes 40 ms where much is in use, and would gain nothing after each request.
 */
function createPressure(memory: ProcessMemory): () => void {
  let leastBytes = 0;
  return () => {
    const heldBytes = memory.residentBytes();
    if (heldBytes === null) return;
    leastBytes = Math.min(leastBytes, heldBytes);
    if (heldBytes <= pressureBytes || heldBytes < leastBytes + growthBytes) return;
    memory.collect();
    leastBytes = memory.residentBytes() ?? heldBytes;
  };
}

/**
 * To be called after each request: collects garbage under pressure, with a look every 50 ms at most. A series
 * of large requests then costs little more than one of them. The answer does not wait for it.
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

/** The same for one request that reads many large files. Call it with the bytes of each file. */
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

/** The start is over by then; its code and its garbage are a quarter of a gateway's own memory. */
const afterStartMs = 3000;
/** What ran lately is likely to run again, and code that was dropped is compiled again. */
const quietMs = 60_000;

/**
 * Gives back memory that only past work needed, once nothing has happened for a while. To be created once the
 * first part of the start is done: collects in another thread, in 0.1 ms of this one,
 * so that later objects fill the places of former ones. Calls `release` when the start is over, and again
 * whenever there was something and then nothing for a minute. One timer at most, and none while nothing
 * happens.
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
    // One timer that looks again is cheaper than one that every touch sets again.
    if (leftMs > 0) cancel = clock.after(leftMs, whenQuiet);
    else due();
  }

  return {
    /** Something happened. Cheap: may be called for every change. */
    touch(): void {
      touchedMs = clock.monotonicMs();
      if (!stopped) cancel ??= clock.after(quietMs, whenQuiet);
    },
    /** Nothing is given back any more. Idempotent. */
    stop(): void {
      stopped = true;
      cancel?.();
      cancel = null;
    },
  };
}
