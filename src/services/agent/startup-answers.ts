import { agentQuestion, type DecisionAnswer, type TerminalState } from "../../protocol/terminal.ts";
import { messageOf } from "../../system/errors.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { CompiledProfile } from "../terminal/profiles/profile.ts";
import type { Chosen } from "./decision.ts";
import type { TerminalView } from "./terminal-view.ts";

/**
 * Answers startup questions of an unattended agent that have an `unattended_answer` in its profile. Each rule
 * answers once for each instance, and only until the instance was ready for a prompt. Later questions, and
 * questions whose answer failed, are for a person.
 */
export function createStartupAnswers(deps: {
  view: Pick<TerminalView, "subscribe" | "dialogRule" | "instanceId">;
  profile: CompiledProfile;
  decide: (answer: DecisionAnswer) => Promise<Chosen>;
  onAnswered: (answer: { question: string; option: string }) => void;
  log: Log;
}) {
  const { view, profile, decide, onAnswered, log } = deps;
  let instance: string | null = null;
  let hasStarted = false;
  const triedRules = new Set<string>();
  let unsubscribe: (() => void) | null = null;

  function look(state: TerminalState): void {
    const now = view.instanceId();
    if (now === null) return;
    if (now !== instance) {
      instance = now;
      hasStarted = false;
      triedRules.clear();
    }
    hasStarted ||= state.surface.ready_posture === "yes" || state.turn.phase === "active";
    const asked = agentQuestion(state.awaiting_decision);
    if (hasStarted || asked?.id === undefined) return;
    const rule = profile.dialogs.find(({ id }) => id === view.dialogRule());
    const option = asked.options.find(({ text }) => rule?.unattended_answer?.test(text));
    if (!rule || !option || triedRules.has(rule.id)) return;
    triedRules.add(rule.id);
    const { id, question } = asked;
    decide({ schema_version: 1, option: option.index, id }).then(
      () => onAnswered({ question, option: option.text }),
      (error) => log.line("a question at the start was not answered", { question, error: messageOf(error) }),
    );
  }

  return {
    start(): void {
      unsubscribe ??= view.subscribe(look);
    },
    stop(): void {
      unsubscribe?.();
      unsubscribe = null;
    },
  };
}
