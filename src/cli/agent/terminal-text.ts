import {
  type AwaitingDecision,
  agentQuestion,
  type TerminalExplanation,
  type TerminalHistoryEntry,
  type TerminalState,
  type WaitResult,
} from "../../protocol/terminal.ts";
import { renderPairs } from "../command-line/format.ts";

type Observed = TerminalState | TerminalHistoryEntry;

/** What a person wants to know of a terminal, one fact a line. Pure. */
export function renderTerminal(state: TerminalState): string {
  const { surface, last_turn: last, stability } = state;
  return renderPairs([
    ["turn", state.turn.phase],
    ["busy because", state.active_reasons?.join(", ") || null],
    ["last turn", last.result === "none" ? null : `${last.result} at ${last.updated_at_utc ?? "?"}`],
    ["waits for", decisionOf(state)],
    ["usage limit", parkedOf(state)],
    ["accepts input", surface.accepting_input],
    ["editing input", surface.editing_input],
    ["ready posture", surface.ready_posture],
    ["pending input", surface.pending_input],
    ["stable", stableOf(stability)],
    ["context", state.chat_context],
    ["terminal", `${state.diagnostics.availability}, ${state.diagnostics.process_state}`],
    ["trouble", state.diagnostics.probe_error?.message ?? state.diagnostics.parse_error?.message],
  ]);
}

/** The same in one line, for a list or a live view. Pure. */
export function renderTerminalLine(state: Observed): string {
  const { surface, last_turn: last } = state;
  const parts = [
    state.turn.phase,
    state.active_reasons && state.active_reasons.length > 0 ? `(${state.active_reasons.join(", ")})` : "",
    `input=${surface.accepting_input}`,
    `editing=${surface.editing_input}`,
    `pending=${surface.pending_input}`,
    state.stability.stable ? "stable" : "moving",
    last.result === "none" ? "" : `last=${last.result}`,
    decisionOf(state) ?? "",
    state.parked ? `parked ${parkedOf(state)}` : "",
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function stableOf({ stable, stable_for_seconds: seconds, witness }: Observed["stability"]): string {
  if (!stable) return "no";
  return witness === "tool" ? "the tool reported the end of its turn" : `for ${seconds} s`;
}

function decisionOf({ awaiting_decision: decision }: Observed): string | null {
  return decision ? renderDecision(decision) : null;
}

/** The question with its options, and what of it could not be read. Pure. */
export function renderDecision(decision: AwaitingDecision): string {
  const { question, options, header, unread, keys, opened_by } = decision;
  const what = opened_by === "person" ? "a list that somebody opened" : "a decision";
  const about = header === undefined ? "" : ` (${header})`;
  const asked = `${what}: ${question || "its question could not be read"}${about}`;
  const shown = options.length > 0 ? ` [${options.map(renderOption).join(" | ")}]` : "";
  const taken = keys
    ? `; it takes ${keys.map((key) => `<[${key}]>`).join(" ")} by \`gateway send-keys\``
    : "";
  return asked + shown + (unread ? ` (${unread}${taken})` : "");
}

/** With its check mark, where the question has several choices. Pure. */
export function renderOption({
  text,
  checked,
}: Pick<AwaitingDecision["options"][number], "text" | "checked">): string {
  return checked === undefined ? text : `${checked ? "[x]" : "[ ]"} ${text}`;
}

/** `answer`: the command that answers a question, up to the answer. Pure. */
export function renderWait(
  { satisfied, for: wanted, waited_seconds, state }: WaitResult,
  answer: string,
): string {
  const answered = (state.startup_answers ?? []).map(
    ({ question, option }) => `answered at its start: ${question.trim()}: ${option}`,
  );
  if (satisfied) return [`${wanted} after ${waited_seconds} s`, ...answered].join("\n");
  const asked = wanted === "decision" ? null : agentQuestion(state.awaiting_decision);
  return [
    `not ${wanted} within ${waited_seconds} s${asked ? `: it asks "${asked.question.trim()}". Answer it with: ${answer}` : ""}`,
    ...answered,
    renderTerminal(state),
  ].join("\n");
}

function parkedOf({ parked }: Observed): string | null {
  return parked ? `until ${parked.until ?? "the tool says otherwise"}: ${parked.notice}` : null;
}

function versionOf({ tool_version: version, proved_versions: proved }: TerminalExplanation): string | null {
  if (version === null || proved.length === 0) return version;
  return proved.includes(version)
    ? `${version}, proved`
    : `${version}, not proved; proved are ${proved.join(", ")}`;
}

function reportsOf({ absence, received, last }: TerminalExplanation["reports"]): string {
  if (absence !== null) return `none: ${absence}`;
  return last === null ? "none yet" : `${received}, the last ${last.kind} at ${last.at_utc}`;
}

const witnesses = {
  turn_ended: "the tool reported the end of its turn",
  session_started: "the tool reported the begin of its session",
  still_screen: "the screen did not change, with the cursor at the start of its composer",
  still_readings: "what is read of the screen did not change",
};

/** Each verdict with its reason, then the rules that fired. Pure. */
export function renderExplanation(explanation: TerminalExplanation): string {
  const { surface, turn, prompt_ready, fired_rules, awaiting_decision, reports } = explanation;
  const { second_witness: witness } = explanation;
  const surfaces = Object.entries(surface).map(
    ([name, { value, reason }]) => [name, `${value}  (${reason})`] as [string, string],
  );
  return [
    renderPairs([
      ...surfaces,
      ["turn.phase", `${turn.phase}  (${turn.reason})`],
      ["title", explanation.title],
      ["prompt ready", prompt_ready.holds ? "yes" : `no: ${prompt_ready.failing.join(", ")}`],
      ...(witness?.by ? ([["second witness", witnesses[witness.by]]] as [string, string][]) : []),
      ...(awaiting_decision ? ([["asks", renderDecision(awaiting_decision)]] as [string, string][]) : []),
      ["tool version", versionOf(explanation)],
      ["reports", reportsOf(reports)],
    ]),
    ...(reports.contradictions.length > 0 ? ["", "reports that were not followed:"] : []),
    ...reports.contradictions.map((contradiction) => `  ${contradiction}`),
    ...(fired_rules.length > 0 ? ["", "rules that fired:"] : []),
    ...fired_rules.map(
      ({ rule, row, seen }) => `  ${rule}${row === null ? "" : ` (row ${row})`}: ${seen.trim()}`,
    ),
  ].join("\n");
}
