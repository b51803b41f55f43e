import type { AwaitingDecision, DecisionAnswer, TerminalState } from "../../protocol/terminal.ts";
import type { Clock } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { KeyName } from "../terminal/keys.ts";
import type { CompiledProfile } from "../terminal/profiles/profile.ts";
import type { PaneWriter } from "../terminal/tmux/exclusive-pane.ts";
import { awaitState, type TerminalView } from "./terminal-view.ts";

/** Time for a dialog to show the effect of a key. */
const keyMs = 2000;
/** Further time for it to close: claude 2.1.150 marks the chosen option first. */
const leaveMs = 5000;

export interface Chosen {
  index: number;
  text: string;
}

/**
 * The option that an answer names. Throws ServiceError: `precondition_failed` without the question that the
 * caller saw, `invalid_request` when no option, or more than one, fits. Pure.
 */
export function chooseOption(decision: AwaitingDecision | undefined, answer: DecisionAnswer): Chosen {
  if (!decision) throw new ServiceError("precondition_failed", "the agent does not ask anything now");
  const sameId = answer.id === undefined || answer.id === decision.id;
  if (!sameId || (answer.question !== undefined && answer.question.trim() !== decision.question.trim())) {
    throw new ServiceError("precondition_failed", "the agent asks another question now");
  }
  const wanted = answer.option;
  const fits = decision.options.filter((option) =>
    typeof wanted === "number" ? option.index === wanted : sameText(option.text, wanted),
  );
  const [only] = fits;
  if (only && fits.length === 1) return { index: only.index, text: only.text };
  const shown = decision.options.map((option) => `${option.index}. ${option.text}`).join("; ");
  throw new ServiceError(
    "invalid_request",
    `option: ${fits.length === 0 ? "none" : "more than one"} of the shown options fits; shown: ${shown || `none that can be read; send one of its keys instead: ${decision.keys?.join(", ") ?? "see its screen"}`}`,
  );
}

function sameText(one: string, other: string): boolean {
  const plain = (text: string) => text.replace(/\s+/g, " ").trim().toLowerCase();
  return plain(one) === plain(other);
}

/**
 * Moves the dialog's mark to the option and confirms it. The screen is read after each key, and the
 * confirming key is pressed only while the mark is on the option. Resolves when the question has changed or
 * closed; for a question with several choices, when the check mark of the option has changed.
 */
export async function answerDecision(
  deps: { view: TerminalView; clock: Clock; profile: CompiledProfile; pane: PaneWriter },
  answer: DecisionAnswer,
): Promise<Chosen> {
  const { view, clock, profile, pane } = deps;
  const press = (name: string) => pane.keys([{ kind: "key", name: name as KeyName }]);
  const first = (await view.look()).awaiting_decision;
  const chosen = chooseOption(first, answer);
  const rule = profile.dialogs.find((one) => one.id === view.dialogRule());
  if (!rule) throw new ServiceError("dispatch_failed", "the question cannot be answered by keys");
  const [back, onward] = rule.options === "inline" ? (["Left", "Right"] as const) : (["Up", "Down"] as const);

  for (let moves = 0; ; moves++) {
    const now = (await view.look()).awaiting_decision;
    // claude 2.1.331 names other keys for each marked option, and the id of the question depends on them.
    const { index } = chooseOption(
      now,
      moves > 0 && isSameQuestion(first, now) ? { option: chosen.index } : answer,
    );
    const options = now?.options ?? [];
    const marked = options.findIndex((option) => option.selected);
    const wanted = options.findIndex((option) => option.index === index);
    if (marked < 0) throw new ServiceError("dispatch_failed", "no option of the question is marked");
    if (marked === wanted) break;
    if (moves > options.length) {
      throw new ServiceError("dispatch_failed", "the mark did not move to the option");
    }
    await press(marked > wanted ? back : onward);
    // gemini 0.60.0 shows no option for a moment while its mark moves.
    const moved = (mark: number | null) => mark !== null && mark !== options[marked]?.index;
    await awaitState(view, clock, (state) => moved(markOf(state)), keyMs);
  }
  // claude 2.1.330 ignores keys right after it opens a dialog, so the confirming key is repeated while the
  // screen is unchanged. The same question on a changed screen may be about another command.
  const checkOf = (of: AwaitingDecision | undefined) =>
    of?.options.find(({ index }) => index === chosen.index)?.checked;
  const gone = (state: TerminalState) =>
    questionOf(state) !== first?.question || checkOf(state.awaiting_decision) !== checkOf(first);
  for (const pauseMs of [...profile.data.submit.enter_retry_after_ms, keyMs]) {
    const shown = await view.look();
    await press(rule.confirm_key);
    await view.look();
    if (await awaitState(view, clock, gone, pauseMs)) return chosen;
    const now = await view.look();
    if (gone(now)) return chosen;
    if (isSameScreen(shown, now)) continue;
    if (await awaitState(view, clock, gone, leaveMs)) return chosen;
    break;
  }
  throw new ServiceError("dispatch_failed", "the question is still asked after the answer");
}

/**
 * Whether two screens are equal in text and, as far as the state has it, in style. The mark of a running
 * action is ignored, since claude 2.1.330 blinks it above the question.
 */
function isSameScreen(one: TerminalState, other: TerminalState): boolean {
  const [before, after] = [one.probe_snapshot, other.probe_snapshot];
  if (!before || !after) return false;
  if (before.captured_text_hash === after.captured_text_hash) return true;
  const [text, later] = [one.parsed_surface?.dialog_text, other.parsed_surface?.dialog_text];
  if (text === undefined || later === undefined || unmarked(text) !== unmarked(later)) return false;
  // Both excerpts end with the last row of the screen; the first row of an excerpt may be cut.
  const [rows, laterRows] = [before, after].map((shot) => shot.captured_text_excerpt.split("\n").reverse());
  const max = Math.min(rows?.length ?? 0, laterRows?.length ?? 0) - 1;
  return (rows ?? []).slice(0, max).every((row, at) => isSameRow(row, laterRows?.[at] ?? ""));
}

/**
 * Equal rows, or rows that differ by a blinking mark. A row with equal text and another style has changed.
 */
function isSameRow(one: string, other: string): boolean {
  if (one === other) return true;
  const [text, later] = [Bun.stripANSI(one), Bun.stripANSI(other)];
  return text !== later && unmarked(text).trimEnd() === unmarked(later).trimEnd();
}

const unmarked = (text: string) => text.replace(/^[●⏺](?= )/gmu, " ");

/** Whether two questions differ at most in the marked option. */
function isSameQuestion(one: AwaitingDecision | undefined, other: AwaitingDecision | undefined): boolean {
  const facts = (of: AwaitingDecision | undefined) =>
    of && [
      of.kind,
      of.header,
      of.question,
      of.options.map(({ index, text, checked }) => [index, text, checked]),
    ];
  return Bun.deepEquals(facts(one), facts(other));
}

function markOf(state: TerminalState): number | null {
  return state.awaiting_decision?.options.find((option) => option.selected)?.index ?? null;
}

function questionOf(state: TerminalState): string | null {
  return state.awaiting_decision?.question ?? null;
}
