import type { AttentionEvent, AttentionItem } from "../../protocol/attention.ts";

/**
 * The list of what waits for a person, as it is on the screen. Nothing moves under the cursor: what comes
 * waits in `arrived` until it is revealed, and what goes stays in its place, marked, until then. A list in
 * which nothing waits any more shows at once what comes. Pure.
 */
export interface Inbox {
  /** Null until the first list came. */
  shown: readonly AttentionItem[] | null;
  arrived: readonly AttentionItem[];
  /** Ids of shown items that wait no more. */
  gone: ReadonlySet<string>;
  /** The item that the reader has before them; null for none. It stays until the reader leaves it. */
  held: string | null;
  /** Since when nothing waits, as far as this page saw it; null while something does. */
  emptySinceMs: number | null;
}

export const emptyInbox: Inbox = {
  shown: null,
  arrived: [],
  gone: new Set(),
  held: null,
  emptySinceMs: null,
};

export function receive(inbox: Inbox, event: Pick<AttentionEvent, "kind" | "items">, nowMs: number): Inbox {
  const { items } = event;
  switch (event.kind) {
    case "attention_list":
      return settle(replaceAll(inbox, items), nowMs);
    case "attention_added":
    case "attention_changed":
      return settle(items.reduce(put, inbox), nowMs);
    case "attention_gone":
      return settle(
        items.reduce((now, item) => remove(now, item.id), inbox),
        nowMs,
      );
  }
}

/** Shows what arrived and drops what is gone. */
export function reveal(inbox: Inbox): Inbox {
  const kept = (inbox.shown ?? []).filter(({ id }) => !inbox.gone.has(id));
  return { ...inbox, shown: oldestFirst([...kept, ...inbox.arrived]), arrived: [], gone: new Set() };
}

/** What the reader has before them from now on. */
export const hold = (inbox: Inbox, id: string | null): Inbox =>
  id === inbox.held ? inbox : { ...inbox, held: id };

/** Everything that waits now, revealed or not, oldest first. */
export const waiting = (inbox: Inbox): AttentionItem[] =>
  oldestFirst([...(inbox.shown ?? []).filter(({ id }) => !inbox.gone.has(id)), ...inbox.arrived]);

function replaceAll(inbox: Inbox, items: readonly AttentionItem[]): Inbox {
  if (inbox.shown === null) return { ...inbox, shown: oldestFirst(items), arrived: [], gone: new Set() };
  const ids = new Set(items.map(({ id }) => id));
  const missing = inbox.shown.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
  const kept = { ...inbox, arrived: inbox.arrived.filter(({ id }) => ids.has(id)), gone: new Set(missing) };
  return items.reduce(put, kept);
}

function put(inbox: Inbox, item: AttentionItem): Inbox {
  const replace = (list: readonly AttentionItem[]) => list.map((one) => (one.id === item.id ? item : one));
  if (inbox.shown?.some(({ id }) => id === item.id)) {
    const gone = new Set([...inbox.gone].filter((id) => id !== item.id));
    return { ...inbox, shown: replace(inbox.shown), gone };
  }
  if (inbox.arrived.some(({ id }) => id === item.id)) return { ...inbox, arrived: replace(inbox.arrived) };
  return { ...inbox, arrived: [...inbox.arrived, item] };
}

function remove(inbox: Inbox, id: string): Inbox {
  const arrived = inbox.arrived.filter((item) => item.id !== id);
  if (!inbox.shown?.some((item) => item.id === id)) return { ...inbox, arrived };
  return { ...inbox, arrived, gone: new Set([...inbox.gone, id]) };
}

/**
 * Where nothing waits, nothing can move under the cursor: what arrives is shown at once, below what is still
 * read.
 */
function settle(inbox: Inbox, nowMs: number): Inbox {
  const open = inbox.shown?.some(({ id }) => !inbox.gone.has(id));
  const settled = open || inbox.arrived.length === 0 ? inbox : showBelowHeld(inbox);
  const quiet = waiting(settled).length === 0;
  return { ...settled, emptySinceMs: quiet ? (inbox.emptySinceMs ?? nowMs) : null };
}

function showBelowHeld(inbox: Inbox): Inbox {
  const kept = (inbox.shown ?? []).filter(({ id }) => id === inbox.held);
  const gone = new Set(kept.map(({ id }) => id));
  return { ...inbox, shown: [...kept, ...oldestFirst(inbox.arrived)], arrived: [], gone };
}

/** Mail is last: no agent stops because of it. */
function oldestFirst(items: readonly AttentionItem[]): AttentionItem[] {
  return items.toSorted(
    (a, b) =>
      Number(a.kind === "mail") - Number(b.kind === "mail") ||
      (a.since_utc ?? "").localeCompare(b.since_utc ?? "") ||
      a.id.localeCompare(b.id),
  );
}

/**
 * The other items that wait with exactly the same question about the same thing: one answer fits all of them.
 */
export function identical(inbox: Inbox, item: AttentionItem): AttentionItem[] {
  if (item.answers.length === 0) return [];
  const key = keyOf(item);
  return waiting(inbox).filter((other) => other.id !== item.id && keyOf(other) === key);
}

const keyOf = ({ kind, question, subject, answers }: AttentionItem): string =>
  JSON.stringify([kind, question, subject, answers.map(({ answer, label }) => [answer, label])]);

/** The item `step` rows from the selected one; the first one where none is selected. */
export function neighbour(inbox: Inbox, id: string | null, step: number): string | null {
  const shown = inbox.shown ?? [];
  const at = shown.findIndex((item) => item.id === id);
  const next = at < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, at + step));
  return shown[next]?.id ?? null;
}
