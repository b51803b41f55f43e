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
