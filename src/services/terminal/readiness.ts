import { agentQuestion, type Parked, type TerminalState } from "../../protocol/terminal.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { reportedTurn } from "./state/fusion.ts";

type Judged = Pick<
  TerminalState,
  "turn" | "surface" | "stability" | "parsed_surface" | "parked" | "second_witness"
>;

/**
 * The facts of the prompt-ready predicate that do not hold, each as `name=value`, in the order of the
 * predicate; empty when a prompt may be given. `pending_input` is a separate check. The usage limit and the
 * second witness, which is checked when all other facts hold, are additional. Source: spec/terminal.md 3;
 * decisions 18 and 40.
 */
export function failingFacts(state: Judged): string[] {
  const { second_witness: witness } = state;
  return [
    ...failingOnScreen(state),
    ...(witness?.by === null ? [`second_witness=none (${witness.missing})`] : []),
  ];
}

/** Of those, what one look at the screen says. */
export function failingOnScreen(state: Omit<Judged, "second_witness">): string[] {
  return [
    ...factsOnScreen(state)
      .filter(({ value, wanted }) => value !== wanted)
      .map(({ name, value }) => `${name}=${value}`),
    ...(state.parked ? [describeParked(state.parked)] : []),
    ...forAPerson(state),
  ];
}

/**
 * What only a person mends, with the remedy, as failing facts: a pane that is too small to read, a suspended
 * tool.
 */
function forAPerson(state: Pick<Judged, "parsed_surface">): string[] {
  const size = anomaly(state, "pane_size");
  const remedy = "too small to read; enlarge its window: tmux resize-window -x 120 -y 36";
  const suspended = describeSuspended(state);
  return [
    ...(size === null ? [] : [`pane_size=${size} (${remedy})`]),
    ...(suspended === null ? [] : [suspended]),
  ];
}

/** The process of a tool that somebody suspended, as a failing fact; null for one that runs. Pure. */
export function describeSuspended(state: Pick<Judged, "parsed_surface">): string | null {
  const pid = anomaly(state, "suspended");
  if (pid === null) return null;
  return `suspended=process ${pid} (as by Ctrl-Z; go on with fg in its terminal, without a shell there: kill -CONT ${pid})`;
}

function anomaly({ parsed_surface: parsed }: Pick<Judged, "parsed_surface">, name: string): string | null {
  const code = parsed?.anomaly_codes.find((one) => one.startsWith(`${name}:`));
  return code?.slice(name.length + 1) ?? null;
}

interface PromptReadyFact {
  name: string;
  value: string;
  /** The value with which it holds. */
  wanted: string;
}

/** Every fact of the prompt-ready predicate in its order, also those that hold. Pure. */
export function promptReadyFacts(state: Judged): PromptReadyFact[] {
  const { parked, second_witness: witness } = state;
  return [
    ...factsOnScreen(state),
    { name: "usage_limit", value: parked ? describeParked(parked) : "none", wanted: "none" },
    {
      name: "second_witness",
      value: witness?.by === null ? `none (${witness.missing})` : "not missing",
      wanted: "not missing",
    },
  ];
}

function factsOnScreen(state: Omit<Judged, "second_witness">): PromptReadyFact[] {
  const { turn, surface, stability, parsed_surface: parsed } = state;
  const facts: [name: string, value: string, wanted: string][] = [
    ["turn.phase", turn.phase, "ready"],
    ["accepting_input", surface.accepting_input, "yes"],
    ["editing_input", surface.editing_input, "no"],
    ["ready_posture", surface.ready_posture, "yes"],
    ["stability.stable", String(stability.stable), "true"],
    ...(parsed
      ? ([
          ["business_state", parsed.business_state, "idle"],
          ["input_mode", parsed.input_mode, "freeform"],
        ] satisfies [string, string, string][])
      : []),
  ];
  return facts.map(([name, value, wanted]) => ({ name, value, wanted }));
}

/** The limit as a failing fact. Pure. */
export function describeParked({ notice, until }: Parked): string {
  return `usage_limit=${until === null ? "no time shown" : `until ${until}`} (${notice})`;
}

/** What was still for so long will not move by itself. */
const stuckAfterSeconds = 300;

/**
 * What holds an agent that is not ready and on whose screen nothing has moved for minutes, whatever rule says
 * so; null for any other, but at once in a pane that is too small or where the tool is suspended. A tool at
 * work moves its screen or its title: one that says that it works and shows neither does not. A question, a
 * usage limit and a tool that cannot be read have separate reports. Pure.
 */
export function stuckOn(state: TerminalState): { facts: string[]; since: string } | null {
  const { awaiting_decision, parked, active_reasons = [], diagnostics } = state;
  // Rows that no rule reads, such as a clock in a status line, are no sign of the turn that was reported.
  const showsWork = active_reasons.some((reason) => reason !== reportedTurn);
  const still = showsWork ? stillScreen(state) : stillReading(state);
  if (still === null || diagnostics.process_state !== "tui_up") return null;
  if (still.seconds < stuckAfterSeconds && forAPerson(state).length === 0) return null;
  if (agentQuestion(awaiting_decision) || parked) return null;
  const { pending_input } = state.surface;
  const facts = [
    ...failingFacts(state).filter((fact) => !fact.startsWith("stability.")),
    ...(pending_input === "no" ? [] : [`pending_input=${pending_input}`]),
    ...active_reasons.map((reason) => `active_reason=${reason}`),
  ];
  return facts.length === 0 ? null : { facts, since: still.since };
}

/**
 * Whether a text that nobody has submitted is in the composer of a tool that rests: only a person ends that.
 * Pure.
 */
export function isHeldByDraft(state: TerminalState): boolean {
  const { surface, awaiting_decision, parked, turn, active_reasons = [] } = state;
  if (surface.editing_input !== "yes" || awaiting_decision || parked) return false;
  return turn.phase !== "active" && active_reasons.length === 0;
}

interface Still {
  since: string;
  seconds: number;
}

/** What was read of the screen has not changed: rows that no rule reads, such as a clock, do not count. */
function stillReading({ stability }: TerminalState): Still {
  return { since: stability.stable_since_utc, seconds: stability.stable_for_seconds };
}

/** The screen itself has not changed: the timer of a turn that runs is no reading. */
function stillScreen({ stability }: TerminalState): Still | null {
  const { screen_since_utc: since, stable_since_utc, stable_for_seconds } = stability;
  const [screenMs, stableMs] = [parseTimestamp(since ?? ""), parseTimestamp(stable_since_utc)];
  if (since === undefined || screenMs === null || stableMs === null) return null;
  return { since, seconds: stable_for_seconds + (stableMs - screenMs) / 1000 };
}
