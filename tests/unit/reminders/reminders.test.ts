import { describe, expect, test } from "bun:test";
import { refusePermit } from "../../../src/services/agent/agent.ts";
import { notReady } from "../../support/fake-agent.ts";
import { settle } from "../../support/fake-clock.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { define, holdSubmission, make, repeat, told } from "../../support/reminder-samples.ts";
import { createScratch } from "../../support/scratch.ts";

describe("a one-off reminder", () => {
  test("is delivered once when it is due, then is gone", async () => {
    await using bundle = createGatewayBundle();
    const id = make(bundle);
    await bundle.clock.advance(9_999);
    expect([bundle.agent.prompts, bundle.reminders.get(id).delivery_state]).toEqual([[], "scheduled"]);
    await bundle.clock.advance(1);
    expect(bundle.agent.prompts).toEqual(["Look again"]);
    expect(bundle.reminders.list()).toEqual({
      schema_version: 1,
      effective_reminder_id: null,
      reminders: [],
      firings: [
        {
          request_id: expect.stringMatching(new RegExp(`^${id}-[0-9a-f]{6}$`)),
          reminder_id: id,
          title: "look",
          due_at_utc: "2026-01-01T00:00:10.000+00:00",
          started_at_utc: "2026-01-01T00:00:10.000+00:00",
          finished_at_utc: "2026-01-01T00:00:10.000+00:00",
          outcome: "delivered",
          detail: null,
        },
      ],
    });
    expect(bundle.events.map((event) => event.kind)).toEqual([
      "reminder_registered",
      "reminder_started",
      "reminder_completed",
    ]);
    await bundle.clock.advance(3_600_000);
    expect(bundle.agent.prompts).toHaveLength(1);
  });

  test("makes no queue row", async () => {
    await using bundle = createGatewayBundle();
    make(bundle);
    await bundle.clock.advance(10_000);
    expect([bundle.agent.prompts.length, bundle.store.list({ limit: 10 })]).toEqual([1, []]);
  });

  test("that is due in the past is delivered at once", async () => {
    await using bundle = createGatewayBundle();
    make(bundle, { start_after_seconds: null, deliver_at_utc: "1999-01-01T00:00:00Z" });
    await settle();
    expect(bundle.agent.prompts).toEqual(["Look again"]);
  });

  test("a month away is looked at each minute, for clocks are set and timers end at 25 days", async () => {
    await using bundle = createGatewayBundle();
    const delays: number[] = [];
    const { after } = bundle.clock;
    bundle.clock.after = (delayMs, run) => {
      delays.push(delayMs);
      return after(delayMs, run);
    };
    make(bundle, { start_after_seconds: 31 * 86_400 });
    await bundle.clock.advance(31 * 86_400_000 - 1);
    expect(bundle.agent.prompts).toEqual([]);
    await bundle.clock.advance(1);
    expect(bundle.agent.prompts).toHaveLength(1);
    expect(Math.max(...delays)).toBe(60_000);
  });

  test("is consumed by a failure", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.onSubmit = () => ({ outcome: "failed", typed: false, detail: "Enter was not taken" });
    make(bundle);
    await bundle.clock.advance(10_000);
    expect(bundle.reminders.list().reminders).toEqual([]);
    expect(told(bundle, "reminder_failed")).toMatchObject([{ error_detail: "Enter was not taken" }]);
  });
});

