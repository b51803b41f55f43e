import type { Selection } from "../../../db/mailbox/state.ts";
import { parseTimestamp, toTimestamp } from "../../../system/clock.ts";
import { keyword } from "./message.ts";
import type { JmapSession } from "./session.ts";
import type { JmapEmail } from "./wire.ts";

/**
 * Pages of a box. A server tells times in whole seconds and its order of ids is its own, so a position is a second
 * with the messages of it that were told already; `messageId` of a cursor holds them. Pure.
 */

type Position = NonNullable<Selection["after"]>;

/** Newest first; of one second the server decides, by the ids where it can. */
export function newestFirst({ sortsById }: Pick<JmapSession, "sortsById">) {
  const byTime = { property: "receivedAt", isAscending: false };
  return sortsById ? [byTime, { property: "id", isAscending: false }] : [byTime];
}

/** All conditions hold on the server, before it counts to the limit. */
export function toFilter(boxId: string, plan: Selection, after: Position | null): Record<string, unknown> {
  const flag = (name: string, wanted: boolean | null) =>
    wanted === null ? [] : [wanted ? { hasKeyword: name } : { notKeyword: name }];
  return {
    operator: "AND",
    conditions: [
      { inMailbox: boxId },
      ...flag(keyword.read, plan.read),
      ...flag(keyword.answered, plan.answered),
      ...(plan.sinceUtc === null ? [] : [{ after: toUtc(Math.ceil(secondsOf(plan.sinceUtc)) * 1000) }]),
      // The end of that second. Not the next one: Cyrus 3.6 takes `before` to include the time itself.
      ...(after === null ? [] : [{ before: toUtc(Math.floor(secondsOf(after.createdAtUtc)) * 1000 + 999) }]),
    ],
  };
}

/** Whether a message comes after a position; those of its second come with it once more. */
export function isBehind(position: Position | null): (email: JmapEmail) => boolean {
  if (position === null) return () => true;
  const told = new Set(toldAt(position));
  const latest = secondsOf(position.createdAtUtc);
  return ({ id, receivedAt }) => !told.has(id) && secondsOf(receivedAt) <= latest;
}

export function toldAt(position: Position | null): string[] {
  return position === null ? [] : position.messageId.split(",");
}

/** Where the next page begins; `page`: the messages of this one, at least one. */
export function positionAfter(page: readonly JmapEmail[], before: Position | null): Position | null {
  const last = page.at(-1);
  if (!last) return before;
  const told = page.filter(({ receivedAt }) => receivedAt === last.receivedAt).map(({ id }) => id);
  const earlier = before?.createdAtUtc === last.receivedAt ? toldAt(before) : [];
  return { createdAtUtc: last.receivedAt, messageId: [...earlier, ...told].join(",") };
}

function secondsOf(timestamp: string): number {
  return (parseTimestamp(timestamp) ?? 0) / 1000;
}

/** A time as servers take it. */
function toUtc(epochMs: number): string {
  return toTimestamp(epochMs).replace(/(\.000)?\+00:00$/, "Z");
}
