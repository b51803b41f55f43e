import { describe, expect, test } from "bun:test";
import { createFollowedTurns } from "../../../src/services/agent/followed-turns.ts";
import { createFakeComposer } from "../../support/fake-composer.ts";

/** A prompt whose question has gone, with `draft` in the composer. */
async function handBack(draft: string, options: { quick?: boolean } = {}) {
  const composer = createFakeComposer({ draft, ...options });
  const { deps, clock } = composer;
  const exclusivePane = {
    exclusive: <T>(task: (pane: typeof deps.pane) => Promise<T>) => task(deps.pane),
    busy: () => false,
  };
  const log = { line: () => {} };
  const { view, profile } = deps;
  const onLeft = () => {};
  const turns = createFollowedTurns({ view, exclusivePane, clock, log, profile, onLeft });
  const told: string[] = [];
  turns.follow({
    started: false,
    asked: { text: "do it", remaining: 3 },
    onEvidence: ({ step }) => told.push(step),
  });
  await clock.advance(20_000);
  return { ...composer, told };
}

describe("a prompt that a question handed back", () => {
  test("is submitted, and only then begins and ends its turn", async () => {
    const { told, endTurn, pressed } = await handBack("do it");
    expect({ pressed, told }).toEqual({ pressed: ["Enter"], told: ["submitted", "turn_started"] });
    endTurn();
    expect(told).toEqual(["submitted", "turn_started", "turn_ended"]);
  });

  test("has no turn before it is noted, however idle the screen is after Enter", async () => {
    const { told, endTurn } = await handBack("do it", { quick: true });
    expect(told).toEqual(["submitted"]);
    endTurn();
    expect(told).toEqual(["submitted", "turn_started", "turn_ended"]);
  });

  test("was seen at work if it worked before that was proved", async () => {
    const { notes } = await handBack("do it");
    expect(notes).toMatchObject([{ sawActivity: true }]);
  });

  test("is left alone while the composer holds something else", async () => {
    const { told, pressed } = await handBack("do it not");
    expect({ pressed, told }).toEqual({ pressed: [], told: [] });
  });
});

test("what a person's keys added to a prompt is quoted once the tool shows it, and once", async () => {
  const { deps, clock, endTurn } = createFakeComposer();
  const { view, profile } = deps;
  const exclusivePane = {
    exclusive: <T>(task: (pane: typeof deps.pane) => Promise<T>) => task(deps.pane),
    busy: () => false,
  };
  const log = { line: () => {} };
  const turns = createFollowedTurns({ view, exclusivePane, clock, log, profile, onLeft: () => {} });
  const quoted: unknown[] = [];
  let along: string | null = null;
  view.notePrompt({ baseline: null, sawActivity: true, command: false });
  turns.follow({
    started: true,
    asked: null,
    along: () => along,
    onEvidence: ({ step, proof, typed_along }) => quoted.push([step, typed_along, proof]),
  });
  along = "p";
  endTurn();
  expect(quoted).toEqual([
    ["turn_ended", "p", expect.stringContaining('a person typed at that moment, and "p" went along')],
  ]);
});
