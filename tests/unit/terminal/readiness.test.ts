import { expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { failingFacts } from "../../../src/services/terminal/readiness.ts";

type Judged = Parameters<typeof failingFacts>[0];
type Parsed = NonNullable<TerminalState["parsed_surface"]>;

const parsed = { business_state: "idle", input_mode: "freeform", anomaly_codes: [] as string[] } as Parsed;
const fit: Judged = {
  turn: { phase: "ready" },
  surface: { accepting_input: "yes", editing_input: "no", ready_posture: "yes", pending_input: "no" },
  stability: { signature: "", stable: true, stable_for_seconds: 1, stable_since_utc: "" },
  parsed_surface: parsed,
};

test.each([
  { id: "all hold", state: fit, want: [] },
  { id: "without a parse its two facts are not asked", state: { ...fit, parsed_surface: null }, want: [] },
  {
    id: "pending input is not part of it",
    state: { ...fit, surface: { ...fit.surface, pending_input: "yes" } },
    want: [],
  },
  {
    id: "a pane that is too small to read is named with its size and the remedy",
    state: {
      ...fit,
      parsed_surface: { ...parsed, anomaly_codes: ["composer_not_found", "pane_size:50x14"] },
    },
    want: ["pane_size=50x14 (too small to read; enlarge its window: tmux resize-window -x 120 -y 36)"],
  },
  {
    id: "a suspended tool is named with the way back",
    state: { ...fit, parsed_surface: { ...parsed, anomaly_codes: ["suspended:42"] } },
    want: [
      "suspended=process 42 (as by Ctrl-Z; go on with fg in its terminal, without a shell there: kill -CONT 42)",
    ],
  },
  { id: "an active turn", state: { ...fit, turn: { phase: "active" } }, want: ["turn.phase=active"] },
  {
    id: "no input accepted",
    state: { ...fit, surface: { ...fit.surface, accepting_input: "no" } },
    want: ["accepting_input=no"],
  },
  {
    id: "a draft",
    state: { ...fit, surface: { ...fit.surface, editing_input: "yes" } },
    want: ["editing_input=yes"],
  },
  {
    id: "unknown editing",
    state: { ...fit, surface: { ...fit.surface, editing_input: "unknown" } },
    want: ["editing_input=unknown"],
  },
  {
    id: "a posture that is not known",
    state: { ...fit, surface: { ...fit.surface, ready_posture: "unknown" } },
    want: ["ready_posture=unknown"],
  },
  {
    id: "not stable yet",
    state: { ...fit, stability: { ...fit.stability, stable: false } },
    want: ["stability.stable=false"],
  },
  {
    id: "working by the parse",
    state: { ...fit, parsed_surface: { ...parsed, business_state: "working" } },
    want: ["business_state=working"],
  },
  {
    id: "a modal by the parse",
    state: { ...fit, parsed_surface: { ...parsed, input_mode: "modal" } },
    want: ["input_mode=modal"],
  },
  {
    id: "every failing fact is named, in order",
    state: { ...fit, turn: { phase: "unknown" }, stability: { ...fit.stability, stable: false } },
    want: ["turn.phase=unknown", "stability.stable=false"],
  },
] as { id: string; state: Judged; want: string[] }[])("$id", ({ state, want }) => {
  expect(failingFacts(state)).toEqual(want);
});
