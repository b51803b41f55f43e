import { describe, expect, test } from "bun:test";
import { openDeliveryStore } from "../../../../src/db/coordinator/delivery-store.ts";
import type { AttentionItem } from "../../../../src/protocol/attention.ts";
import type { SendResult, ToSend } from "../../../../src/services/extensions/deliveries/message.ts";
import { createOutbox } from "../../../../src/services/extensions/deliveries/outbox.ts";
import type { NamedRule } from "../../../../src/services/extensions/deliveries/rules.ts";
import { quietSteps } from "../../../../src/system/steps.ts";
import { attentionItem, fakeAttention } from "../../../support/attention-items.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const hook: NamedRule = {
  name: "hook",
  kind: "webhook",
  target: { url: "https://x.test", secret_file: "s" },
};
const taken: SendResult = { ok: true, detail: "status 200", answer: "" };
const refused: SendResult = { ok: false, error: "status 500", askedMs: null, forGood: false, answer: "" };
const item = (number: number, fields: Partial<AttentionItem> = {}) =>
  attentionItem({ id: `question-${number}`, question: `Question ${number}?`, ...fields });
const minuteMs = 60_000;

/** An outbox over SQLite in memory, whose targets answer as `answer` says. */
function createFixture(rules: readonly NamedRule[] | null = [hook]) {
  const clock = createFakeClock();
  const attention = fakeAttention();
  const sent: { rule: string; id: string; items: string[] }[] = [];
  let made = 0;
  /** The disk refuses the writes with this label. */
  const disk = { refuses: "" };
  const store = openDeliveryStore({
    path: ":memory:",
    clock,
    steps: {
      ...quietSteps,
      before(label) {
        if (label === disk.refuses) throw new Error("disk full");
      },
    },
    makeId: () => `dlv_${++made}`,
  });
  const fixture = {
    clock,
    attention,
    sent,
    disk,
    store,
    rules,
    answer: async (_: ToSend): Promise<SendResult> => taken,
    states: () =>
      store
        .list({ limit: 100 })
        .deliveries.map(({ state }) => state)
        .reverse(),
    start: () => {
      const outbox = createOutbox({
        store,
        attention,
        clock,
        rules: () => fixture.rules,
        send(rule, delivery) {
          sent.push({ rule: rule.name, id: delivery.deliveryId, items: delivery.items.map(({ id }) => id) });
          return fixture.answer(delivery);
        },
        ids: { hex: () => "00000000" },
        log: () => {},
      });
      outbox.start();
      return outbox;
    },
    /** Sets what waits, and lets everything happen that needs no time. */
    async waits(...items: AttentionItem[]) {
      attention.set(items);
      await clock.advance(0);
    },
  };
  return fixture;
}

