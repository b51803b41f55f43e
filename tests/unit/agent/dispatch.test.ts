import { describe, expect, test } from "bun:test";
import { dispatchText } from "../../../src/services/agent/dispatch.ts";
import { mostQuestions, submitAgain } from "../../../src/services/agent/handed-back.ts";
import { createFakeComposer } from "../../support/fake-composer.ts";

async function finished<T>(clock: { advance(ms: number): Promise<void> }, work: Promise<T>): Promise<T> {
  await clock.advance(20_000);
  return work;
}

describe("typing a prompt", () => {
  test("a composer of our own text gets one Enter", async () => {
    const { deps, clock, pressed, told } = createFakeComposer();
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted", asked: false });
    expect({ pressed, told }).toEqual({ pressed: ["Enter"], told: ["typed", "submitted"] });
  });

  test("a person's first letter is never submitted with it, and stands again", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({ person: "p" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: false, disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["C-u", "p"], draft: "p" });
  });
});

test("what stood behind the text when Enter was pressed is told with the proof", async () => {
  const { deps, clock, proofs } = createFakeComposer({ after: " now" });
  await finished(clock, dispatchText(deps, "do it"));
  expect(proofs.at(-1)).toBe('the tool works after Enter 1; behind the text stood "now"');
});

describe("a tool that is killed", () => {
  test("between the text and its Enter gets no Enter: a shell may stand there now", async () => {
    const { deps, clock, pressed } = createFakeComposer({ killed: "paste" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toEqual({ outcome: "failed", typed: true, detail: "the tool ended before Enter" });
    expect(pressed).toEqual([]);
  });

  test("at Enter, before it was seen to work, has not taken the prompt", async () => {
    const { deps, clock, told } = createFakeComposer({ killed: "enter" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: true });
    expect(told).toEqual(["typed"]);
  });

  test("ended by a command that ends it has taken that", async () => {
    const { deps, clock, told } = createFakeComposer({ killed: "enter" });
    expect(await finished(clock, dispatchText(deps, "/exit"))).toMatchObject({ outcome: "submitted" });
    expect(told).toEqual(["typed", "submitted"]);
  });
});

describe("a question that comes up between the text and its Enter", () => {
  test("is not answered by that Enter; the prompt waits to be handed back", async () => {
    const { deps, clock, pressed, told } = createFakeComposer({ menu: true });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted", asked: true });
    expect({ pressed, told }).toEqual({ pressed: [], told: ["typed", "submitted"] });
  });

  test("fails a command, which is not taken up again", async () => {
    const { deps, clock, pressed } = createFakeComposer({ menu: true });
    expect(await finished(clock, dispatchText(deps, "/clear"))).toMatchObject({
      outcome: "failed",
      typed: true,
    });
    expect(pressed).toEqual([]);
  });
});

describe("a prompt that came back from a question", () => {
  test("is submitted when exactly it stands in the composer", async () => {
    const { deps, clock, pressed } = createFakeComposer({ draft: "do it" });
    const outcome = await finished(clock, submitAgain(deps, { text: "do it", left: mostQuestions }));
    expect(outcome).toMatchObject({ outcome: "submitted" });
    expect(pressed).toEqual(["Enter"]);
  });

  test("is left alone once a person has changed it", async () => {
    const { deps, clock, pressed } = createFakeComposer({ draft: "do it not" });
    expect(await finished(clock, submitAgain(deps, { text: "do it", left: mostQuestions }))).toBeNull();
    expect(pressed).toEqual([]);
  });
});
