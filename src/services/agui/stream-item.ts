import type { AguiEvent } from "../../protocol/agui.ts";

/** One block of a GUI stream. */
export type AguiItem = { item: "event"; event: AguiEvent } | { item: "heartbeat" };

/** A silent stream says that it lives once in this span; twice it stays below the 5 s that clients may count on. */
export const beatMs = 2400;

/**
 * The events that `tell` finds at each look, and a heartbeat where it finds none for `beatMs`. `tell` returns true
 * with the last event of the stream.
 */
export async function* paced(deps: {
  looks: AsyncIterable<void>;
  nowMs: () => number;
  tell: () => Generator<AguiEvent, boolean>;
}): AsyncGenerator<AguiItem, boolean> {
  let toldMs = deps.nowMs();
  for await (const _ of deps.looks) {
    const events = deps.tell();
    for (let next = events.next(); ; next = events.next()) {
      if (next.done) {
        if (next.value) return true;
        break;
      }
      yield { item: "event", event: next.value };
      toldMs = deps.nowMs();
    }
    if (deps.nowMs() - toldMs < beatMs) continue;
    yield { item: "heartbeat" };
    toldMs = deps.nowMs();
  }
  return false;
}
