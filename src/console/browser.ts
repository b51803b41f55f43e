/** The only access of the console to the clock, timers, storage and the address bar. */

export const nowMs = (): number => Date.now();

export const parseTime = (timestamp: string | null | undefined): number | null => {
  const at = timestamp ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(at) ? null : at;
};

/** The exact moment in the reader's time zone and language. */
export const exactTime = (atMs: number): string =>
  new Date(atMs).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });

/** Hours, minutes and seconds in the reader's time zone. */
export const clockTime = (atMs: number): string =>
  new Date(atMs).toLocaleTimeString(undefined, { hour12: false });

/** Calls `act` once, after `delayMs`. Returns what cancels it. */
export function after(delayMs: number, act: () => void): () => void {
  const timer = setTimeout(act, delayMs);
  return () => clearTimeout(timer);
}

/** Calls `act` every `periodMs`. Returns what ends it. */
export function every(periodMs: number, act: () => void): () => void {
  const timer = setInterval(act, periodMs);
  return () => clearInterval(timer);
}

/** A setting of this browser; null where it was never set or storage is refused. */
export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`svc.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`svc.${name}`, value);
  } catch {
    // Private windows may refuse storage: the setting lasts until the page is closed.
  }
}

export const isVisible = (): boolean => document.visibilityState === "visible";

/** Calls `act` when the page is shown or hidden. Returns what ends it. */
export function onVisibility(act: () => void): () => void {
  document.addEventListener("visibilitychange", act);
  return () => document.removeEventListener("visibilitychange", act);
}