describe("a repeating reminder", () => {
  test("keeps its cadence without making up for what it missed", async () => {
    await using bundle = createGatewayBundle();
    const [first] = bundle.reminders.create([repeat()]).reminders;
    const at: number[] = [];
    const begun = bundle.clock.nowMs();
    bundle.agent.onSubmit = () => {
      at.push(bundle.clock.nowMs() - begun);
      return { outcome: "submitted" };
    };
    await bundle.clock.advance(20_000);
    bundle.agent.setReadiness(notReady);
    await bundle.clock.advance(34_000);
    bundle.agent.setReadiness({ ready: true });
    await bundle.clock.advance(10_000);
    expect(at).toEqual([10_000, 20_000, 54_000, 60_000]);
    expect(bundle.reminders.list().reminders).toMatchObject([
      {
        reminder_id: first?.reminder_id,
        delivery_state: "scheduled",
        next_due_at_utc: "2026-01-01T00:01:10.000+00:00",
        last_started_at_utc: "2026-01-01T00:01:00.000+00:00",
      },
    ]);
    expect(told(bundle, "reminder_completed").at(-1)).toMatchObject({
      next_due_at_utc: "2026-01-01T00:01:10.000+00:00",
    });
  });

  test("goes on after a failure and after a fault of the agent", async () => {
    await using bundle = createGatewayBundle();
    bundle.reminders.create([repeat()]);
    bundle.agent.onSubmit = () => ({ outcome: "failed", typed: true, detail: "no" });
    await bundle.clock.advance(10_000);
    bundle.agent.onSubmit = () => {
      throw new Error("unforeseen");
    };
    await bundle.clock.advance(10_000);
    bundle.agent.onSubmit = () => ({ outcome: "submitted" });
    await bundle.clock.advance(10_000);
    expect(told(bundle, "reminder_failed").map((event) => event["error_detail"])).toEqual([
      "no",
      "unforeseen",
    ]);
    expect(bundle.agent.prompts).toHaveLength(1);
    expect(bundle.reminders.phase()).toBe(null);
  });
});

describe("keys", () => {
  test.each([
    { id: "get exactly one Enter", keys: { sequence: "/x<[Enter]><[Enter]>" }, enters: 1 },
    { id: "get one Enter where there is none", keys: { sequence: "/x", ensure_enter: true }, enters: 1 },
    { id: "stay as they are when asked to", keys: { sequence: "/x", ensure_enter: false }, enters: 0 },
  ])("$id", async ({ keys, enters }) => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    make(bundle, { prompt: null, send_keys: keys });
    await bundle.clock.advance(10_000);
    expect(bundle.agent.keysSent).toEqual([
      [{ kind: "text", text: "/x" }, ...Array(enters).fill({ kind: "key", name: "Enter" })],
    ]);
    expect(bundle.agent.prompts).toEqual([]);
  });
});

describe("only the effective reminder is delivered", () => {
  test("the others wait, due or not, and move up when it is gone", async () => {
    await using bundle = createGatewayBundle();
    const [early, first] = bundle.reminders.create([
      define({ ranking: 5, prompt: "early", start_after_seconds: 1 }),
      define({ ranking: -1, prompt: "first" }),
    ]).reminders;
    await bundle.clock.advance(5_000);
    expect(bundle.agent.prompts).toEqual([]);
    expect(bundle.reminders.list()).toMatchObject({
      effective_reminder_id: first?.reminder_id,
      reminders: [
        { reminder_id: first?.reminder_id, selection_state: "effective", delivery_state: "scheduled" },
        {
          reminder_id: early?.reminder_id,
          selection_state: "blocked",
          delivery_state: "overdue",
          blocked_by_reminder_id: first?.reminder_id,
        },
      ],
    });
    await bundle.clock.advance(5_000);
    expect(bundle.agent.prompts).toEqual(["first", "early"]);
  });

  test("a paused one blocks and delivers nothing until it is updated or deleted", async () => {
    await using bundle = createGatewayBundle();
    const paused = make(bundle, { ranking: -1, paused: true, prompt: "paused" });
    make(bundle, { prompt: "behind" });
    await bundle.clock.advance(60_000);
    expect(bundle.agent.prompts).toEqual([]);
    expect(bundle.reminders.get(paused)).toMatchObject({ delivery_state: "overdue", paused: true });
    expect(told(bundle, "reminder_deferred")).toEqual([]);
    bundle.reminders.remove(paused);
    await settle();
    expect(bundle.agent.prompts).toEqual(["behind"]);
  });

  test("an update changes at once which one it is, and its due time counts from then", async () => {
    await using bundle = createGatewayBundle();
    const one = make(bundle, { prompt: "one" });
    const two = make(bundle, { ranking: 1, prompt: "two" });
    await bundle.clock.advance(4_000);
    expect(bundle.reminders.update(one, define({ prompt: "one", ranking: 2 }))).toMatchObject({
      selection_state: "blocked",
      blocked_by_reminder_id: two,
      created_at_utc: "2026-01-01T00:00:00.000+00:00",
      next_due_at_utc: "2026-01-01T00:00:14.000+00:00",
    });
    await bundle.clock.advance(6_000);
    expect(bundle.agent.prompts).toEqual(["two"]);
    await bundle.clock.advance(4_000);
    expect(bundle.agent.prompts).toEqual(["two", "one"]);
  });
});

