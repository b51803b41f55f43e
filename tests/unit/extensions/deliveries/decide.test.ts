import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { AttentionItem } from "../../../../src/protocol/attention.ts";
import type { DeliveryRule } from "../../../../src/protocol/delivery.ts";
import {
  decideFailure,
  giveUpAfterMs,
  keyOf,
  leastAttempts,
  matchesName,
  matchesRule,
  planSending,
  planWriting,
  retryAfterMs,
  toDelivered,
} from "../../../../src/services/extensions/deliveries/decide.ts";
import type { NamedRule } from "../../../../src/services/extensions/deliveries/rules.ts";
import { attentionItem } from "../../../support/attention-items.ts";

describe("a rule is about an item", () => {
  test.each([
    { id: "of all kinds and agents", rule: {}, want: true },
    { id: "of its kind", rule: { reasons: ["permission"] }, want: true },
    { id: "not of another kind", rule: { reasons: ["question"] }, want: false },
    { id: "of its name", rule: { agents: ["worker"] }, want: true },
    { id: "of one of several patterns", rule: { agents: ["build-*", "work??"] }, want: true },
    { id: "not of another name", rule: { agents: ["build-*"] }, want: false },
    { id: "not of a part of the name", rule: { agents: ["work"] }, want: false },
    { id: "of kind and name alike", rule: { reasons: ["question"], agents: ["*"] }, want: false },
  ] satisfies { id: string; rule: Pick<DeliveryRule, "reasons" | "agents">; want: boolean }[])(
    "$id",
    ({ rule, want }) => {
      expect(matchesRule(rule, { kind: "permission", agent_name: "worker" })).toBe(want);
    },
  );

  test("mail of no known agent is for rules about all agents", () => {
    const mail = { kind: "mail", agent_name: null } as const;
    expect(matchesRule({ reasons: ["mail"] }, mail)).toBe(true);
    expect(matchesRule({ agents: ["*"] }, mail)).toBe(true);
    expect(matchesRule({ agents: ["worker"] }, mail)).toBe(false);
  });

  test("a pattern means what its regular expression means, whatever it holds", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?", "(", "\\"), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (pattern, name) => {
        const plain = pattern
          .replace(/[.()\\]/g, "\\$&")
          .replaceAll("*", "[^]*")
          .replaceAll("?", "[^]");
        expect(matchesName(pattern, name)).toBe(new RegExp(`^${plain}$`, "u").test(name));
      }),
    );
  });

  test("a pattern of many wildcards takes no time", () => {
    expect(matchesName("*a".repeat(32), "a".repeat(64).concat("b"))).toBe(false);
  });
});

describe("what is written of the items that wait", () => {
  const hook: NamedRule = {
    name: "hook",
    kind: "webhook",
    target: { url: "https://x.test", secret_file: "s" },
  };
  const dead: NamedRule = { ...hook, name: "dead", reasons: ["dead_agent"] };
  const item = attentionItem({ id: "q" });
  const stored = (epoch: number | null, rule = "hook") => [keyOf(rule, { id: "q", epoch })] as const;

  test.each([
    { id: "nothing without items", items: [], written: [], entries: [], gone: [] },
    { id: "each item of each rule about it", items: [item], written: [], entries: ["hook q"], gone: [] },
    { id: "nothing that is written", items: [item], written: stored(3), entries: [], gone: [] },
    {
      id: "an item of another epoch again; the former waits no more",
      items: [item],
      written: stored(2),
      entries: ["hook q"],
      gone: stored(2),
    },
    { id: "what waits no more", items: [], written: stored(3), entries: [], gone: stored(3) },
    {
      id: "what a rule that is gone sent",
      items: [item],
      written: [...stored(3), ...stored(3, "former")],
      entries: [],
      gone: stored(3, "former"),
    },
  ])("$id", ({ items, written, entries, gone }) => {
    const plan = planWriting({
      rules: [hook, dead],
      items,
      written: new Map(written.map((key) => [key, { rule: "hook", itemId: "q" }])),
      nowMs: 0,
    });
    expect(plan.entries.map(({ rule, item: { id } }) => `${rule} ${id}`)).toEqual([...entries]);
    expect(plan.gone).toEqual([...gone]);
  });
});

describe("when an item is sent", () => {
  const night = { start: "22:00", end: "07:00", time_zone: "Europe/Berlin" };
  const at = (time: string) => Date.parse(`2026-01-10T${time}:00Z`);
  test.each([
    { id: "at once", rule: {}, now: "12:00", want: { afterMs: 0, gathers: false } },
    {
      id: "with others of the digest",
      rule: { digest: 90 },
      now: "12:00",
      want: { afterMs: 90_000, gathers: true },
    },
    {
      id: "at once outside quiet hours",
      rule: { quiet_hours: night },
      now: "20:59",
      want: { afterMs: 0, gathers: false },
    },
    // 21:00 UTC is 22:00 in Berlin.
    {
      id: "together at the end of quiet hours",
      rule: { quiet_hours: night },
      now: "21:00",
      want: { afterMs: 9 * 3_600_000, gathers: true },
    },
    {
      id: "after midnight too",
      rule: { quiet_hours: night },
      now: "05:59",
      want: { afterMs: 60_000, gathers: true },
    },
    {
      id: "at the end of the longer one",
      rule: { quiet_hours: night, digest: 600 },
      now: "05:59",
      want: { afterMs: 600_000, gathers: true },
    },
  ])("$id", ({ rule, now, want }) => {
    const { dueMs, gathers } = planSending(rule, "question", at(now));
    expect({ afterMs: dueMs - at(now), gathers }).toEqual(want);
  });

  test.each([
    { kind: "dead_gateway", afterMs: 10_000 },
    { kind: "closed_queue", afterMs: 10_000 },
    { kind: "question", afterMs: 0 },
    { kind: "failed_request", afterMs: 0 },
  ] as const)("$kind after $afterMs ms: a restart shows some kinds for a moment", ({ kind, afterMs }) => {
    expect(planSending({}, kind, 0).dueMs).toBe(afterMs);
  });
});

