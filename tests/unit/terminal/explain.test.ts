import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { defaultTimings, TerminalExplanation } from "../../../src/protocol/terminal.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { explainRecording, explainState } from "../../../src/services/terminal/detect/explain.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import { initialTrack } from "../../../src/services/terminal/state/reduce-state.ts";
import { compiled, loadCorpus, type Recording } from "./corpus.ts";
import { demoScreen } from "./screens.ts";
import { done, draft, idle, play, type Step, working } from "./steps.ts";

const corpus = loadCorpus();
const toExplain = ({ raw, tool, title, cursor_row }: Recording) => ({
  raw,
  tool: compiled(tool),
  title,
  cursorRow: cursor_row,
  nowMs: 0,
});
const recording = (tool: string, name: string) => {
  const found = corpus.find((one) => one.tool === tool && one.name === name);
  if (!found) throw new Error(`${tool} ${name}`);
  return toExplain(found);
};

test("every recorded screen is explained in the shape of the schema", () => {
  for (const one of corpus) {
    const { tool, name } = one;
    const explained: unknown = JSON.parse(JSON.stringify(explainRecording(toExplain(one), defaultTimings)));
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

describe("a report that the screen contradicts is named, and makes nobody ready", () => {
  const submitted: Step[] = [
    { at: 0, screen: idle },
    { at: 100, typed: "hi" },
    { at: 130, note: { sawActivity: false } },
    { at: 140, report: { kind: "prompt_submitted", prompt: "hi", turn_id: "t1" } },
  ];
  const end: Step = { at: 300, report: { kind: "turn_ended", turn_id: "t1" } };
  test.each<{ id: string; steps: Step[]; named: string }>([
    {
      id: "the end of a turn while its screen works",
      steps: [...submitted, { at: 200, screen: working(1) }, end],
      named: "the tool reported the end of its turn, but the screen shows work",
    },
    {
      id: "the end of a turn beside a draft",
      steps: [...submitted, { at: 200, screen: draft }, end],
      named: "the tool reported the end of its turn, but the composer holds a draft",
    },
    {
      id: "a turn that began, and a screen without one",
      steps: [
        ...submitted,
        { at: 150, screen: working(1) },
        { at: 200, screen: done },
        { at: 20_000, event: "tick" },
      ],
      named: "the tool reported a turn and not its end, but the screen shows none that runs",
    },
    {
      id: "a question that is not asked",
      steps: [
        { at: 0, screen: draft },
        { at: 10, report: { kind: "question_asked", action: "Bash" } },
      ],
      named: "the tool reported a question for Bash, but the screen shows none",
    },
    {
      id: "the end of another session's turn",
      steps: [
        ...submitted,
        { at: 200, screen: working(1) },
        { at: 300, report: { kind: "turn_ended", session_id: "nested" } },
      ],
      named: "turn_ended: another session's",
    },
  ])("$id", ({ steps, named }) => {
    const state = play(steps);
    const facts = { tool: "demo", profile: compiled("demo"), absence: null };
    const { reports, prompt_ready } = explainState(state, facts);
    expect(reports.contradictions.join("\n")).toContain(named);
    if (!named.startsWith("the tool reported a turn and not")) expect(prompt_ready.holds).toBe(false);
  });
});
