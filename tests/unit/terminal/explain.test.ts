import { expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { defaultTimings, TerminalExplanation } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect.ts";
import { explainRecording, explainState } from "../../../src/services/terminal/explain.ts";
import { reduce } from "../../../src/services/terminal/reduce.ts";
import { initialTrack } from "../../../src/services/terminal/reduce-state.ts";
import { compiled, loadCorpus } from "./corpus.ts";
import { demoScreen } from "./screens.ts";

const recording = (tool: string, name: string) => {
  const found = loadCorpus().find((one) => one.tool === tool && one.name === name);
  if (!found) throw new Error(`${tool} ${name}`);
  return { raw: found.raw, tool: compiled(tool), title: found.title, cursorRow: found.cursor_row, nowMs: 0 };
};

test("every recorded screen is explained in the shape of the schema", () => {
  for (const { tool, name } of loadCorpus()) {
    const explained: unknown = JSON.parse(
      JSON.stringify(explainRecording(recording(tool, name), defaultTimings)),
    );
    expect([tool, name, ...Value.Errors(TerminalExplanation, explained)]).toEqual([tool, name]);
  }
});

test("a ready screen satisfies the predicate and says by what it was read", () => {
  expect(explainRecording(recording("codex", "finished"), defaultTimings)).toMatchObject({
    tool: "codex",
    profile_version: "0.169-1",
    tool_version: "0.169.0",
    surface: { ready_posture: { value: "yes", reason: "an empty composer and no busy fact" } },
    turn: { phase: "ready" },
    prompt_ready: { holds: true, failing: [] },
  });
});

test("a busy screen names the rules that fired, with their rows, and each failing fact", () => {
  const explained = explainRecording(recording("claude", "queued"), defaultTimings);
  expect(explained).toMatchObject({
    active_reasons: ["spinner_row", "footer_interrupt"],
    surface: { pending_input: { value: "yes", reason: "queued input: queued_row" } },
    turn: { phase: "active", reason: "busy: spinner_row, footer_interrupt" },
    prompt_ready: {
      holds: false,
      failing: ["turn.phase=active", "ready_posture=no", "business_state=working"],
    },
  });
  expect(explained.fired_rules).toContainEqual({
    rule: "pending.queued_row",
    row: 12,
    seen: "❯ second message queued while busy",
  });
});

test("a prompt whose end was not seen, and a recovery, are given as reasons", () => {
  const observation = demoScreen();
  const signals = detect(observation, compiled("demo"));
  const at = (ms: number) => ({ wallMs: ms, monotonicMs: ms });
  const seen = reduce(
    initialTrack(at(0)),
    { kind: "observed", at: at(0), observation, signals },
    defaultTimings,
  );
  const noted = reduce(
    seen,
    { kind: "prompt_noted", at: at(10), baseline: null, sawActivity: false, command: false },
    defaultTimings,
  );
  expect(explainState(noted, { tool: "demo", profile: compiled("demo"), absence: null }).turn).toEqual({
    phase: "active",
    reason: "a prompt was submitted and the end of its turn was not seen",
  });
  const recovered = reduce(noted, { kind: "tick", at: at(20_010) }, defaultTimings);
  expect(explainState(recovered, { tool: "demo", profile: compiled("demo"), absence: null }).turn).toEqual({
    phase: "ready",
    reason: "recovery: final_stable",
  });
});

test("a tool that nothing describes is all unknown, and says so", () => {
  const observation = demoScreen();
  const at = { wallMs: 0, monotonicMs: 0 };
  const state = reduce(
    initialTrack(at),
    { kind: "observed", at, observation, signals: detect(observation, null) },
    defaultTimings,
  );
  expect(explainState(state, { tool: "nano", profile: null, absence: null })).toMatchObject({
    profile_version: null,
    surface: { ready_posture: { value: "unknown", reason: "no profile describes this tool" } },
    turn: { phase: "unknown", reason: "parse_status=unsupported_tool" },
    prompt_ready: { holds: false },
  });
});
