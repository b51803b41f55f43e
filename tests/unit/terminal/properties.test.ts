import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { defaultTimings } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { explainRecording, observationOf } from "../../../src/services/terminal/detect/explain.ts";
import { builtInProfiles } from "../../../src/services/terminal/profiles/built-in.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { observedFields } from "../../../src/services/terminal/state/record.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import { initialTrack, type TrackEvent } from "../../../src/services/terminal/state/reduce-state.ts";
import { compiled, loadCorpus } from "./corpus.ts";

const corpus = loadCorpus();
const tools = builtInProfiles.map((profile) => profile.tool);
const screenPiece = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.constantFrom(
    "─".repeat(80),
    "▄".repeat(80),
    "▀".repeat(80),
    "❯ ",
    "› ",
    "! ",
    "▶ ",
    " > ",
    "┃",
    "╹▀▀",
    "\x1b[2m",
    "\x1b[7m",
  ),
  fc.constantFrom(...corpus.flatMap((recording) => recording.raw.split("\n")).filter((row) => row !== "")),
);
const anyScreen = fc.array(screenPiece, { maxLength: 40 }).map((pieces) => `${pieces.join("\n")}\n`);

describe("whatever is on the screen", () => {
  test("detecting and explaining never throw, and a verdict always comes with its reasons", () => {
    fc.assert(
      fc.property(anyScreen, fc.constantFrom(...tools), fc.option(fc.nat(40)), (raw, tool, cursorRow) => {
        const profile = compiled(tool);
        const signals = detect(observationOf({ raw, tool: profile, title: null, cursorRow }), profile);
        for (const reason of Object.values(signals.surfaceReasons)) expect(reason).not.toBe("");
        const explained = explainRecording(
          { raw, tool: profile, title: null, cursorRow, nowMs: 0 },
          defaultTimings,
        );
        expect(explained.prompt_ready.holds).toBe(explained.prompt_ready.failing.length === 0);
      }),
      { numRuns: 300 },
    );
  });

  test("no part of a screen that is not ready reads ready", () => {
    // What is open beside a whole composer shows in some rows only, and a part may lack them.
    const partial = ["cropped", "gone", "overlay"];
    const notReady = corpus.filter(
      ({ labels, category }) => labels.ready_posture !== "yes" && !partial.includes(category),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...notReady),
        fc.nat(36),
        fc.nat(36),
        fc.boolean(),
        (recording, one, other, withCursor) => {
          const rows = recording.raw.split("\n").slice(0, -1);
          const [from, to] = [Math.min(one, other), Math.max(one, other)];
          const cursorRow = withCursor && recording.cursor_row !== null ? recording.cursor_row - from : null;
          const raw = `${rows.slice(from, to).join("\n")}\n`;
          const observation = observationOf({ raw, tool: compiled(recording.tool), title: null, cursorRow });
          expect(detect(observation, compiled(recording.tool)).surface.ready_posture).not.toBe("yes");
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("a crop that tmux would not give never reads anything", () => {
    fc.assert(
      fc.property(fc.constantFrom(...corpus), fc.integer({ min: 1, max: 20 }), (recording, lost) => {
        const observation = observationOf({
          raw: recording.raw,
          tool: compiled(recording.tool),
          title: null,
          cursorRow: null,
          height: recording.raw.split("\n").length - 1 + lost,
        });
        expect(new Set(Object.values(detect(observation, compiled(recording.tool)).surface))).toEqual(
          new Set(["unknown"]),
        );
      }),
    );
  });
});

describe("whatever happens in whatever order", () => {
  const observations: Observation[] = corpus
    .filter((recording) => recording.tool === "codex")
    .map((recording) =>
      observationOf({ raw: recording.raw, tool: compiled("codex"), title: recording.title, cursorRow: null }),
    );
  const step = fc.record({
    afterMs: fc.integer({ min: 0, max: 8000 }),
    what: fc.oneof(
      fc.constantFrom(...observations),
      fc.constantFrom("tick" as const, "note" as const, "tmux_missing" as const),
    ),
  });

  test("a busy fact and a ready posture never occur together, and a published ready turn has no awaited end", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let now = 0;
        let state = initialTrack({ wallMs: 0, monotonicMs: 0 });
        for (const { afterMs, what } of steps) {
          now += afterMs;
          const at = { wallMs: now, monotonicMs: now };
          const event: TrackEvent =
            what === "note"
              ? { kind: "prompt_noted", at, baseline: null, sawActivity: false, command: false }
              : what === "tick" || what === "tmux_missing"
                ? { kind: what, at }
                : { kind: "observed", at, observation: what, signals: detect(what, compiled("codex")) };
          state = reduce(state, event, defaultTimings);
          const fields = observedFields(state);
          if ((fields.active_reasons ?? []).length > 0) expect(fields.surface.ready_posture).not.toBe("yes");
          if (fields.turn.phase === "ready") expect(state.turn.anchor).toBeNull();
          if (fields.last_turn.result === "success") expect(fields.turn.phase).not.toBe("active");
          expect(state.transitions.length).toBeLessThanOrEqual(24);
        }
      }),
      { numRuns: 300 },
    );
  });
});
