import { readFileSync } from "node:fs";
import { type ConnectionActivity, connectionsAt, endConnection } from "./linux-sockets.ts";

/** Descriptors reserved for files and children. */
const reserved = 64;
/** Interval of checks while more than half of the descriptors are in use; each check wakes the process. */
const crowdedIntervalMs = 250;
/** A small table of descriptors is full after a moment. */
const quietIntervalMs = { small: 3000, large: 30_000 };
const smallLimit = 4096;
/** Beyond it the descriptors are not looked through. */
const maxLimit = 65_536;
/** A caller writes its request as soon as it is connected. */
const silentMs = 100;
const finishedMs = 2000;
const maxFinished = 256;

/**
 * Chooses connections to end: all that never received a byte, then the longest idle ones without a running
 * request and without unconfirmed bytes. `busy`: ports of callers with a running request. Pure.
 */
export function chooseIdle(
  connections: readonly ConnectionActivity[],
  busy: { has(port: number): boolean },
): ConnectionActivity[] {
  const silent = connections.filter((one) => one.bytesReceived === 0 && one.idleMs >= silentMs);
  const finished = connections
    .filter((one) => one.bytesReceived > 0 && one.unconfirmed === 0 && one.idleMs >= finishedMs)
    .filter((one) => !busy.has(one.peerPort))
    .sort((one, other) => other.idleMs - one.idleMs);
  return [...silent, ...finished.slice(0, maxFinished)];
}

/**
 * Ends idle connections to `port` when this process is about to run out of descriptors: the runtime does not
 * limit connections, and a caller without a free descriptor waits until another one leaves. Linux only.
 * Returns the function that stops it.
 */
export function guardConnections(port: number, busy: { has(port: number): boolean }): () => void {
  const limit = readLimit() ?? 0;
  if (limit > maxLimit || limit < 4 * reserved) return () => {};
  // The system assigns the lowest free number, so numbers above the half are in use when more than half are.
  const isUsed = (from: number, count: number) => connectionsAt(port, from, from + count).length > 0;
  const quietMs = limit <= smallLimit ? quietIntervalMs.small : quietIntervalMs.large;
  let timer = setTimeout(look, quietMs).unref();
  function look(): void {
    const crowded = isUsed(limit >> 1, 8);
    if (crowded && isUsed(limit - reserved, reserved)) {
      for (const { descriptor } of chooseIdle(connectionsAt(port, 3, limit), busy)) endConnection(descriptor);
    }
    timer = setTimeout(look, crowded ? crowdedIntervalMs : quietMs).unref();
  }
  return () => clearTimeout(timer);
}

/** Limit of this process's descriptors; null when unknown. */
function readLimit(): number | null {
  if (process.platform !== "linux") return null;
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
