import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { createGatewayBundle, type GatewayBundle } from "../../support/gateway-bundle.ts";
import { define, holdSubmission, make, repeat, told } from "../../support/reminder-samples.ts";
import { createScratch } from "../../support/scratch.ts";

const startMs = Date.UTC(2026, 0, 1);

/** Gateways on one file; each `next` starts so long after the first. */
function setup() {
  const scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  const open: GatewayBundle[] = [];
  return {
    path,
    next(afterMs = 0, options: Parameters<typeof createGatewayBundle>[0] = {}) {
      const bundle = createGatewayBundle({ path, startMs: startMs + afterMs, ...options });
      open.push(bundle);
      return bundle;
    },
    async [Symbol.asyncDispose]() {
      for (const bundle of open) await bundle[Symbol.asyncDispose]();
      scratch[Symbol.dispose]();
    },
  };
}

describe("a durable reminder", () => {
  test("goes on in the next gateway, the others are reported as lost", async () => {
    await using at = setup();
    const first = at.next();
    const id = make(first, { durable: true, ranking: 3, title: "keep" });
    make(first, { ranking: 4 });
    const before = first.reminders.get(id);
    expect(before).toMatchObject({ durable: true });
    await first[Symbol.asyncDispose]();
    expect(told(first, "reminder_lost_on_restart")).toHaveLength(1);
    const second = at.next(5_000);
    expect(second.reminders.list().reminders).toEqual([before]);
    expect(second.reminders.lost()).toMatchObject({ count: 1 });
    expect(told(second, "reminder_restored")).toMatchObject([
      { reminder_id: id, durable: true, delivery_state: "scheduled" },
    ]);
    await second.clock.advance(5_000);
    expect(second.agent.prompts).toEqual(["Look again"]);
    await second[Symbol.asyncDispose]();
    expect(at.next(60_000).reminders.list().reminders).toEqual([]);
  });

  test("is delivered once when it fell due meanwhile, also after a crash, and keeps its cadence", async () => {
    await using at = setup();
    const first = at.next();
    first.reminders.create([repeat({ durable: true })]);
    const second = at.next(95_000);
    await second.clock.advance(0);
    expect(second.agent.prompts).toHaveLength(1);
    await second.clock.advance(4_999);
    expect(second.agent.prompts).toHaveLength(1);
    await second.clock.advance(1);
    expect(second.agent.prompts).toHaveLength(2);
    expect(told(second, "reminder_restored")).toMatchObject([{ delivery_state: "overdue" }]);
  });

  test.each([
    { id: "a one-off is gone", given: define({ durable: true }), left: [] },
    {
      id: "a repeating one goes on with its next time",
      given: repeat({ durable: true }),
      left: [{ next_due_at_utc: "2026-01-01T00:00:40.000+00:00" }],
    },
  ])("whose delivery a crash cut short is not delivered again: $id", async ({ given, left }) => {
    await using at = setup();
    const first = at.next();
    const id = first.reminders.create([given]).reminders[0]?.reminder_id;
    const finish = holdSubmission(first);
    await first.clock.advance(10_000);
    expect(told(first, "reminder_started")).toHaveLength(1);
    const second = at.next(35_000);
    await second.clock.advance(0);
    expect(second.agent.prompts).toEqual([]);
    expect(second.reminders.list().reminders).toMatchObject(left);
    expect(second.reminders.list().firings).toMatchObject([
      { reminder_id: id, outcome: "unknown", started_at_utc: "2026-01-01T00:00:10.000+00:00" },
    ]);
    expect(told(second, "reminder_failed")).toMatchObject([{ reminder_id: id }]);
    finish({ outcome: "submitted" });
  });

  test("is not delivered when its begin cannot be recorded, and is when it can", async () => {
    let full = false;
    await using at = setup();
    const steps = {
      before(label: string) {
        if (full && label.startsWith("sql:reminder"))
          throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
      },
      after() {},
    };
    const bundle = at.next(0, { steps });
    make(bundle, { durable: true });
    full = true;
    expect(() => make(bundle, { durable: true })).toThrow();
    expect(bundle.reminders.list().reminders).toHaveLength(1);
    await bundle.clock.advance(20_000);
    expect(bundle.agent.prompts).toEqual([]);
    full = false;
    await bundle.clock.advance(60_000);
    expect(bundle.agent.prompts).toHaveLength(1);
  });

  test("goes on where a start cannot remove what was lost; the next start removes it", async () => {
    await using at = setup();
    const first = at.next();
    make(first, { durable: true });
    make(first);
    let full = true;
    const steps = {
      before(label: string) {
        if (full && label === "sql:reminders-taken-over") throw new Error("database or disk is full");
      },
      after() {},
    };
    const second = at.next(0, { steps });
    expect(second.reminders.list().reminders).toHaveLength(1);
    expect(second.reminders.lost()).toMatchObject({ count: 1 });
    await second.clock.advance(10_000);
    expect(second.agent.prompts).toHaveLength(1);
    full = false;
    expect(at.next().reminders.lost()).toMatchObject({ count: 1 });
    expect(at.next().reminders.lost()).toBeNull();
  });

  test.each([
    { id: "one that stays durable", from: true, to: true, synced: true },
    { id: "one that is durable no more", from: true, to: false, synced: true },
    { id: "one that becomes durable", from: false, to: true, synced: true },
    { id: "one that never was", from: false, to: false, synced: false },
  ])("an update of $id is synced: $synced", async ({ from, to, synced }) => {
    await using at = setup();
    const changes: unknown[] = [];
    const bundle = at.next(0, {
      onWrite: (label, durable) => void (label === "sql:reminders" && changes.push(durable)),
    });
    const id = make(bundle, { durable: from });
    bundle.reminders.update(id, define({ durable: to }));
    expect(changes).toEqual([from, synced]);
  });

  test("that is updated or deleted is so in the next gateway", async () => {
    await using at = setup();
    const first = at.next();
    const [gone, kept, demoted] = first.reminders
      .create([define({ durable: true }), define({ durable: true }), define({ durable: true })])
      .reminders.map((one) => one.reminder_id);
    first.reminders.remove(gone ?? "");
    first.reminders.update(kept ?? "", define({ durable: true, title: "changed" }));
    first.reminders.update(demoted ?? "", define());
    const second = at.next();
    expect(second.reminders.list().reminders).toMatchObject([{ reminder_id: kept, title: "changed" }]);
    expect(told(second, "reminder_lost_on_restart")).toMatchObject([{ reminder_id: demoted }]);
    expect(make(second)).not.toBe(kept);
  });
});

test("a field that a new definition leaves out is gone, also one of a later version", async () => {
  await using at = setup();
  const first = at.next();
  const id = make(first, { durable: true });
  await first[Symbol.asyncDispose]();
  using queue = new Database(at.path);
  queue.run("UPDATE gateway_reminders SET reminder_json = json_set(reminder_json, '$.place', 'office')");
  const { reminders } = at.next();
  expect(reminders.get(id)).toMatchObject({ place: "office" });
  reminders.update(id, define({ durable: true }));
  expect(reminders.get(id)).not.toHaveProperty("place");
});

test("a change writes one row, however many reminders there are", async () => {
  await using at = setup();
  let writes = 0;
  const steps = { before: (label: string) => void (label === "sql:reminders" && writes++), after() {} };
  const bundle = at.next(0, { steps });
  bundle.reminders.create(Array.from({ length: 4999 }, (_, ranking) => define({ ranking })));
  writes = 0;
  const changes = () => {
    const id = make(bundle, { ranking: -1, durable: false });
    bundle.reminders.update(id, define({ ranking: -2 }));
    bundle.reminders.remove(id);
  };
  changes();
  expect(writes).toBe(3);
});