describe("a reminder that is due waits", () => {
  test("for a turn boundary, says why and since when, and reports each reason once", async () => {
    await using bundle = createGatewayBundle();
    const id = make(bundle);
    bundle.agent.setReadiness(notReady);
    await bundle.clock.advance(10_000);
    expect(bundle.reminders.get(id)).toMatchObject({
      delivery_state: "overdue",
      waiting: { reason: "not_ready", since_utc: "2026-01-01T00:00:10.000+00:00" },
    });
    bundle.agent.setReadiness({ ready: false, code: "awaiting_decision", detail: "a question" });
    await settle();
    bundle.agent.setReadiness({ ready: false, code: "not_ready", detail: "editing_input=yes" });
    await bundle.clock.advance(1_000);
    expect(told(bundle, "reminder_deferred").map((event) => event["detail"])).toEqual([
      "turn.phase=active",
      "a question",
    ]);
    expect(bundle.agent.prompts).toEqual([]);
    bundle.agent.setReadiness({ ready: true });
    await settle();
    expect(bundle.agent.prompts).toEqual(["Look again"]);
  });

  test("for the queue to be empty", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    await bundle.queue.accept({ kind: "submit_prompt", payload: { prompt: "queued" } });
    make(bundle);
    await bundle.clock.advance(10_000);
    expect(told(bundle, "reminder_deferred")).toMatchObject([{ detail: "queue_depth=1" }]);
    bundle.agent.setReadiness({ ready: true });
    await settle();
    expect(bundle.agent.prompts).toEqual(["queued", "Look again"]);
  });

  test("for the agent to be there, and sets no timer meanwhile", async () => {
    await using bundle = createGatewayBundle();
    make(bundle);
    bundle.agent.setConnectivity({ connected: false, detail: "a shell" });
    await bundle.clock.advance(60_000);
    expect([bundle.agent.prompts, bundle.clock.pending()]).toEqual([[], 0]);
    bundle.agent.setConnectivity({ connected: true });
    await settle();
    expect(bundle.agent.prompts).toHaveLength(1);
  });

  test("for reconciliation with a new instance", async () => {
    await using bundle = createGatewayBundle();
    make(bundle);
    bundle.agent.setConnectivity({ instanceId: "two" });
    await bundle.clock.advance(10_000);
    expect(bundle.agent.prompts).toEqual([]);
    bundle.board.reconcile();
    await settle();
    expect(bundle.agent.prompts).toHaveLength(1);
  });

  test("when a fresh look refuses it, and looks again though nothing is reported", async () => {
    await using bundle = createGatewayBundle();
    const { reserve } = bundle.agent;
    bundle.agent.reserve = async () => refusePermit({ ready: false, code: "pending_input", detail: "held" });
    const id = make(bundle);
    await bundle.clock.advance(10_000);
    expect(bundle.reminders.get(id)).toMatchObject({
      delivery_state: "overdue",
      waiting: { reason: "pending_input" },
      last_started_at_utc: null,
    });
    expect(told(bundle, "reminder_started")).toEqual([]);
    bundle.agent.reserve = reserve;
    await bundle.clock.advance(250);
    expect(bundle.agent.prompts).toHaveLength(1);
  });
});

