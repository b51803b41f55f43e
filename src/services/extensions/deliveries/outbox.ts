import type { DeliveryStore, PendingDelivery } from "../../../db/coordinator/delivery-store.ts";
import type { AttentionItem } from "../../../protocol/attention.ts";
import type { DeliveredItem } from "../../../protocol/delivery.ts";
import { afterThisTurn, type Clock, sleep, withinTime } from "../../../system/clock.ts";
import { stepError } from "../../../system/errors.ts";
import type { Ids } from "../../../system/ids.ts";
import { createLoop, type Lifecycle } from "../../../system/lifecycle.ts";
import type { Attention } from "../../attention/attention.ts";
import { decideFailure, keyOf, type Match, planWriting, quietForMs, retryAfterMs } from "./decide.ts";
import type { NamedRule } from "./rules.ts";
import type { Send } from "./send.ts";

export interface OutboxDeps {
  store: DeliveryStore;
  attention: Pick<Attention, "follow">;
  /** The rules as they are now; null while they cannot be read, which holds everything. */
  rules: () => readonly NamedRule[] | null;
  send: Send;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: (line: string, facts?: Record<string, string | number>) => void;
}

/** Rules are read again this often. */
const maxWaitMs = 15_000;
const followAgainMs = 1000;
/** An attempt that lasts longer is left: it is made again after the next start. */
const stopGraceMs = 2000;
const pruneIntervalMs = 3_600_000;
const kept = { count: 20_000, ageMs: 30 * 24 * 3_600_000 };
/** In one transaction; a turn of the event loop is between two of them. */
const entriesAtOnce = 250;

/** So many attempts of one rule run at the same time: a program need not expect to run twice at once. */
const attemptsAtOnce = (rule: NamedRule) => (rule.kind === "command" ? 1 : 4);

/**
 * What the outbox knows of the waiting items and of what the store has of them:
 *
 * ```
 *   items null ──first list──> behind ──written down──> level
 *                                ^──an item came or went, other rules, a fault, items not sent──┘
 * ```
 *
 * `level`: the store has each item of each rule. Nothing is sent while `items` is null.
 */
interface OutboxState {
  /** What waits now, by id; null before the first list. */
  items: Map<string, AttentionItem> | null;
  /** As of the last turn; null before the first. */
  rules: readonly NamedRule[] | null;
  store: "behind" | "level";
  /** What the store has of the items, by `keyOf`; null until what ended while no server ran is written. */
  written: Map<string, Match> | null;
}

/**
 * Sends the items that wait for a person by the rules of this user. Stores each item before it sends it, and
 * compares the waiting items with the stored ones: the next server finds an item that came while none ran. A
 * delivery is attempted until its target takes it, at most for a day; all attempts have one id. Source:
 * decision 52.
 */