describe("an item", () => {
  test("is sent once by each rule that is about it, however often it is seen", async () => {
    const fixture = createFixture([
      hook,
      { ...hook, name: "dead", reasons: ["dead_agent"] },
      { ...hook, name: "all" },
    ]);
    const outbox = fixture.start();
    await fixture.waits(item(1));
    await fixture.waits(item(1, { age_seconds: 5 }), item(2));
    await fixture.waits(item(2));
    await fixture.clock.advance(minuteMs);
    expect(fixture.sent.map(({ rule, items }) => `${rule} ${items}`).sort()).toEqual([
      "all question-1",
      "all question-2",
      "hook question-1",
      "hook question-2",
    ]);
    await outbox.stop();
  });

  test.each([
    { id: "of another instance of the agent is another item", epochs: [3, 4], count: 2 },
    { id: "whose epoch becomes known is the same", epochs: [null, 3], count: 1 },
    { id: "whose epoch is lost for a while is the same", epochs: [3, null, 3], count: 1 },
    { id: "whose epoch became known is of that one", epochs: [null, 3, 4], count: 2 },
  ])("$id", async ({ epochs, count }) => {
    const fixture = createFixture();
    const outbox = fixture.start();
    for (const epoch of epochs) await fixture.waits(item(1, { epoch }));
    expect(fixture.sent.length).toBe(count);
    await outbox.stop();
  });

  test("that came while no server ran is found by the next one, and none is sent twice", async () => {
    const fixture = createFixture();
    const first = fixture.start();
    await fixture.waits(item(1));
    await first.stop();
    fixture.attention.set([item(1), item(2)]);
    const second = fixture.start();
    await fixture.clock.advance(0);
    expect(fixture.sent.map(({ items }) => items)).toEqual([["question-1"], ["question-2"]]);
    await second.stop();
  });

  test("that ended while the disk refused to write so is written as ended later", async () => {
    const fixture = createFixture();
    const outbox = fixture.start();
    await fixture.waits(item(1));
    expect(fixture.store.present()).toEqual([{ rule: "hook", itemId: "question-1" }]);
    fixture.disk.refuses = "sql:delivery-leave";
    await fixture.waits();
    fixture.disk.refuses = "";
    await fixture.clock.advance(minuteMs);
    expect(fixture.store.present()).toEqual([]);
    await outbox.stop();
  });

  test("that ended before it was sent is withdrawn, and sent when it waits again", async () => {
    const fixture = createFixture([{ ...hook, digest: 60 }]);
    const outbox = fixture.start();
    await fixture.waits(item(1));
    await fixture.waits();
    await fixture.clock.advance(minuteMs);
    expect([fixture.sent, fixture.states()]).toEqual([[], ["withdrawn"]]);
    await fixture.waits(item(1));
    await fixture.clock.advance(minuteMs);
    expect(fixture.sent).toEqual([{ rule: "hook", id: "dlv_1", items: ["question-1"] }]);
    await outbox.stop();
  });

  test.each([
    { kind: "usage_limit", sent: ["dlv_1", "dlv_2"] },
    { kind: "question", sent: ["dlv_1"] },
  ] as const)(
    "of the kind $kind that is over and comes again after ten minutes is sent as $sent",
    async ({ kind, sent }) => {
      const fixture = createFixture();
      const outbox = fixture.start();
      await fixture.waits(item(1, { kind }));
      await fixture.waits();
      await fixture.clock.advance(9 * minuteMs);
      await fixture.waits(item(1, { kind }));
      expect(fixture.sent.length).toBe(1);
      await fixture.waits();
      await fixture.clock.advance(11 * minuteMs);
      await fixture.waits(item(1, { kind }));
      expect(fixture.sent.map(({ id }) => id)).toEqual([...sent]);
      // Each delivery says what it was about.
      const { deliveries } = fixture.store.list({ limit: 10 });
      expect(deliveries.map(({ items }) => items.map(({ id }) => id))).toEqual(
        sent.map(() => ["question-1"]),
      );
      await outbox.stop();
    },
  );

  test("that was withdrawn after failures and comes again is attempted again, for a whole day", async () => {
    const fixture = createFixture();
    fixture.answer = async () => refused;
    const outbox = fixture.start();
    await fixture.waits(item(1));
    await fixture.waits();
    await fixture.clock.advance(minuteMs);
    expect([fixture.sent.length, fixture.states()]).toEqual([1, ["withdrawn"]]);
    const sinceMs = fixture.clock.nowMs();
    await fixture.waits(item(1));
    await fixture.clock.advance(minuteMs);
    expect(fixture.states()).toEqual(["pending"]);
    expect(new Set(fixture.sent.map(({ id }) => id))).toEqual(new Set(["dlv_1"]));
    expect(fixture.store.troubles({ pendingMs: fixture.clock.nowMs(), givenUpMs: 0 })).toMatchObject([
      { sinceMs },
    ]);
    await outbox.stop();
  });
});