describe("when the gateway stops", () => {
  test("an event reports each reminder that is lost, and the next status how many", async () => {
    using scratch = createScratch();
    const path = scratch.path("queue.sqlite");
    const bundle = createGatewayBundle({ path });
    bundle.reminders.create([define(), repeat({ ranking: 1, start_after_seconds: 5, paused: true })]);
    await bundle.clock.advance(7_000);
    await bundle[Symbol.asyncDispose]();
    expect(told(bundle, "reminder_lost_on_restart")).toMatchObject([
      { mode: "one_off", selection_state: "effective", delivery_state: "scheduled", paused: false },
      { mode: "repeat", selection_state: "blocked", delivery_state: "overdue", paused: true },
    ]);
    await using next = createGatewayBundle({ path });
    expect(next.board.status().reminders_lost).toEqual({ count: 2, at_utc: "2026-01-01T00:00:07.000+00:00" });
    expect([told(next, "reminder_lost_on_restart"), next.reminders.list().reminders]).toEqual([[], []]);
    await using later = createGatewayBundle({ path });
    expect(later.board.status().reminders_lost).toBeUndefined();
  });

  test("by a crash, the next one says what was lost", async () => {
    using scratch = createScratch();
    const path = scratch.path("queue.sqlite");
    // This one is never stopped.
    const bundle = createGatewayBundle({ path });
    bundle.reminders.create([define(), define({ ranking: 1 })]);
    await bundle.clock.advance(10_000);
    expect(bundle.agent.prompts).toHaveLength(2);
    const id = make(bundle, { start_after_seconds: 90 });
    await using next = createGatewayBundle({ path });
    expect(told(next, "reminder_lost_on_restart")).toMatchObject([
      { reminder_id: id, delivery_state: "scheduled" },
    ]);
    expect(next.board.status().reminders_lost).toMatchObject({ count: 1 });
    bundle.store.close();
  });

  test("it lets a delivery end and takes no new reminder", async () => {
    await using bundle = createGatewayBundle();
    const finish = holdSubmission(bundle);
    make(bundle);
    await bundle.clock.advance(10_000);
    const stopped = bundle.reminders.stop();
    expect(() => make(bundle)).toThrow("stopping");
    finish({ outcome: "submitted" });
    await stopped;
    expect(bundle.agent.prompts).toHaveLength(1);
    expect(told(bundle, "reminder_lost_on_restart")).toEqual([]);
  });

  test("starting twice and stopping twice are harmless", async () => {
    await using bundle = createGatewayBundle();
    make(bundle);
    bundle.reminders.start();
    expect([bundle.reminders.lost(), told(bundle, "reminder_lost_on_restart")]).toEqual([null, []]);
    await bundle.clock.advance(10_000);
    await bundle.reminders.stop();
    await bundle.reminders.stop();
    expect(bundle.agent.prompts).toHaveLength(1);
  });
});

test.each(["🔔", "x"])("events have the first 120 characters of a title: %s", async (char) => {
  await using bundle = createGatewayBundle();
  make(bundle, { title: `${char.repeat(200)}secret` });
  expect(told(bundle, "reminder_registered")).toMatchObject([{ title: char.repeat(120) }]);
  expect(JSON.stringify([bundle.events, bundle.logged])).not.toContain("secret");
});

test("of a prompt and of typed text events and log have no more than the length", async () => {
  await using bundle = createGatewayBundle();
  make(bundle, { prompt: "secret" });
  make(bundle, { ranking: 1, prompt: null, send_keys: { sequence: "secret<[Tab]>" } });
  await bundle.clock.advance(10_000);
  expect(told(bundle, "reminder_registered")).toMatchObject([
    { prompt_length: 6 },
    { sequence_preview: "(6 characters)<[Tab]>", ensure_enter: true },
  ]);
  expect(JSON.stringify([bundle.events, bundle.logged])).not.toContain("secret");
});
