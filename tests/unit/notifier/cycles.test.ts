import { describe, expect, test } from "bun:test";
import type { NotifierOutcome } from "../../../src/protocol/notifier.ts";
import type { Notifier } from "../../../src/services/notifier/notifier.ts";
import { settle } from "../../support/fake-clock.ts";
import { randomFrom } from "../../support/load.ts";
import { everything } from "../../support/mail-story.ts";
import {
  createNotifierFixture,
  type NotifierFixture,
  notReady,
  outcomes,
  ready,
} from "../../support/notifier-fixture.ts";

describe("the notifier's polls", () => {
  test("a disabled notifier never polls", async () => {
    await using fixture = createNotifierFixture(null);
    await fixture.arrive();
    await fixture.clock.advance(600_000);
    expect(outcomes(fixture)).toEqual([]);
  });

  test("mail wakes an idle agent at once, and the interval polls", async () => {
    await using fixture = createNotifierFixture();
    await fixture.clock.advance(0);
    await fixture.arrive();
    await fixture.clock.advance(60_000);
    expect(outcomes(fixture)).toEqual(["doorbell empty", "doorbell enqueued", "interval enqueued"]);
    expect(fixture.prompts).toHaveLength(2);
  });

  test("a busy agent is left alone, and woken as soon as it is free", async () => {
    await using fixture = createNotifierFixture();
    await fixture.clock.advance(0);
    fixture.world.readiness = notReady;
    await fixture.arrive();
    fixture.notifier.wake();
    await settle();
    expect(outcomes(fixture)).toEqual(["doorbell empty", "doorbell busy_skip"]);
    fixture.world.readiness = ready;
    fixture.notifier.wake();
    await settle();
    expect(outcomes(fixture).at(-1)).toBe("doorbell enqueued");
  });

  test("a scheduled poll that finds the agent busy waits for the next scheduled poll", async () => {
    await using fixture = createNotifierFixture();
    await fixture.arrive();
    await fixture.clock.advance(0);
    fixture.world.readiness = notReady;
    await fixture.clock.advance(60_000);
    fixture.world.readiness = ready;
    fixture.notifier.wake();
    await settle();
    expect(outcomes(fixture).slice(-2)).toEqual(["doorbell enqueued", "interval busy_skip"]);
    expect(fixture.prompts).toHaveLength(1);
  });

  test("a transient failure is a row, and the notifier stays enabled", async () => {
    await using fixture = createNotifierFixture();
    await fixture.clock.advance(0);
    fixture.world.binding = "the manifest is half written";
    await fixture.clock.advance(60_000);
    expect(fixture.notifier.status()).toMatchObject({
      enabled: true,
      last_error: "the manifest is half written",
    });
    fixture.world.binding = null;
    await fixture.clock.advance(60_000);
    expect(outcomes(fixture).slice(1)).toEqual(["interval poll_error", "interval empty"]);
    expect(fixture.notifier.status().last_error).toBeNull();
  });

  test("a queue that cannot store the prompt is a row too, and the next scheduled poll tries again", async () => {
    await using fixture = createNotifierFixture();
    await fixture.clock.advance(0);
    fixture.world.refuse = new Error("disk full");
    await fixture.arrive();
    fixture.world.refuse = null;
    await fixture.clock.advance(60_000);
    expect(outcomes(fixture).slice(1)).toEqual(["doorbell poll_error", "interval enqueued"]);
  });

  test.each([
    { id: "an agent at work", busy: true },
    { id: "a queue that cannot store the prompt", busy: false },
  ])(
    "mail that met $id and a poll that could not be recorded is not left to the next scheduled poll",
    async (met) => {
      await using fixture = createNotifierFixture({ interval_seconds: 3600 });
      await fixture.clock.advance(0);
      const full = new Error("disk full");
      fixture.world.unrecorded = full;
      if (met.busy) fixture.world.readiness = notReady;
      else fixture.world.refuse = full;
      await fixture.arrive();
      await fixture.clock.advance(5000);
      fixture.world.refuse = null;
      fixture.world.readiness = ready;
      fixture.world.unrecorded = null;
      await fixture.clock.advance(1000);
      expect(outcomes(fixture)).toEqual(["doorbell empty", "doorbell enqueued"]);
      await fixture.clock.advance(600_000);
      expect(fixture.prompts).toHaveLength(1);
    },
  );

  test("while polls cannot be recorded one is made a second, and a wake-up that was given is not given again", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 3600 });
    await fixture.clock.advance(0);
    fixture.world.unrecorded = new Error("disk full");
    fixture.world.binding = "the disk is full";
    await fixture.arrive();
    const before = fixture.opened();
    for (let nth = 0; nth < 50; nth++) {
      fixture.notifier.wake();
      await fixture.clock.advance(100);
    }
    expect(fixture.opened() - before).toBeWithin(4, 7);
    fixture.world.binding = null;
    await fixture.clock.advance(60_000);
    expect(fixture.prompts).toHaveLength(1);
  });

  test.each([
    { id: "a doorbell", advance: 0 },
    { id: "a sweep", advance: 60_000 },
  ])(
    "a poll of $id that compacted the chat and could not be recorded waits for a scheduled poll",
    async ({ advance }) => {
      await using fixture = createNotifierFixture({
        interval_seconds: 60,
        pre_notification_context_action: "compact",
      });
      await fixture.clock.advance(0);
      if (advance > 0) fixture.world.readiness = notReady;
      await fixture.arrive();
      fixture.world.unrecorded = new Error("disk full");
      fixture.world.refuse = fixture.world.unrecorded;
      const before = fixture.tended.length;
      await fixture.clock.advance(advance);
      fixture.world.readiness = ready;
      await fixture.clock.advance(30_000);
      expect(fixture.tended.length - before).toBeLessThanOrEqual(1);
    },
  );

  test("mail beyond the limit of wake-ups an hour waits until the oldest is an hour ago", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 86_400, max_wakes_per_hour: 2 });
    await fixture.clock.advance(0);
    for (const _ of [1, 2, 3]) {
      await fixture.clock.advance(60_000);
      await fixture.arrive();
    }
    const woken = () => outcomes(fixture).filter((outcome) => outcome.endsWith("enqueued")).length;
    expect(woken()).toBe(2);
    expect(fixture.notifier.audit({ limit: 1 }).rows[0]).toMatchObject({
      outcome: "wake_held",
      detail: "max_wakes_per_hour=2 is reached",
    });
    await fixture.clock.advance(57 * 60_000);
    expect(woken()).toBe(2);
    await fixture.clock.advance(2 * 60_000);
    expect(woken()).toBe(3);
  });

  test("disabling stops the polls and keeps the guidance", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 5, appendix_text: "tick once" });
    await fixture.clock.advance(0);
    const status = fixture.notifier.disable();
    expect(status).toMatchObject({ enabled: false, interval_seconds: 5, appendix_text: "tick once" });
    await fixture.arrive();
    await fixture.clock.advance(60_000);
    expect(outcomes(fixture)).toEqual(["doorbell empty"]);
  });

  test("enabling again looks at once", async () => {
    await using fixture = createNotifierFixture();
    await fixture.clock.advance(0);
    fixture.notifier.disable();
    await fixture.arrive();
    fixture.notifier.update({ mode: "unread_only" });
    await settle();
    expect(outcomes(fixture)).toEqual(["doorbell empty"]);
    fixture.notifier.update({ enabled: true });
    await settle();
    expect(outcomes(fixture)).toEqual(["doorbell empty", "doorbell enqueued"]);
  });

  test("enabling without a mailbox is refused and changes nothing", async () => {
    await using fixture = createNotifierFixture(null);
    fixture.world.binding = "this session has no mailbox";
    expect(() => fixture.notifier.update({ interval_seconds: 5 })).toThrow("no mailbox");
    expect(fixture.store.read()).toBeNull();
  });

  test("unread_only leaves read mail alone, any_inbox does not", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 60, mode: "unread_only" });
    await fixture.arrive();
    const { messages } = await fixture.inbox.list(everything);
    await fixture.inbox.read(messages[0]?.message_ref ?? "");
    await fixture.clock.advance(60_000);
    expect(outcomes(fixture).at(-1)).toBe("interval empty");
    fixture.notifier.update({ mode: "any_inbox" });
    await fixture.clock.advance(60_000);
    expect(outcomes(fixture).at(-1)).toBe("interval enqueued");
  });

  test("compact runs before every prompt, and its failure is no wake-up", async () => {
    await using fixture = createNotifierFixture({
      interval_seconds: 60,
      pre_notification_context_action: "compact",
    });
    await fixture.clock.advance(0);
    await fixture.arrive();
    fixture.world.problem = "the agent did not become ready";
    await fixture.clock.advance(60_000);
    expect(fixture.tended).toEqual(["compact", "compact"]);
    expect(outcomes(fixture).slice(1)).toEqual([
      "doorbell enqueued",
      "interval pre_notification_context_error",
    ]);
    const rows = fixture.notifier.audit({ limit: 2 }).rows.map((row) => row.context_action_outcome);
    expect(rows).toEqual(["pre_notification_compact_failed", "pre_notification_compact_completed"]);
  });

  test("a damaged context is cleared only when asked for", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 60 });
    await fixture.clock.advance(0);
    fixture.world.degraded = "codex_remote_compact_server_error";
    await fixture.arrive();
    fixture.notifier.update({ context_error_policy: "clear_context" });
    await fixture.clock.advance(60_000);
    expect(fixture.tended).toEqual(["new_chat"]);
    const [later, earlier] = fixture.notifier.audit({ limit: 2 }).rows;
    expect([earlier?.context_action_outcome, later?.context_action_outcome]).toEqual([
      "degraded_context_continued",
      "clear_context_completed",
    ]);
    expect(later).toMatchObject({
      degraded_tool_name: "codex",
      degraded_error_type: "codex_remote_compact_server_error",
    });
  });

  test("on_change reports the same mail once, then again after five minutes", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 60, wake_policy: "on_change" });
    await fixture.clock.advance(0);
    await fixture.arrive();
    await fixture.clock.advance(299_000);
    expect(fixture.prompts).toHaveLength(1);
    await fixture.clock.advance(61_000);
    expect(fixture.prompts).toHaveLength(2);
    await fixture.arrive("another");
    expect(fixture.prompts).toHaveLength(3);
  });

  test("a burst for an agent that cannot be woken is looked at once a second, and woken for as ever", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 3600 });
    await fixture.clock.advance(0);
    fixture.world.readiness = notReady;
    const burst = async () => {
      for (let n = 0; n < 50; n++) await fixture.arrive();
    };
    await burst();
    expect(outcomes(fixture)).toEqual(["doorbell empty", "doorbell busy_skip"]);
    await fixture.clock.advance(999);
    expect(outcomes(fixture)).toHaveLength(2);
    await fixture.clock.advance(1);
    expect(outcomes(fixture)).toHaveLength(3);
    await burst();
    fixture.world.readiness = ready;
    fixture.notifier.wake();
    await settle();
    expect(outcomes(fixture).slice(3)).toEqual(["doorbell enqueued"]);
    fixture.notifier.update({ min_gap_seconds: 10 });
    await burst();
    expect(outcomes(fixture).slice(4)).toEqual(["doorbell wake_held"]);
    await fixture.clock.advance(10_000);
    expect(outcomes(fixture).slice(5)).toEqual(["doorbell wake_held", "doorbell enqueued"]);
  });

  test("mail that a gap holds back wakes when the gap is over, not at the next scheduled poll", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 3600, min_gap_seconds: 30 });
    await fixture.clock.advance(0);
    await fixture.arrive();
    await fixture.clock.advance(10_000);
    await fixture.arrive("another");
    expect(outcomes(fixture).at(-1)).toBe("doorbell wake_held");
    await fixture.clock.advance(19_000);
    expect(fixture.prompts).toHaveLength(1);
    await fixture.clock.advance(1000);
    expect(outcomes(fixture).slice(-2)).toEqual(["doorbell wake_held", "doorbell enqueued"]);
    await fixture.clock.advance(600_000);
    expect(fixture.prompts).toHaveLength(2);
  });

  test("mail of the quiet hours wakes when they are over, or are taken away", async () => {
    const quiet_hours = { start: "00:00", end: "02:00", time_zone: "UTC" };
    await using fixture = createNotifierFixture({ interval_seconds: 86_400, quiet_hours });
    await fixture.arrive();
    await fixture.clock.advance(2 * 3_600_000);
    expect(fixture.prompts).toHaveLength(1);
    fixture.notifier.update({ quiet_hours: { ...quiet_hours, end: "12:00" } });
    await fixture.arrive("another");
    expect(fixture.prompts).toHaveLength(1);
    fixture.notifier.update({ quiet_hours: "none" });
    await settle();
    expect(fixture.prompts).toHaveLength(2);
  });

  test("who disables it while the context is tended is not woken for", async () => {
    await using fixture = createNotifierFixture({
      interval_seconds: 60,
      pre_notification_context_action: "compact",
    });
    fixture.world.onMaintenance = () => void fixture.notifier.disable();
    await fixture.arrive();
    expect(fixture.tended).toEqual(["compact"]);
    expect([fixture.prompts, outcomes(fixture).at(-1)]).toEqual([[], "doorbell wake_held"]);
  });

  test("the audit pages backwards and counts what waking cost", async () => {
    await using fixture = createNotifierFixture({ interval_seconds: 1 });
    await fixture.arrive();
    await fixture.clock.advance(5_000);
    const first = fixture.notifier.audit({ limit: 2 });
    expect(first.rows).toHaveLength(2);
    const rest = fixture.notifier.audit({ limit: 100, before: first.next_before ?? 0 });
    expect(rest.next_before).toBeNull();
    const all = [...first.rows, ...rest.rows];
    expect(all.map((row) => row.audit_id)).toEqual(all.map((_, index) => all.length - index));
    expect(all[0]?.prompt_chars).toBe(fixture.prompts.at(-1)?.length ?? -1);
  });
});

