import { describe, expect, test } from "bun:test";
import { createDice } from "../../simulation/dice.ts";
import { isWholeMatrix } from "../../support/matrix.ts";
import { loadCorpus, observe, read } from "./corpus.ts";
import { runMutatedCorpus } from "./mutated-corpus.ts";
import { screenMutations } from "./screen-mutations.ts";

test("no agent that is not ready reads as ready, however its screen is drawn", () => {
  // `bun run fuzz --screens 20000` reads more of them.
  const screens = isWholeMatrix ? 1500 : 300;
  const run = runMutatedCorpus({ seed: 1, screens });
  expect(run.wrong).toEqual([]);
  expect(run.total.notReady).toBeGreaterThan(screens / 2);
}, 60_000);

describe("a ready agent still reads so", () => {
  const ready = loadCorpus().filter(
    ({ labels }) => labels.ready_posture === "yes" && labels.pending_input === "no",
  );
  test.each([
    { kind: "recoloured", least: 0.94 },
    { kind: "monochrome", least: 0.94 },
    { kind: "restyled", least: 1 },
    { kind: "rows_shifted", least: 1 },
    { kind: "widened", least: 1 },
    { kind: "title_changed", least: 1 },
    { kind: "row_inserted", least: 0.98 },
    { kind: "glyphs_changed", least: 0.9 },
    { kind: "status_reworded", least: 0.85 },
    { kind: "translated", least: 0.85 },
  ])("$kind: at least $least of the screens", ({ kind, least }) => {
    const seen = ready.flatMap((recording) =>
      [7, 984, 1961].map((seed) => {
        const observation = screenMutations[kind]?.(observe(recording), createDice(seed));
        return observation && read(observation, recording.tool).labels.ready_posture;
      }),
    );
    expect(seen.filter((value) => value === "yes").length / seen.length).toBeGreaterThanOrEqual(least);
  });
});
