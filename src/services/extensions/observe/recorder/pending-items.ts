import type { Clock } from "../../../../system/clock.ts";
import type { Item } from "./encoder.ts";

type NewItem = Item extends infer One ? (One extends Item ? Omit<One, "t"> : never) : never;

const maxPendingBytes = 4 * 1024 * 1024;
const maxPendingItems = 20_000;
/**
 * In one turn of the event loop no more is read for secrets: a gateway answers meanwhile, whatever the
 * terminal shows.
 */
const maxPartBytes = 16 * 1024;
const maxPartItems = 100;
/** A clock that is corrected by less is not turned back. */
const setBackMs = 1_000;

/** What waits to be recorded, each with its time, which falls only where the clock was set back. */
export function createPendingItems(clock: Pick<Clock, "nowMs">) {
  let items: Item[] = [];
  let bytes = 0;
  let lastMs = 0;

  return {
    /** `set_back`: the clock was, and an item that says so comes before this one. */
    add(item: NewItem): "added" | "set_back" {
      const nowMs = clock.nowMs();
      const isSetBack = nowMs < lastMs - setBackMs;
      if (isSetBack) {
        lastMs = nowMs;
        items.push({ is: "set_back", t: nowMs });
      }
      lastMs = Math.max(lastMs, nowMs);
      if (item.is === "output") {
        for (let from = 0; from < item.bytes.length; from += maxPartBytes)
          items.push({ is: "output", bytes: item.bytes.subarray(from, from + maxPartBytes), t: lastMs });
        bytes += item.bytes.length;
      } else items.push({ ...item, t: lastMs } as Item);
      return isSetBack ? "set_back" : "added";
    },
    /** At most `most` of the oldest, as many as may be read in one turn of the event loop. */
    take(most: number): Item[] {
      let [count, partBytes] = [0, 0];
      for (const item of items.slice(0, Math.min(most, maxPartItems))) {
        const itemBytes = item.is === "output" ? item.bytes.length : 0;
        if (count > 0 && partBytes + itemBytes > maxPartBytes) break;
        count += 1;
        partBytes += itemBytes;
      }
      bytes -= partBytes;
      return items.splice(0, count);
    },
    takeAll(): Item[] {
      const all = items;
      items = [];
      bytes = 0;
      return all;
    },
    count: (): number => items.length,
    /** More waits than may. */
    isTooMuch: (): boolean => bytes > maxPendingBytes || items.length > maxPendingItems,
    /** Of the newest item. */
    lastMs: (): number => lastMs,
  };
}