export function createOutbox(deps: OutboxDeps): Lifecycle {
  const { store, clock } = deps;
  const state: OutboxState = { items: null, rules: null, store: "behind", written: null };
  const underWay = new Map<number, { rule: string; done: Promise<void> }>();
  let following: { leave: AbortController; done: Promise<void> } | null = null;
  let prunedMs = Number.NEGATIVE_INFINITY;
  const report = (step: string) => (error: unknown) =>
    deps.log("delivery fault", { step, error: String(error) });

  async function followOnce(signal: AbortSignal): Promise<void> {
    for await (const step of deps.attention.follow({ signal })) {
      if (step.item === "heartbeat") continue;
      const { kind, items } = step.event;
      if (kind === "attention_list") state.items = new Map(items.map((item) => [item.id, item]));
      else if (kind === "attention_gone") for (const { id } of items) state.items?.delete(id);
      else for (const item of items) state.items?.set(item.id, item);
      state.store = "behind";
      loop.wake();
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await followOnce(signal).catch(report("follow what waits"));
      await sleep(clock, followAgainMs, signal);
    }
  }

  /** Writes down what waits and is not written yet, and what waits no more. */
  async function writeDown(
    rules: readonly NamedRule[],
    items: ReadonlyMap<string, AttentionItem>,
    signal: AbortSignal,
  ): Promise<void> {
    if (state.written === null) {
      store.leave(
        store.present().filter(({ itemId }) => !items.has(itemId)),
        clock.nowMs(),
      );
      state.written = new Map();
    }
    const { written } = state;
    const { entries, gone } = planWriting({ rules, items: items.values(), written, nowMs: clock.nowMs() });
    const ended = gone.flatMap((key) => written.get(key) ?? []);
    store.leave(ended, clock.nowMs());
    for (const key of gone) written.delete(key);
    for (let at = 0; at < entries.length && !signal.aborted; at += entriesAtOnce) {
      const some = entries.slice(at, at + entriesAtOnce);
      store.enqueue(some, clock.nowMs());
      for (const { rule, item } of some) written.set(keyOf(rule, item), { rule, itemId: item.id });
      await new Promise<void>((resolve) => afterThisTurn(resolve));
    }
  }

  /** Begins the attempts of one rule for which there is room. */
  function attemptDue(rule: NamedRule): void {
    const own = ofRule(rule.name);
    const limit = attemptsAtOnce(rule) - own.length;
    if (limit <= 0) return;
    for (const delivery of store.due(rule.name, clock.nowMs(), { limit, except: own })) {
      const quietMs = quietForMs(rule, clock.nowMs());
      if (quietMs > 0) {
        store.hold(delivery.seq, clock.nowMs() + quietMs);
        continue;
      }
      const done = attempt(rule, delivery)
        .catch(report(`attempt of ${delivery.deliveryId}`))
        .finally(() => {
          underWay.delete(delivery.seq);
          loop.wake();
        });
      underWay.set(delivery.seq, { rule: rule.name, done });
    }
  }

  /** They were not sent; when they wait again, they are. */
  function forget(rule: string, items: readonly DeliveredItem[]): void {
    for (const item of items) state.written?.delete(keyOf(rule, item));
    if (items.length > 0) state.store = "behind";
  }

  async function attempt(rule: NamedRule, delivery: PendingDelivery): Promise<void> {
    const { seq, deliveryId, createdMs } = delivery;
    const begunMs = clock.nowMs();
    const waiting = delivery.items.filter(({ id }) => state.items?.has(id));
    if (waiting.length === 0) {
      forget(rule.name, delivery.items);
      store.settle(seq, { state: "withdrawn", atMs: begunMs, error: null });
      return;
    }
    // What a target may have got once is the same in each attempt.
    const items = delivery.attempts === 0 ? waiting : delivery.items;
    const withdrawn = delivery.items.filter((item) => !items.includes(item));
    forget(rule.name, withdrawn);
    const number = delivery.attempts + 1;
    const random = Number.parseInt(deps.ids.hex(4), 16) / 2 ** 32;
    store.begin(seq, {
      nowMs: begunMs,
      retryMs: begunMs + retryAfterMs(number, random),
      withdrawn: withdrawn.map(({ id }) => id),
      gathers: delivery.gathers,
    });
    const result = await deps.send(rule, { deliveryId, createdMs, items });
    const nowMs = clock.nowMs();
    if (result.ok) {
      store.settle(seq, { state: "delivered", atMs: nowMs });
      return;
    }
    const { error, askedMs, forGood: refusedForGood } = result;
    const facts = { nowMs, firstAttemptMs: delivery.firstAttemptMs ?? begunMs, attempt: number };
    const next = decideFailure({ ...facts, random, askedMs, refusedForGood });
    store.settle(seq, next.state === "pending" ? { ...next, error } : { ...next, atMs: nowMs, error });
    deps.log("delivery failed", { rule: rule.name, delivery_id: deliveryId, attempt: number, error });
  }

  function pruneSometimes(): void {
    const nowMs = clock.monotonicMs();
    if (nowMs - prunedMs < pruneIntervalMs) return;
    prunedMs = nowMs;
    const beforeMs = clock.nowMs() - kept.ageMs;
    // What still waits would be taken for new.
    store.prune({ count: kept.count, beforeMs }, (id) => state.items?.has(id) ?? true);
  }

  async function turn(signal: AbortSignal): Promise<number> {
    const rules = deps.rules();
    if (rules === null) return maxWaitMs;
    if (rules !== state.rules) {
      store.withdrawOthers(
        rules.map(({ name }) => name),
        clock.nowMs(),
      );
      state.rules = rules;
      state.store = "behind";
    }
    if (state.items === null) return maxWaitMs;
    if (state.store === "behind") {
      // What comes while it is written is for the next turn.
      state.store = "level";
      try {
        await writeDown(rules, state.items, signal);
      } catch (error) {
        state.store = "behind";
        throw stepError("record of what waits", error);
      }
    }
    if (signal.aborted) return 0;
    for (const rule of rules) attemptDue(rule);
    pruneSometimes();
    let waitMs = maxWaitMs;
    for (const rule of rules) {
      const own = ofRule(rule.name);
      // The end of an attempt wakes the loop.
      if (own.length >= attemptsAtOnce(rule)) continue;
      const nextMs = store.nextDueMs(rule.name, own);
      if (nextMs !== null) waitMs = Math.min(waitMs, Math.max(0, nextMs - clock.nowMs()));
    }
    return waitMs;
  }

  const ofRule = (name: string) => [...underWay].filter(([, { rule }]) => rule === name).map(([seq]) => seq);

  const loop = createLoop({ clock, turn, onError: report("turn of the outbox") });

  return {
    start() {
      if (following) return;
      const leave = new AbortController();
      following = { leave, done: follow(leave.signal) };
      loop.start();
    },
    async stop() {
      following?.leave.abort();
      await loop.stop();
      const attempts = Promise.all([...underWay.values()].map(({ done }) => done));
      await withinTime(clock, stopGraceMs, attempts);
      await following?.done;
      following = null;
    },
  };
}
