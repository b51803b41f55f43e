import { describe, expect, test } from "bun:test";
import {
  initialLooks,
  type LooksEvent,
  type LooksState,
  next,
} from "../../../../../src/services/extensions/observe/ledger/ledger.ts";
import { createFakeClock, settle } from "../../../../support/fake-clock.ts";
import { fakeTurns } from "../../../../support/fake-transcript.ts";
import { createLedgerFixture, tokensOf } from "../../../../support/ledger-fixture.ts";
import { createScratch } from "../../../../support/scratch.ts";

/** What a gateway counts of its agent's turns. */

test("turns are added once each, with all that came unseen; those from before the gateway are not", async () => {
  await using at = createLedgerFixture();
  expect(at.figures()).toBeNull();
  at.turns.push(at.turn("old", -60_000, 900, 900), at.turn("a", 10, 5, 1));
  await at.look();
  expect(at.figures()).toEqual([1, 5, 1]);
  at.turns.push(at.turn("b", 20, 7, 2), at.turn("c", 30, 11, 3));
  await at.look();
  await at.look();
  expect(at.figures()).toEqual([3, 23, 6]);
  expect(at.events.map(({ kind, fields }) => [kind, fields["turn_id"], fields["input_tokens"]])).toEqual([
    ["turn_usage", "a", 5],
    ["turn_usage", "b", 7],
    ["turn_usage", "c", 11],
  ]);
  expect(at.changes.count).toBe(2);
  expect(at.ledger.sum()).toBe(at.ledger.sum());
});

