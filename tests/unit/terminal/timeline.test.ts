import { describe, expect, test } from "bun:test";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { observationOf } from "../../../src/services/terminal/detect/explain.ts";
import type { Signals } from "../../../src/services/terminal/detect/signals.ts";
import { observedFields } from "../../../src/services/terminal/state/record.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import { initialTrack, type TrackState } from "../../../src/services/terminal/state/reduce-state.ts";
import { compiled, loadCorpus, loadTimeline, observe, type Recording } from "./corpus.ts";

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

function finishedGemini(): Recording {
  const found = loadCorpus().find(({ tool, name }) => tool === "gemini" && name === "finished");
  if (found) return found;
  throw new Error("no recording of a finished turn of gemini");
}

describe("a tool that closes its turns with nothing, starved after it took a prompt", () => {
  const gemini = compiled("gemini");
  const recording = finishedGemini();
  const answerRows = 3;

  /** The screen with its last answer, or still without it. */
  function screen(answered: boolean) {
    const rows = recording.raw.split("\n");
    const from = rows.findLastIndex((row) => row.includes("✦ "));
    const raw = answered ? rows : rows.map((row, at) => (at >= from && at < from + answerRows ? "" : row));
    return detect(observe({ ...recording, raw: raw.join("\n") }), gemini);
  }

  const phaseAfter = (state: TrackState) => {
    const { turn, last_turn } = observedFields(state);
    return `${turn.phase}/${last_turn.result}`;
  };

  test("is at work until an answer follows the prompt, though its screen looks idle for a minute", () => {
    const observation = observe(recording);
    const at = (ms: number) => ({ wallMs: ms, monotonicMs: ms });
    const see = (state: TrackState, ms: number, signals: Signals) =>
      reduce(state, { kind: "observed", at: at(ms), observation, signals }, defaultTimings);
    let state = see(initialTrack(at(0)), 0, screen(true));
    const note = { baseline: "before", sawActivity: false, command: false };
    state = reduce(state, { kind: "prompt_noted", at: at(2000), ...note }, defaultTimings);
    for (let ms = 2100; ms <= 60_000; ms += 100) {
      state = see(state, ms, screen(false));
      expect([ms, phaseAfter(state)]).toEqual([ms, "active/none"]);
    }
    state = see(state, 60_100, screen(true));
    state = see(state, 61_200, screen(true));
    state = see(state, 62_300, screen(true));
    expect(phaseAfter(state)).toBe("ready/success");
  });
});
