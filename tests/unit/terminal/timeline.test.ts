import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect.ts";
import { observationOf } from "../../../src/services/terminal/explain.ts";
import { observedFields } from "../../../src/services/terminal/record.ts";
import { reduce } from "../../../src/services/terminal/reduce.ts";
import { initialTrack } from "../../../src/services/terminal/reduce-state.ts";
import { compiled, loadTimeline } from "./corpus.ts";

/** Phase and result, once for each run of equal frames: `ready/none@0` is from frame 0 on. */
function history(tool: string, version: string, options: { note: boolean }): string[] {
  const profile = compiled(tool);
  let state = initialTrack({ wallMs: 0, monotonicMs: 0 });
  const runs: string[] = [];
  for (const frame of loadTimeline(tool, version)) {
    const at = { wallMs: frame.t * 1000, monotonicMs: frame.t * 1000 };
    if (options.note && frame.event?.kind === "submit") {
      state = reduce(
        state,
        { kind: "prompt_noted", at, baseline: null, sawActivity: false, command: false },
        defaultTimings,
      );
    }
    const observation = observationOf({ raw: frame.screen, tool: profile, title: null, cursorRow: null });
    const signals = detect(observation, profile);
    state = reduce(state, { kind: "observed", at, observation, signals }, defaultTimings);
    const { surface, turn, last_turn } = observedFields(state);
    const queued = surface.pending_input === "yes" ? "+queue" : "";
    const now = `${turn.phase}/${last_turn.result}${queued}`;
    if (runs.at(-1)?.split("@")[0] !== now) runs.push(`${now}@${frame.n}`);
  }
  return runs;
}

describe("recorded sessions, a frame every half second: a prompt, one while busy, an interrupted one", () => {
  test("codex, whose streaming screen looks idle, with no title at all", () => {
    expect(history("codex", "0.169.0", { note: false })).toEqual([
      "ready/none@0",
      "active/none@4",
      "active/none+queue@9",
      "active/none@10",
      "ready/none@11",
      "ready/success@13",
      "active/none@28",
      "ready/interrupted@36",
    ]);
  });

  test("opencode, whose second prompt waits behind the first", () => {
    expect(history("opencode", "1.18.33", { note: false })).toEqual([
      "ready/none@0",
      "unknown/none@4",
      "active/none@5",
      "active/none+queue@10",
      "active/none@17",
      "ready/none@18",
      "ready/success@20",
      "unknown/none@28",
      "active/none@29",
      "ready/interrupted@37",
    ]);
  });

  test.each([
    { tool: "codex", version: "0.169.0" },
    { tool: "opencode", version: "1.18.33" },
  ])("$tool is active from the note on, with no gap before its work is seen", ({ tool, version }) => {
    const runs = history(tool, version, { note: true }).map((run) =>
      run.split("@")[0]?.replace("+queue", ""),
    );
    const distinct = runs.filter((run, index) => run !== runs[index - 1]);
    expect(distinct).toEqual([
      "ready/none",
      "active/none",
      "ready/none",
      "ready/success",
      "active/none",
      "ready/interrupted",
    ]);
  });
});