/** The contract's precedence, written a second time: the first line whose facts hold is the outcome. */
const table: readonly [NotifierOutcome, (fixture: NotifierFixture, mailCount: number) => boolean][] = [
  ["poll_error", ({ world }) => world.binding !== null],
  ["empty", (_, mailCount) => mailCount === 0],
  ["busy_skip", ({ world }) => world.admission !== "open"],
  ["busy_skip", ({ world }) => world.execution !== "idle"],
  ["busy_skip", ({ world }) => world.depth > 0],
  ["busy_skip", ({ world }) => !world.readiness.ready],
  ["pre_notification_context_error", ({ world, notifier }) => compacts(notifier) && world.problem !== null],
  [
    "context_recovery_error",
    ({ world, notifier }) =>
      world.degraded !== null &&
      notifier.status().context_error_policy === "clear_context" &&
      world.problem !== null,
  ],
  ["poll_error", ({ world }) => world.refuse !== null],
  ["enqueued", () => true],
];
const compacts = (notifier: Notifier) => notifier.status().pre_notification_context_action === "compact";

test("500 scheduled polls at random states decide as the table says", async () => {
  const random = randomFrom(20_261_121);
  const chance = (probability: number) => random() < probability;
  await using fixture = createNotifierFixture({ interval_seconds: 10 });
  await fixture.clock.advance(0);
  const seen = new Map<string, number>();
  for (let cycle = 0; cycle < 500; cycle++) {
    Object.assign(fixture.world, {
      readiness: chance(0.3) ? notReady : ready,
      admission: chance(0.1) ? "blocked_unavailable" : "open",
      execution: chance(0.1) ? "running" : "idle",
      depth: chance(0.1) ? 3 : 0,
      degraded: chance(0.2) ? "unknown" : null,
      problem: chance(0.3) ? "not ready again" : null,
      binding: null,
      refuse: chance(0.1) ? new Error("disk full") : null,
    });
    fixture.notifier.update({
      mode: chance(0.5) ? "any_inbox" : "unread_only",
      pre_notification_context_action: chance(0.3) ? "compact" : "none",
      context_error_policy: chance(0.5) ? "clear_context" : "continue_current",
    });
    const held = await fixture.inbox.list(everything);
    const refs = held.messages.map((message) => message.message_ref);
    if (refs.length > 0 && chance(0.4)) await fixture.inbox.archive(refs.slice(0, 2));
    if (refs.length > 2 && chance(0.5)) await fixture.inbox.mark(refs.slice(2), { read: true });
    if (chance(0.3)) await fixture.arrive(`mail ${cycle}`);
    if (chance(0.1)) fixture.world.binding = "half written";
    const { mode } = fixture.notifier.status();
    const counted = await fixture.inbox.list({
      ...everything,
      readState: mode === "unread_only" ? "unread" : "any",
      archived: false,
    });
    const eligible = counted.messages.length;
    const want = table.find(([, holds]) => holds(fixture, eligible))?.[0];
    const prompts = fixture.prompts.length;
    await fixture.clock.advance(10_000);
    const row = fixture.notifier.audit({ limit: 20 }).rows.find(({ trigger }) => trigger === "interval");
    expect({ cycle, outcome: row?.outcome }).toEqual({ cycle, outcome: want });
    const sent = want === "enqueued";
    expect([cycle, (row?.prompt_chars ?? 0) > 0, row?.enqueued_request_id !== null]).toEqual([
      cycle,
      sent,
      sent,
    ]);
    if (!sent) {
      const fresh = fixture.prompts.slice(prompts);
      expect([cycle, fresh.length]).toEqual([cycle, 0]);
    }
    seen.set(row?.outcome ?? "", (seen.get(row?.outcome ?? "") ?? 0) + 1);
  }
  expect([...seen.keys()].sort()).toEqual([
    "busy_skip",
    "context_recovery_error",
    "empty",
    "enqueued",
    "poll_error",
    "pre_notification_context_error",
  ]);
});
