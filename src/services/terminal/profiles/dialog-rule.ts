import type { DialogRule } from "../../../protocol/tool-profile.ts";

type Described = "id" | "kind" | "question" | "end";

/** A dialog of numbered rows that Enter confirms and Escape cancels, where `rule` names nothing else. */
export function dialogRule(rule: Pick<DialogRule, Described> & Partial<DialogRule>): DialogRule {
  const { id, kind, question, end, options = "rows", option = null, ...rest } = rule;
  const keys = { confirm_key: "Enter", cancel_key: "Escape", startup_answer: null };
  return { id, kind, question, end, options, option, ...keys, ...rest };
}
