import type { Evidence } from "../../protocol/gateway.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import { type DispatchDeps, type DispatchOutcome, submitDraft, watchActivity } from "./dispatch.ts";
import { isDraftOf } from "./left-draft.ts";
import { hasDraft, isCommand, isWorking } from "./seen.ts";

/** A prompt whose Enter brought up a question instead of a turn. */
export interface Asked {
  /** As it was typed. */
  text: string;
  /** How many times more it may be submitted after a question. */
  left: number;
}

/** A tool that asks again at each Enter will not take the text. */
export const maxQuestions = 3;

/** Whether the question of `asked` has gone and left a draft, which may be the prompt, unsent. Pure. */
export function mayBeHandedBack(state: TerminalState): boolean {
  return !state.awaiting_decision && hasDraft(state) && !isWorking(state);
}

/**
 * Submits a prompt that a tool put back into its composer after a question. Null, and no key pressed, when what
 * stands there is not exactly that prompt: a person may have changed it.
 */
export async function submitAgain(deps: DispatchDeps, asked: Asked): Promise<DispatchOutcome | null> {
  const { view } = deps;
  const before = await view.look();
  const draft = view.draft();
  if (!mayBeHandedBack(before) || draft === null || !isDraftOf(draft, asked.text)) return null;
  const activity = watchActivity(view, before);
  view.promptTyped(asked.text, isCommand(asked.text));
  try {
    const life = view.instanceId();
    return await submitDraft(deps, {
      text: asked.text,
      before,
      life,
      echo: true,
      joined: false,
      sawActivity: activity.seen,
    });
  } finally {
    activity.end();
  }
}

/** What is told of a prompt that was not taken after all. */
export function notTaken(detail: string): Omit<Evidence, "at_utc"> {
  return { step: "settled", proof: `handed back after a question: ${detail}` };
}