describe("a target that fails", () => {
  test("is tried again with the same id after 5, 10, 20 s, also by the next server", async () => {
    const fixture = createFixture();
    fixture.answer = async () => refused;
    const first = fixture.start();
    await fixture.waits(item(1));
    await fixture.clock.advance(5000);
    expect(fixture.sent.length).toBe(2);
    await first.stop();
    const second = fixture.start();
    await fixture.clock.advance(9999);
    expect(fixture.sent.length).toBe(2);
    fixture.answer = async () => taken;
    await fixture.clock.advance(1);
    expect(new Set(fixture.sent.map(({ id }) => id))).toEqual(new Set(["dlv_1"]));
    expect([fixture.sent.length, fixture.states()]).toEqual([3, ["delivered"]]);
    expect(fixture.store.list({ limit: 1 }).deliveries[0]).toMatchObject({
      attempts: 3,
      last_error: "status 500",
    });
    await second.stop();
  });

  test("is given up after a day", async () => {
    const fixture = createFixture();
    fixture.answer = async () => refused;
    const outbox = fixture.start();
    await fixture.waits(item(1));
    await fixture.clock.advance(23 * 60 * minuteMs);
    expect(fixture.states()).toEqual(["pending"]);
    await fixture.clock.advance(2 * 60 * minuteMs);
    expect(fixture.states()).toEqual(["given_up"]);
    const attempts = fixture.sent.length;
    await fixture.clock.advance(3 * 60 * minuteMs);
    expect(fixture.sent.length).toBe(attempts);
    expect(fixture.store.troubles({ pendingMs: 0, givenUpMs: 0 })).toMatchObject([
      { rule: "hook", pending: 0, givenUp: 1, lastError: "status 500" },
    ]);
    await outbox.stop();
  }, 20_000);

  test("is sent although the clock is set back by a year before its next attempt", async () => {
    const fixture = createFixture();
    fixture.answer = async () => refused;
    const outbox = fixture.start();
    await fixture.waits(item(1));
    fixture.answer = async () => taken;
    const { nowMs } = fixture.clock;
    fixture.clock.nowMs = () => nowMs() - 365 * 24 * 60 * minuteMs;
    await fixture.clock.advance(2 * minuteMs);
    expect(fixture.states()).toEqual(["delivered"]);
    await outbox.stop();
  });

  test("holds no other rule up", async () => {
    const fixture = createFixture([hook, { ...hook, name: "other" }]);
    fixture.answer = async ({ items }) => (items[0]?.id === "never" ? taken : new Promise(() => {}));
    const outbox = fixture.start();
    await fixture.waits(...Array.from({ length: 10 }, (_, index) => item(index)));
    // Four attempts at a time for each.
    expect(fixture.sent.map(({ rule }) => rule).sort()).toEqual([
      ...Array.from({ length: 4 }, () => "hook"),
      ...Array.from({ length: 4 }, () => "other"),
    ]);
    const stopped = outbox.stop();
    await fixture.clock.advance(2000);
    await stopped;
  });

  test("that is a program runs once at a time", async () => {
    const fixture = createFixture([{ name: "desk", kind: "command", target: { argv: ["x"] } }]);
    const ends: (() => void)[] = [];
    fixture.answer = () => new Promise((resolve) => void ends.push(() => resolve(taken)));
    const outbox = fixture.start();
    await fixture.waits(item(1), item(2));
    expect(fixture.sent.length).toBe(1);
    ends[0]?.();
    await fixture.clock.advance(0);
    expect(fixture.sent.length).toBe(2);
    ends[1]?.();
    await outbox.stop();
  });
});