describe("an attempt that failed", () => {
  test("is repeated after a pause that doubles, up to an hour, less a random part of at most a half", () => {
    const pauses = [1, 2, 3, 4, 10, 11, 40].map((attempt) => retryAfterMs(attempt, 0) / 1000);
    expect(pauses).toEqual([5, 10, 20, 40, 2560, 3600, 3600]);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempt, random) => {
          const [least, most] = [retryAfterMs(attempt, 0) / 2, retryAfterMs(attempt, 0)];
          expect(retryAfterMs(attempt, random)).toBeGreaterThanOrEqual(Math.floor(least));
          expect(retryAfterMs(attempt, random)).toBeLessThanOrEqual(most);
        },
      ),
    );
  });

  const facts = {
    nowMs: 1000,
    firstAttemptMs: 0,
    attempt: 1,
    random: 0,
    askedMs: null,
    refusedForGood: false,
  };
  test.each([
    { id: "again", given: {}, want: { state: "pending", dueMs: 6000 } },
    {
      id: "as late as the target asks",
      given: { askedMs: 60_000 },
      want: { state: "pending", dueMs: 61_000 },
    },
    {
      id: "no later than in an hour",
      given: { askedMs: 1e12 },
      want: { state: "pending", dueMs: 3_601_000 },
    },
    { id: "no earlier than otherwise", given: { askedMs: 1 }, want: { state: "pending", dueMs: 6000 } },
    {
      id: "never when the target is gone for good",
      given: { refusedForGood: true },
      want: { state: "given_up" },
    },
    {
      id: "just before a day has passed",
      given: { nowMs: giveUpAfterMs - 1 },
      want: { state: "pending", dueMs: giveUpAfterMs + 4999 },
    },
    {
      id: "never after a day",
      given: { nowMs: giveUpAfterMs, attempt: leastAttempts },
      want: { state: "given_up" },
    },
    {
      id: "when a day passed with few attempts, as on a machine that slept",
      given: { nowMs: 3 * giveUpAfterMs, attempt: 2 },
      want: { state: "pending", dueMs: 3 * giveUpAfterMs + 10_000 },
    },
  ])("is made $id", ({ given, want }) => {
    expect(decideFailure({ ...facts, ...given })).toEqual(want as never);
  });
});

describe("what a target is given", () => {
  const item = attentionItem({
    kind: "permission",
    question: "Do you want to proceed?",
    subject: { action: "Bash", text: "rm -r build" },
    reason: '"worker" asks for permission: Do you want to proceed? (Bash: rm -r build)',
    evidence: ["the screen"],
    answers: [{ answer: "1", label: "Yes" }],
  });

  test("agent, reason and question, and no command", () => {
    const given = toDelivered(item);
    expect(given).toEqual({
      id: item.id,
      epoch: 3,
      agent: "worker",
      reason: "permission",
      since_utc: item.since_utc,
      summary: '"worker" asks for permission: Do you want to proceed?',
      question: "Do you want to proceed?",
    });
    expect(JSON.stringify(given)).not.toContain("rm -r");
  });

  test("of mail who wrote it, and neither its subject nor whose it is", () => {
    const mail = attentionItem({
      kind: "mail",
      address: "ann@svc.localhost",
      epoch: null,
      question: null,
      reason: 'ann@svc.localhost has mail from "worker": the secret',
      evidence: ["from worker@x.test"],
    });
    const given = toDelivered(mail);
    expect(given).toMatchObject({
      agent: "worker",
      reason: "mail",
      summary: '"worker" sent mail that nobody has read',
    });
    expect(JSON.stringify(given)).not.toMatch(/secret|ann|x\.test/);
    expect(toDelivered(mail, ["evidence"]).evidence).toEqual([mail.reason, "from worker@x.test"]);
    expect(toDelivered({ ...mail, agent_id: null, agent_name: null })).toMatchObject({
      agent: null,
      summary: "somebody sent mail that nobody has read",
    });
  });

  test("what the rule includes", () => {
    expect(toDelivered(item, ["options", "command", "evidence"])).toMatchObject({
      options: [{ answer: "1", label: "Yes" }],
      command: { action: "Bash", text: "rm -r build" },
      evidence: [item.reason, "the screen"],
    });
  });

  test("is cut, so that no item fills a delivery", () => {
    const long = "x".repeat(100_000);
    const many = Array.from({ length: 1000 }, () => long);
    const big: Partial<AttentionItem> = {
      question: long,
      subject: { action: long, text: long },
      reason: long,
      evidence: many,
      answers: many.map((label) => ({ answer: "1", label })),
    };
    const given = toDelivered(attentionItem(big), ["options", "command", "evidence"]);
    expect(JSON.stringify(given).length).toBeLessThan(80_000);
    expect(given.summary.length).toBe(200);
  });
});
