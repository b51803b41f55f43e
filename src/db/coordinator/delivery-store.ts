import { and, asc, desc, eq, inArray, isNull, lte, notInArray, or, sql } from "drizzle-orm";
import type { Delivery } from "../../protocol/delivery.ts";
import { DeliveredItem } from "../../protocol/delivery.ts";
import type { Clock } from "../../system/clock.ts";
import type { Steps } from "../../system/steps.ts";
import { parseColumn } from "../json-column.ts";
import { namingFile, openStore } from "../open.ts";
import { type DeliveryFile, type DeliveryListing, listing, unknownEpoch } from "./delivery-listing.ts";
import { coordinatorMigrations } from "./migrations.ts";
import * as schema from "./schema.ts";

const { deliveries, deliveryItems } = schema;

/** One item that a rule sends. */
export interface NewEntry {
  rule: string;
  target: Delivery["target"];
  item: DeliveredItem;
  /** Due time of a new delivery, and of a withdrawn one that is sent after all. */
  dueMs: number;
  /** Whether the item joins a gathering delivery of its rule that is not due, or starts one. */
  gathers: boolean;
  /** Whether a later condition may have the same id, such as the next death of a gateway. */
  mayRecur: boolean;
}

export interface PendingDelivery {
  seq: number;
  deliveryId: string;
  rule: string;
  gathers: boolean;
  attempts: number;
  createdMs: number;
  firstAttemptMs: number | null;
  items: DeliveredItem[];
}

/** The outbox. Changes are on disk when a method returns, unless the method says otherwise. */
export interface DeliveryStore extends DeliveryListing {
  /**
   * Creates the deliveries of these items in one transaction. An item that its rule already has is skipped,
   * also when one of the two epochs is unknown. A withdrawn item is sent after all, in its old delivery if
   * that sent nothing. An item that may recur and was gone for ten minutes or more counts as a new one.
   */
  enqueue(entries: readonly NewEntry[], nowMs: number): void;
  /**
   * Due deliveries of a rule, the longest due first. Also returns deliveries that seem far in the future
   * because the clock was set back.
   */
  due(rule: string, nowMs: number, options: { limit: number; except: readonly number[] }): PendingDelivery[];
  /** Due time of a rule's next delivery that is not in `except`; null when none is pending. */
  nextDueMs(rule: string, except: readonly number[]): number | null;
  /** Records that these items no longer wait. A power failure may undo it. */
  leave(items: readonly ItemOfRule[], nowMs: number): void;
  /** Items that wait, as last written. */
  present(): ItemOfRule[];
  /**
   * Records the start of an attempt; no further item joins the delivery. Without a result it is due again at
   * `retryMs`. A power failure may undo this for a delivery that does not gather; it is then sent again with
   * the same id.
   */
  begin(
    seq: number,
    attempt: { nowMs: number; retryMs: number; withdrawn: readonly string[]; gathers: boolean },
  ): void;
  hold(seq: number, dueMs: number): void;
  /** Records a result. A power failure may undo it; the delivery is then attempted again. */
  settle(seq: number, result: Settled): void;
  /** Withdraws the pending deliveries of rules that are not among `rules`. */
  withdrawOthers(rules: readonly string[], nowMs: number): void;
  /**
   * Removes ended deliveries beyond `count` or older than `beforeMs`, except those with an item that
   * `isKept`. Returns their number.
   */
  prune(bounds: { count: number; beforeMs: number }, isKept: (itemId: string) => boolean): number;
  close(): void;
}

interface ItemOfRule {
  rule: string;
  itemId: string;
}

type Settled =
  | { state: "pending"; dueMs: number; error: string }
  | { state: "given_up"; atMs: number; error: string }
  | { state: "withdrawn"; atMs: number; error: string | null }
  | { state: "delivered"; atMs: number };

/** Items in one delivery at most. */
const maxItems = 100;
/**
 * Later than any planned time, even after a day of quiet hours or of a digest: such a due time means that the
 * clock was set back.
 */
const farMs = 25 * 3_600_000;
const pruneAtOnce = 500;
/** An item that comes back sooner is the same item. */
const recurrenceMs = 600_000;

export function openDeliveryStore(options: {
  path: string;
  clock: Clock;
  steps: Steps;
  /** Creates the id of a delivery. */
  makeId: () => string;
}): DeliveryStore {
  const store = openStore({ ...options, migrations: coordinatorMigrations, checkedBytes: 2 ** 24 });
  return storeOn(store, options.makeId);
}