describe("several items come in one delivery", () => {
  test("of a digest, from the first of them on; what ended meanwhile is left out", async () => {
    const fixture = createFixture([{ ...hook, digest: 60 }]);
    const outbox = fixture.start();
    await fixture.waits(item(1));
    await fixture.clock.advance(59_000);
    await fixture.waits(item(2), item(3));
    await fixture.clock.advance(1000);
    expect(fixture.sent).toEqual([{ rule: "hook", id: "dlv_1", items: ["question-2", "question-3"] }]);
    await fixture.waits(item(2), item(3), item(4));
    await fixture.clock.advance(60_000);
    expect(fixture.sent[1]).toEqual({ rule: "hook", id: "dlv_2", items: ["question-4"] });
    await outbox.stop();
  });

  test("and is the same in each attempt, although one of them ended", async () => {
    const fixture = createFixture([{ ...hook, digest: 60 }]);
    fixture.answer = async () => refused;
    const outbox = fixture.start();
    await fixture.waits(item(1), item(2));
    await fixture.clock.advance(60_000);
    await fixture.waits(item(2), item(3));
    fixture.answer = async () => taken;
    await fixture.clock.advance(5000);
    expect(fixture.sent).toEqual([
      { rule: "hook", id: "dlv_1", items: ["question-1", "question-2"] },
      { rule: "hook", id: "dlv_1", items: ["question-1", "question-2"] },
    ]);
    await outbox.stop();
  });

  test("at the end of quiet hours", async () => {
    const quiet_hours = { start: "23:00", end: "07:00", time_zone: "UTC" };
    const fixture = createFixture([{ ...hook, quiet_hours }]);
    const outbox = fixture.start();
    await fixture.waits(item(1));
    await fixture.clock.advance(60 * minuteMs);
    await fixture.waits(item(1), item(2));
    await fixture.clock.advance(6 * 60 * minuteMs - 1000);
    expect(fixture.sent).toEqual([]);
    await fixture.clock.advance(1000);
    expect(fixture.sent.map(({ items }) => items)).toEqual([["question-1", "question-2"]]);
    await outbox.stop();
  }, 20_000);

  test("at most a hundred of them", async () => {
    const fixture = createFixture([{ ...hook, digest: 60 }]);
    const outbox = fixture.start();
    await fixture.waits(...Array.from({ length: 250 }, (_, index) => item(index)));
    await fixture.clock.advance(60_000);
    expect(fixture.sent.map(({ items }) => items.length).sort()).toEqual([100, 100, 50]);
    await outbox.stop();
  });
});

describe("rules that change", () => {
  test("withdraw what a removed rule was to send; while they cannot be read everything is held", async () => {
    const fixture = createFixture();
    fixture.answer = async () => refused;
    const outbox = fixture.start();
    await fixture.waits(item(1));
    fixture.rules = null;
    await fixture.clock.advance(10 * minuteMs);
    expect([fixture.sent.length, fixture.states()]).toEqual([1, ["pending"]]);
    fixture.rules = [];
    await fixture.clock.advance(15_000);
    expect(fixture.states()).toEqual(["withdrawn"]);
    await outbox.stop();
  });
});

describe("what is kept", () => {
  test("is the newest, for a time, and what still waits", async () => {
    const fixture = createFixture();
    const outbox = fixture.start();
    await fixture.waits(...Array.from({ length: 10 }, (_, index) => item(index)));
    const kept = (id: string) => id === "question-0";
    expect(fixture.store.prune({ count: 4, beforeMs: 0 }, kept)).toBe(5);
    expect(fixture.store.prune({ count: 100, beforeMs: fixture.clock.nowMs() + 1 }, kept)).toBe(4);
    expect(fixture.store.list({ limit: 10 }).deliveries.map(({ items }) => items[0]?.id)).toEqual([
      "question-0",
    ]);
    await outbox.stop();
  });

  test("is listed by pages, newest first", async () => {
    const fixture = createFixture();
    const outbox = fixture.start();
    await fixture.waits(...Array.from({ length: 5 }, (_, index) => item(index)));
    const first = fixture.store.list({ limit: 3 });
    expect(first.deliveries.map(({ sequence }) => sequence)).toEqual([5, 4, 3]);
    const rest = fixture.store.list({ limit: 3, before: first.next_before ?? 0 });
    expect([rest.deliveries.map(({ sequence }) => sequence), rest.next_before]).toEqual([[2, 1], null]);
    expect(fixture.store.list({ limit: 3, state: "pending" }).deliveries).toEqual([]);
    // What agents wrote stays in the file.
    expect(JSON.stringify(first)).not.toContain("Question");
    await outbox.stop();
  });
});
