import { describe, expect, test } from "bun:test";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { createDice } from "../../simulation/dice.ts";
import { compiled, loadCorpus, observe, type Recording } from "./corpus.ts";
import { screenMutations } from "./screen-mutations.ts";

const decisions = loadCorpus().filter(({ labels }) => labels.decision !== null);

/** The first `count` rows are above the pane. */
const withoutTop = (seen: Observation, count: number): Observation => ({
  ...seen,
  rows: seen.rows.slice(count),
  cursor: seen.cursor && { ...seen.cursor, row: Math.max(0, seen.cursor.row - count) },
  pane: { ...seen.pane, height: seen.pane.height - count },
});

const decisionOf = (seen: Observation, tool: string) => detect(seen, compiled(tool)).awaitingDecision;

/** Options and chosen rows as they are on the screen. */
const optionRow = /^[\s│┃|]*(?:[❯›●▸] *\S|\d+[.)] )/u;

function expectHonest(recording: Recording, seen: Observation): void {
  const decision = decisionOf(seen, recording.tool);
  if (decision === null) return;
  expect(decision.question).not.toMatch(optionRow);
  expect(recording.labels.decision?.options ?? []).not.toContain(decision.question);
  expect(
    decision.options.length > 0 || (decision.keys ?? []).length > 0 || decision.unread === undefined,
  ).toBe(true);
}

describe("a dialog whose upper rows are out of sight", () => {
  test.each(decisions)("$tool $version $name", (recording) => {
    const seen = observe(recording);
    for (let count = 1; count < seen.rows.length - 2; count++)
      expectHonest(recording, withoutTop(seen, count));
  });

  test("says that its options could not be read, and which keys it takes", () => {
    const recording = decisions.find(({ tool, name }) => tool === "claude" && name === "model-picker");
    if (!recording) throw new Error("no recording");
    const seen = observe(recording);
    const first = seen.rows.findIndex((row) => row.text.includes("1. Default"));
    expect(decisionOf(seen, "claude")?.unread).toBeUndefined();
    expect(decisionOf(withoutTop(seen, first + 1), "claude")).toMatchObject({
      options: [],
      unread: "its options could not be read",
      keys: ["Up", "Down", "Enter", "Escape"],
    });
  });
});

test("a dialog in other words or of another width never takes an option for the question", () => {
  for (const recording of decisions) {
    for (const kind of ["reworded", "translated", "narrowed", "wrapped", "row_inserted"]) {
      for (const seed of [3, 4]) {
        const seen = screenMutations[kind]?.(observe(recording), createDice(seed));
        const decision = seen ? decisionOf(seen, recording.tool) : null;
        if (decision) expect(decision.question).not.toMatch(optionRow);
      }
    }
  }
});

test("a numbered dialog in words of another language is read by its shape", () => {
  const numbered = decisions.filter(
    ({ tool, labels }) => (labels.decision?.options.length ?? 0) > 1 && tool !== "opencode",
  );
  const seen = numbered.map((recording) => {
    const reworded = screenMutations["reworded"]?.(observe(recording), createDice(1));
    return (reworded && decisionOf(reworded, recording.tool)?.options.length) ?? 0;
  });
  expect(seen.filter((count) => count > 1).length / seen.length).toBeGreaterThan(0.7);
});