function storeOn(store: DeliveryFile, makeId: () => string): DeliveryStore {
  const { db } = store;
  const value = sql.placeholder;
  const statements = {
    known: db
      .select({
        epoch: deliveryItems.epoch,
        occurrence: deliveryItems.occurrence,
        withdrawn: deliveryItems.withdrawn,
        seq: deliveryItems.seq,
        goneMs: deliveryItems.goneMs,
        state: deliveries.state,
      })
      .from(deliveryItems)
      .innerJoin(deliveries, eq(deliveries.seq, deliveryItems.seq))
      .where(and(eq(deliveryItems.rule, value("rule")), eq(deliveryItems.itemId, value("itemId"))))
      .orderBy(desc(deliveryItems.occurrence))
      .prepare(),
    gathering: db
      .select({ seq: deliveries.seq })
      .from(deliveries)
      .where(
        and(
          eq(deliveries.rule, value("rule")),
          sql`state = 'pending'`,
          sql`gathers = 1`,
          sql`due_ms > ${value("nowMs")}`,
          eq(deliveries.attempts, 0),
          sql`(SELECT count(*) FROM delivery_items WHERE delivery_items.seq = deliveries.seq) < ${maxItems}`,
        ),
      )
      .orderBy(asc(deliveries.dueMs))
      .limit(1)
      .prepare(),
    items: db
      .select()
      .from(deliveryItems)
      .where(eq(deliveryItems.seq, value("seq")))
      .orderBy(sql`rowid`)
      .prepare(),
    pending: db
      .select()
      .from(deliveries)
      .where(
        and(
          eq(deliveries.rule, value("rule")),
          sql`state = 'pending'`,
          or(lte(deliveries.dueMs, value("nowMs")), sql`due_ms > ${value("nowMs")} + ${farMs}`),
        ),
      )
      .orderBy(asc(deliveries.dueMs), asc(deliveries.seq))
      .limit(value("limit"))
      .prepare(),
    next: db
      .select({ seq: deliveries.seq, dueMs: deliveries.dueMs })
      .from(deliveries)
      .where(and(eq(deliveries.rule, value("rule")), sql`state = 'pending'`))
      .orderBy(asc(deliveries.dueMs))
      .limit(value("limit"))
      .prepare(),
  };

  function makeDelivery({ rule, target, dueMs, gathers }: NewEntry, nowMs: number): number {
    const row = { rule, target, dueMs, gathers, state: "pending", attempts: 0, createdMs: nowMs } as const;
    return db
      .insert(deliveries)
      .values({ ...row, deliveryId: makeId() })
      .returning({ seq: deliveries.seq })
      .get().seq;
  }

  function enqueueOne(entry: NewEntry, nowMs: number): void {
    const { rule, item, dueMs } = entry;
    const epoch = item.epoch ?? unknownEpoch;
    const earlier = statements.known.all({ rule, itemId: item.id });
    const same = sameItem(earlier, epoch);
    const isSame = same && itemIs(rule, item.id, same);
    const recurs =
      entry.mayRecur &&
      same &&
      same.state !== "pending" &&
      same.goneMs !== null &&
      nowMs - same.goneMs >= recurrenceMs;
    if (same && isSame && !same.withdrawn && !recurs) {
      const adopted = same.epoch === unknownEpoch ? epoch : same.epoch;
      if (adopted !== same.epoch || same.goneMs !== null)
        db.update(deliveryItems).set({ epoch: adopted, goneMs: null }).where(isSame).run();
      return;
    }
    if (same && isSame && same.state === "withdrawn" && !recurs) {
      db.update(deliveries)
        .set({ state: "pending", dueMs, endedMs: null, firstAttemptMs: null })
        .where(eq(deliveries.seq, same.seq))
        .run();
      db.update(deliveryItems).set({ withdrawn: false, goneMs: null }).where(isSame).run();
      return;
    }
    const gathering = entry.gathers ? statements.gathering.get({ rule, nowMs })?.seq : undefined;
    const seq = gathering ?? makeDelivery(entry, nowMs);
    const { id: itemId, agent, reason: kind } = item;
    const text = { itemId, agentName: agent ?? "", kind, itemJson: JSON.stringify(item) };
    db.insert(deliveryItems)
      .values({ rule, epoch, occurrence: (same?.occurrence ?? 0) + 1, seq, ...text, withdrawn: false })
      .run();
  }

  function itemsOf(seq: number): (typeof deliveryItems.$inferSelect)[] {
    return statements.items.all({ seq });
  }

  function endWithdrawn(seq: number, nowMs: number, error: string | null): void {
    db.update(deliveries)
      .set({ state: "withdrawn", endedMs: nowMs, ...(error === null ? {} : { lastError: error }) })
      .where(eq(deliveries.seq, seq))
      .run();
    db.update(deliveryItems).set({ withdrawn: true }).where(eq(deliveryItems.seq, seq)).run();
  }

  return namingFile(store, {
    enqueue(entries, nowMs) {
      if (entries.length === 0) return;
      store.write("sql:delivery-enqueue", () => {
        for (const entry of entries) enqueueOne(entry, nowMs);
      });
    },
    due(rule, nowMs, { limit, except }) {
      const rows = statements.pending.all({ rule, nowMs, limit: limit + except.length });
      return rows
        .filter(({ seq }) => !except.includes(seq))
        .slice(0, limit)
        .map(({ seq, deliveryId, gathers, attempts, createdMs, firstAttemptMs }) => ({
          seq,
          deliveryId,
          rule,
          gathers,
          attempts,
          createdMs,
          firstAttemptMs,
          items: itemsOf(seq)
            .filter(({ withdrawn }) => !withdrawn)
            .map(({ itemJson }) => parseColumn(DeliveredItem, itemJson, `item_json of delivery ${seq}`)),
        }));
    },
    nextDueMs(rule, except) {
      const rows = statements.next.all({ rule, limit: except.length + 1 });
      return rows.find(({ seq }) => !except.includes(seq))?.dueMs ?? null;
    },
    leave(items, nowMs) {
      if (items.length === 0) return;
      store.write(
        "sql:delivery-leave",
        () => {
          for (const { rule, itemId } of items) {
            db.update(deliveryItems)
              .set({ goneMs: nowMs })
              .where(
                and(
                  eq(deliveryItems.rule, rule),
                  eq(deliveryItems.itemId, itemId),
                  isNull(deliveryItems.goneMs),
                ),
              )
              .run();
          }
        },
        { durable: false },
      );
    },
    present: () =>
      db
        .selectDistinct({ rule: deliveryItems.rule, itemId: deliveryItems.itemId })
        .from(deliveryItems)
        .where(isNull(deliveryItems.goneMs))
        .all(),
    begin(seq, { nowMs, retryMs, withdrawn, gathers }) {
      const begin = () => {
        db.update(deliveries)
          .set({
            attempts: sql`attempts + 1`,
            dueMs: retryMs,
            firstAttemptMs: sql`coalesce(first_attempt_ms, ${nowMs})`,
          })
          .where(eq(deliveries.seq, seq))
          .run();
        for (const itemId of withdrawn) {
          db.update(deliveryItems)
            .set({ withdrawn: true })
            .where(and(eq(deliveryItems.seq, seq), eq(deliveryItems.itemId, itemId)))
            .run();
        }
      };
      store.write("sql:delivery-begin", begin, { durable: gathers });
    },
    hold(seq, dueMs) {
      const hold = () => void db.update(deliveries).set({ dueMs }).where(eq(deliveries.seq, seq)).run();
      store.write("sql:delivery-hold", hold, { durable: false });
    },
    settle(seq, result) {
      store.write(
        "sql:delivery-settle",
        () => {
          if (result.state === "withdrawn") return endWithdrawn(seq, result.atMs, result.error);
          const set =
            result.state === "pending"
              ? { dueMs: result.dueMs, lastError: result.error }
              : {
                  state: result.state,
                  endedMs: result.atMs,
                  ...(result.state === "given_up" ? { lastError: result.error } : {}),
                };
          db.update(deliveries).set(set).where(eq(deliveries.seq, seq)).run();
        },
        { durable: false },
      );
    },
    withdrawOthers(rules, nowMs) {
      const others = rules.length === 0 ? sql`true` : notInArray(deliveries.rule, [...rules]);
      const found = db
        .select({ seq: deliveries.seq })
        .from(deliveries)
        .where(and(sql`state = 'pending'`, others))
        .all();
      if (found.length === 0) return;
      store.write("sql:delivery-withdraw", () => {
        for (const { seq } of found) endWithdrawn(seq, nowMs, "its rule is not in the rule file any more");
      });
    },
    prune({ count, beforeMs }, isKept) {
      const kept = db
        .select({ seq: deliveries.seq })
        .from(deliveries)
        .where(sql`state <> 'pending'`)
        .orderBy(desc(deliveries.seq))
        .limit(1)
        .offset(count)
        .get();
      const old = db
        .select({ seq: deliveries.seq })
        .from(deliveries)
        .where(
          and(
            sql`state <> 'pending'`,
            sql`(ended_ms < ${beforeMs} OR ${kept === undefined ? sql`false` : lte(deliveries.seq, kept.seq)})`,
          ),
        )
        .orderBy(asc(deliveries.seq))
        .all()
        .map(({ seq }) => seq)
        .filter((seq) => !itemsOf(seq).some(({ itemId }) => isKept(itemId)));
      for (let at = 0; at < old.length; at += pruneAtOnce) {
        const some = old.slice(at, at + pruneAtOnce);
        store.write("sql:delivery-prune", () => {
          db.delete(deliveryItems).where(inArray(deliveryItems.seq, some)).run();
          db.delete(deliveries).where(inArray(deliveries.seq, some)).run();
        });
      }
      return old.length;
    },
    ...listing(store),
    close: () => store.close(),
  });
}

const itemIs = (rule: string, itemId: string, { epoch, occurrence }: { epoch: number; occurrence: number }) =>
  and(
    eq(deliveryItems.rule, rule),
    eq(deliveryItems.itemId, itemId),
    eq(deliveryItems.epoch, epoch),
    eq(deliveryItems.occurrence, occurrence),
  );

/** The newest row of the same item. An unknown epoch matches every epoch. Pure. */
function sameItem<Row extends { epoch: number }>(rows: readonly Row[], epoch: number): Row | undefined {
  return (
    rows.find((row) => row.epoch === epoch) ??
    (epoch === unknownEpoch ? rows[0] : rows.find((row) => row.epoch === unknownEpoch))
  );
}