test("a turn whose record grows is counted by its last figures, also when the next one has begun by then", async () => {
  await using at = createLedgerFixture();
  at.turns.push(at.turn("a", 10, 5, 1, { status: "running" }));
  await at.look();
  at.turns[0] = at.turn("a", 10, 9, 2);
  at.turns.push(at.turn("b", 20, 1, 1));
  await at.look();
  expect(at.figures()).toEqual([2, 10, 3]);
  expect(at.entries().map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(at.events.map(({ fields }) => fields["turn_id"])).toEqual(["a", "a", "b"]);
});

test("the next gateway goes on with the sum, and counts what came and grew while none ran", async () => {
  using scratch = createScratch();
  const [path, clock] = [scratch.path("queue.sqlite"), createFakeClock()];
  const first = createLedgerFixture({ path, clock });
  first.turns.push(first.turn("a", 10, 5, 1, { status: "running" }));
  await first.look();
  const since = first.ledger.sum()?.since_utc;
  await first[Symbol.asyncDispose]();
  await clock.advance(60_000);
  await using second = createLedgerFixture({ path, clock });
  expect(second.figures()).toEqual([1, 5, 1]);
  second.turns.push(first.turn("a", 10, 6, 2), second.turn("b", -30_000, 7, 2), second.turn("c", 10, 1, 1));
  await second.look();
  expect(second.figures()).toEqual([3, 14, 5]);
  expect(second.ledger.sum()?.since_utc).toBe(since ?? "");
  expect(second.entries().map(({ wake_reason }) => wake_reason)).toEqual(["by_hand", "unknown", "by_hand"]);
});

test("the ledger of a session that an earlier version counted begins when that began", async () => {
  const clock = createFakeClock();
  await using at = createLedgerFixture({ clock, countedSinceMs: clock.nowMs() - 120_000 });
  at.turns.push(at.turn("a", -60_000, 5, 1), at.turn("b", -130_000, 900, 900));
  await at.look();
  expect(at.figures()).toEqual([1, 5, 1]);
});

test("more turns than are read at once are all counted", async () => {
  await using at = createLedgerFixture();
  for (let turn = 1; turn <= 450; turn++) at.turns.push(at.turn(`t${turn}`, turn, turn, 1));
  await at.look();
  expect(at.figures()).toEqual([450, (450 * 451) / 2, 450]);
});

test("turns of the same millisecond are counted each", async () => {
  await using at = createLedgerFixture();
  at.turns.push(at.turn("a", 10, 5, 1), at.turn("b", 10, 6, 1));
  await at.look();
  expect(at.figures()).toEqual([2, 11, 2]);
});

test("a conversation that a tool copied when it was continued counts once", async () => {
  const clock = createFakeClock();
  const seen: ReturnType<typeof fakeTurns>[] = [];
  await using at = createLedgerFixture({ clock, sources: () => seen });
  const copied = (prefix: string) => [at.turn(`${prefix}-1`, 10, 5, 1), at.turn(`${prefix}-2`, 20, 7, 2)];
  seen.push(fakeTurns(copied("first")), fakeTurns(copied("early-copy")));
  await at.look();
  seen.push(fakeTurns([...copied("late-copy"), at.turn("new", 30, 1, 1)]));
  await at.look();
  expect(at.figures()).toEqual([3, 13, 4]);
});

test("the tokens of each model are kept apart", async () => {
  await using at = createLedgerFixture();
  const usage = [
    tokensOf(10, 2, { model: "large", cached_input_tokens: 4 }),
    tokensOf(3, 1, { model: null }),
  ];
  at.turns.push(at.turn("a", 10, 0, 0, { usage }));
  await at.look();
  expect(at.entries()).toMatchObject([{ turn_id: "a", usage, covered: true }]);
  expect(at.ledger.sum()).toMatchObject({
    turns: 1,
    input_tokens: 13,
    cached_input_tokens: 4,
    output_tokens: 3,
  });
});

test.each([
  { id: "the tool counts nothing of a turn that ended", facts: { status: "completed" }, want: [false] },
  { id: "the terminal alone was read", facts: { source: "screen", status: "completed" }, want: [false] },
  { id: "it was interrupted before the tool counted it", facts: { status: "interrupted" }, want: [false] },
  { id: "it failed before the model answered", facts: { status: "failed" }, want: [true] },
  { id: "it still runs", facts: { status: "running" }, want: [] },
] as const)("a turn without a count: $id", async ({ facts, want }) => {
  await using at = createLedgerFixture();
  at.turns.push(at.turn("a", 10, 0, 0, facts));
  await at.look();
  expect(at.entries().map(({ covered }) => covered)).toEqual([...want]);
  expect(at.figures()).toBeNull();
  expect(at.events).toEqual([]);
});

test("a headless turn names its request, whose kind is the reason", async () => {
  await using at = createLedgerFixture();
  const { acceptedAtUtc } = { acceptedAtUtc: "2026-11-25T00:00:00.000+00:00" };
  const row = { lane: "turn_boundary", payload: { prompt: "mail" }, acceptedAtUtc, epoch: 1 } as const;
  await at.requests.insertAccepted({ ...row, requestId: "gwreq-1", kind: "mail_notifier_prompt" });
  await at.requests.insertAccepted({ ...row, requestId: "gwreq-2", kind: "submit_prompt" });
  const of = (id: string, afterMs: number, requestId: string | null, acp = false) =>
    at.turn(id, afterMs, 1, 1, { source: "headless", headless: { requestId, acp } });
  at.turns.push(
    of("a", 1, "gwreq-1"),
    of("b", 2, "gwreq-2", true),
    of("c", 3, "greminder-00-11"),
    of("d", 4, null),
  );
  at.turns.push(of("e", 5, "gwreq-lost"));
  await at.look();
  expect(
    at
      .entries()
      .map(({ turn_id, wake_reason, source, request_id }) => [turn_id, wake_reason, source, request_id]),
  ).toEqual([
    ["a", "mail", "headless", "gwreq-1"],
    ["b", "prompt", "acp", "gwreq-2"],
    ["c", "reminder", "headless", "greminder-00-11"],
    ["d", "prompt", "headless", null],
    ["e", "unknown", "headless", "gwreq-lost"],
  ]);
});

test("a turn of a terminal is for the prompt that was typed, once", async () => {
  await using at = createLedgerFixture();
  at.ledger.promptBegins({ prompt: "direct" });
  at.ledger.promptBegins({ prompt: "remember", requestId: "greminder-00-11" });
  await settle();
  const typed = (id: string, afterMs: number, prompt: string) => at.turn(id, afterMs, 1, 1, { prompt });
  at.turns.push(typed("a", 10, "direct"), typed("b", 20, "remember"), typed("c", 30, "direct"));
  await at.look();
  expect(at.entries().map(({ wake_reason, request_id }) => [wake_reason, request_id])).toEqual([
    ["prompt", null],
    ["reminder", "greminder-00-11"],
    ["by_hand", null],
  ]);
});

test("a request that an earlier gateway typed is found in the queue", async () => {
  await using at = createLedgerFixture();
  const atUtc = new Date(at.clock.nowMs()).toISOString();
  await at.requests.insertAccepted({
    requestId: "gwreq-1",
    kind: "submit_prompt",
    lane: "turn_boundary",
    acceptedAtUtc: atUtc,
    epoch: 1,
    payload: { prompt: "build it" },
  });
  at.requests.transition("test", [
    { requestId: "gwreq-1", from: "accepted", to: "running", startedAtUtc: atUtc },
  ]);
  at.turns.push(
    at.turn("a", 10, 1, 1, { prompt: "another text" }),
    at.turn("b", 20, 1, 1, { prompt: "build it " }),
    at.turn("c", 30, 1, 1, { prompt: "build it" }),
  );
  await at.look();
  expect(at.entries().map(({ wake_reason, request_id }) => [wake_reason, request_id])).toEqual([
    ["by_hand", null],
    ["prompt", "gwreq-1"],
    ["by_hand", null],
  ]);
});

test("a turn that could not be written is counted at the next look", async () => {
  let refusing = true;
  const steps = {
    before(label: string) {
      if (refusing && label === "sql:ledger") throw new Error("refused");
    },
    after() {},
  };
  await using at = createLedgerFixture({ steps });
  at.turns.push(at.turn("a", 10, 5, 1));
  await at.look();
  expect([at.events.length, at.problems.length > 0, at.figures()]).toEqual([0, true, null]);
  refusing = false;
  await at.look();
  expect([at.figures(), at.events.length]).toEqual([[1, 5, 1], 1]);
});

test("it stops while a look is due, and counts nothing after the end", async () => {
  await using at = createLedgerFixture();
  at.turns.push(at.turn("a", 10, 5, 1));
  at.ledger.countSoon();
  await settle();
  await at.ledger.stop();
  await at.clock.advance(10_000);
  await at.look();
  expect(at.figures()).toBeNull();
});

test("pages, periods and groups agree with each other", async () => {
  await using at = createLedgerFixture();
  const dayMs = 86_400_000;
  for (let turn = 0; turn < 30; turn++) {
    const usage = turn % 10 === 9 ? [] : [tokensOf(turn, 1, { model: turn % 2 ? "odd" : "even" })];
    at.turns.push(at.turn(`t${turn}`, Math.floor(turn / 10) * dayMs + turn + 1, 0, 0, { usage }));
  }
  await at.look();
  const { groups, since_utc } = at.ledger.summary({});
  const sum = (key: "turns" | "turns_not_covered" | "input_tokens") =>
    groups.reduce((all, one) => all + one[key], 0);
  expect([sum("turns"), sum("turns_not_covered"), since_utc]).toEqual([
    30,
    3,
    at.ledger.sum()?.since_utc ?? "",
  ]);
  expect(sum("input_tokens")).toBe(at.ledger.sum()?.input_tokens ?? 0);
  const days = [...new Set(groups.map(({ day }) => day))];
  expect(days).toEqual(days.toSorted().reverse());
  const ids: string[] = [];
  for (let before: number | null | undefined; before !== null; ) {
    const page = at.ledger.page({ limit: 7, ...(before === undefined ? {} : { before }) });
    ids.push(...page.entries.map(({ turn_id }) => turn_id));
    before = page.next;
  }
  expect(ids).toEqual(at.turns.map(({ turnId }) => turnId).toReversed());
  const [newest = "", second = ""] = days;
  const ofSecond = { since: `${second}T00:00:00Z`, until: `${newest}T01:00:00+01:00` };
  expect(at.ledger.summary(ofSecond).groups.every(({ day }) => day === second)).toBe(true);
  expect(at.ledger.page({ limit: 100, ...ofSecond }).entries).toHaveLength(10);
  expect(() => at.ledger.page({ limit: 1, since: "yesterday" })).toThrow("since is no time");
});

describe("when turns are looked up", () => {
  const asked: LooksState = { asked: 1, answered: 0, dueAtMs: [1500, 3500], isStopped: false };
  const stopped: LooksState = { ...asked, dueAtMs: [], isStopped: true };
  const cases: { id: string; from: LooksState; event: LooksEvent; want: Partial<LooksState> }[] = [
    {
      id: "twice after the end of a turn",
      from: initialLooks,
      event: { kind: "asked", nowMs: 1000 },
      want: { asked: 1, dueAtMs: [1500, 3500] },
    },
    {
      id: "after the newest end only",
      from: asked,
      event: { kind: "asked", nowMs: 1400 },
      want: { asked: 2, dueAtMs: [1900, 3900] },
    },
    { id: "once each time", from: asked, event: { kind: "look_began" }, want: { dueAtMs: [3500] } },
    { id: "a look answers", from: asked, event: { kind: "look_ended", ask: 1 }, want: { answered: 1 } },
    {
      id: "a look does not answer for a turn that ended meanwhile",
      from: { ...asked, asked: 2 },
      event: { kind: "look_ended", ask: 1 },
      want: { asked: 2, answered: 1 },
    },
    {
      id: "never once stopped",
      from: asked,
      event: { kind: "stopped" },
      want: { dueAtMs: [], isStopped: true },
    },
    { id: "nor after an end then", from: stopped, event: { kind: "asked", nowMs: 1000 }, want: {} },
  ];
  test.each(cases)("$id", ({ from, event, want }) => {
    expect(next(from, event)).toEqual({ ...from, ...want });
  });
});
