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

/** Calls `act` when another tab of this browser changes the setting. Returns what ends it. */
export function onRemembered(name: string, act: () => void): () => void {
  const take = ({ key }: StorageEvent) => {
    if (key === `svc.${name}`) act();
  };
  addEventListener("storage", take);
  return () => removeEventListener("storage", take);
}

/** A text that was begun in this tab and not sent: it outlives another page and a reload. */
export function recallDraft(name: string): string {
  try {
    return sessionStorage.getItem(`svc.draft.${name}`) ?? "";
  } catch {
    return "";
  }
}

export function keepDraft(name: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(`svc.draft.${name}`);
    else sessionStorage.setItem(`svc.draft.${name}`, text);
  } catch {
    // Storage that is refused or full: the draft lasts while its form is shown.
  }
}

/** Hands the reader a text as a file of this name. */
export function offerFile(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text]));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads it after this turn.
  after(60_000, () => URL.revokeObjectURL(address));
}

/** The next person at this browser is not to read them. */
export function forgetDrafts(): void {
  try {
    const names = Array.from({ length: sessionStorage.length }, (_, at) => sessionStorage.key(at) ?? "");
    for (const name of names) if (name.startsWith("svc.draft.")) sessionStorage.removeItem(name);
  } catch {
    // Storage that is refused keeps none.
  }
}

/** Begins again, as after a change that concerns the whole page. */
export const reloadPage = (): void => location.reload();

export const isVisible = (): boolean => document.visibilityState === "visible";

/** Calls `act` every `periodMs` while somebody can see the page. Returns what ends it. */
export const pollWhileVisible = (periodMs: number, act: () => void): (() => void) =>
  every(periodMs, () => {
    if (isVisible()) act();
  });

/** Calls `act` when the page is shown or hidden. Returns what ends it. */
export function onVisibility(act: () => void): () => void {
  document.addEventListener("visibilitychange", act);
  return () => document.removeEventListener("visibilitychange", act);
}
