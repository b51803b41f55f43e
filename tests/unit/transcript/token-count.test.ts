import { expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { createTokenCount } from "../../../src/services/transcript/token-count.ts";
import type { ReadTurn } from "../../../src/services/transcript/turn-source.ts";
import { noTokens } from "../../../src/services/transcript/turn-usage.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";
import { fakeTurn, fakeTurns } from "../../support/fake-transcript.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

/** The running sum of tokens that a gateway keeps. */

function open(scratch: Scratch, clock = createFakeClock()) {
  const turns: ReadTurn[] = [];
  const events: { kind: string; fields: Record<string, unknown> }[] = [];
  const problems: string[] = [];
  const changes = { count: 0 };
  const count = createTokenCount({
    files: scratch.files,
    clock,
    sessionRoot: scratch.folder,
    sources: () => [fakeTurns(turns)],
    events: { append: (kind, fields = {}) => void events.push({ kind, fields }) },
    onChange: () => void changes.count++,
    onProblem: (what) => void problems.push(what),
  });
  const nowMs = clock.nowMs();
  return {
    ...{ clock, count, turns, events, problems, changes },
    /** `afterMs`: when it began, counted from the opening. */
    turn(id: string, afterMs: number, input: number, output: number): ReadTurn {
      const model = { model: "m", ...noTokens, input_tokens: input, output_tokens: output };
      return fakeTurn(id, { startedMs: nowMs + afterMs, usage: [model] });
    },
    async look(advanceMs = 3_000) {
      count.countSoon();
      await settle();
      await clock.advance(advanceMs);
      await settle();
      await clock.advance(advanceMs);
      await settle();
    },
  };
}

const figures = (count: ReturnType<typeof open>["count"]) => {
  const sum = count.sum();
  return sum && [sum.turns, sum.input_tokens, sum.output_tokens];
};

test("turns are added once each, with all that came unseen; those from before the gateway are not", async () => {
  using scratch = createScratch();
  const at = open(scratch);
  expect(figures(at.count)).toBeNull();
  at.turns.push(at.turn("old", -60_000, 900, 900), at.turn("a", 10, 5, 1));
  await at.look();
  expect(figures(at.count)).toEqual([1, 5, 1]);
  at.turns.push(at.turn("b", 20, 7, 2), at.turn("c", 30, 11, 3));
  await at.look();
  await at.look();
  expect(figures(at.count)).toEqual([3, 23, 6]);
  expect(at.events.map(({ kind, fields }) => [kind, fields["turn_id"], fields["input_tokens"]])).toEqual([
    ["turn_usage", "a", 5],
    ["turn_usage", "b", 7],
    ["turn_usage", "c", 11],
  ]);
  expect(at.changes.count).toBe(2);
  expect(at.count.sum()).toBe(at.count.sum());
});

test("a turn whose record grows is counted by its last figures", async () => {
  using scratch = createScratch();
  const at = open(scratch);
  at.turns.push(at.turn("a", 10, 5, 1));
  await at.look();
  at.turns[0] = at.turn("a", 10, 9, 2);
  await at.look();
  expect(figures(at.count)).toEqual([1, 9, 2]);
  expect(at.events).toHaveLength(2);
});

test("a turn without a count is no counted turn", async () => {
  using scratch = createScratch();
  const at = open(scratch);
  at.turns.push(fakeTurn("a", { startedMs: at.clock.nowMs() + 10 }));
  await at.look();
  expect(figures(at.count)).toBeNull();
  expect(existsSync(scratch.path("transcript/tokens.json"))).toBe(false);
});

test("the next gateway goes on with the sum, and counts what came while none ran", async () => {
  using scratch = createScratch();
  const clock = createFakeClock();
  const first = open(scratch, clock);
  first.turns.push(first.turn("a", 10, 5, 1));
  await first.look();
  await first.count.stop();
  await clock.advance(60_000);
  const second = open(scratch, clock);
  expect(figures(second.count)).toEqual([1, 5, 1]);
  second.turns.push(...first.turns, second.turn("b", -30_000, 7, 2), second.turn("c", 10, 1, 1));
  await second.look();
  expect(figures(second.count)).toEqual([3, 13, 4]);
  expect(second.count.sum()?.since_utc).toBe(first.count.sum()?.since_utc ?? "");
});

test("a damaged file is named, and the count begins again", async () => {
  using scratch = createScratch();
  scratch.files.ensureDirectory("test", scratch.path("transcript"));
  writeFileSync(scratch.path("transcript/tokens.json"), "{", { mode: 0o600 });
  const at = open(scratch);
  expect(figures(at.count)).toBeNull();
  expect(at.problems).toEqual(["tokens.json is damaged: tokens are counted from now on"]);
});

test("it stops while a look is due", async () => {
  using scratch = createScratch();
  const at = open(scratch);
  at.turns.push(at.turn("a", 10, 5, 1));
  at.count.countSoon();
  await settle();
  await at.count.stop();
  await at.clock.advance(10_000);
  await settle();
  expect(figures(at.count)).toBeNull();
});

test("a turn whose count could not be written is counted at the next look", async () => {
  using scratch = createScratch();
  const at = open(scratch);
  at.turns.push(at.turn("a", 10, 5, 1));
  scratch.files.ensureDirectory("test", scratch.path("transcript/tokens.json/in-the-way"));
  await at.look();
  expect([at.events.length, at.problems.length > 0]).toEqual([0, true]);
  rmSync(scratch.path("transcript/tokens.json"), { recursive: true });
  await at.look();
  expect([figures(at.count), at.events.length]).toEqual([[1, 5, 1], 1]);
});

test("nothing is counted after the end", async () => {
  using scratch = createScratch();
  const at = open(scratch);
  at.turns.push(at.turn("a", 10, 5, 1));
  await at.count.stop();
  await at.look();
  expect(figures(at.count)).toBeNull();
});
