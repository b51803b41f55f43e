import { ModelSelection, type PromptPayload, ReasoningPreset } from "../../protocol/gateway.ts";
import type { Flags, Values } from "../command-line/command.ts";
import { fieldFlags } from "../command-line/field-flags.ts";
import { givenFields } from "../command-line/flag-values.ts";

const modelFields = fieldFlags(ModelSelection, {
  name: { flag: "model", valueHint: "MODEL" },
  reasoning: null,
});
const reasoningFields = fieldFlags(ReasoningPreset, { level: { flag: "reasoning-level" } });
const ofHeadless = <F extends { description: string }>(flag: F): F => ({
  ...flag,
  description: `${flag.description} (headless agents only)`,
});

/** Flags that choose the model of headless turns. */
export const modelFlags = {
  model: ofHeadless(modelFields.flags.model),
  "reasoning-level": ofHeadless(reasoningFields.flags["reasoning-level"]),
} satisfies Flags;

/** Which model and reasoning preset these flags choose. Throws UsageError for what their fields refuse. */
export function readModel(args: Values<typeof modelFlags>): { name?: string; level?: number } {
  return { ...modelFields.read(args), ...reasoningFields.read(args) };
}

/** Nothing when neither was given. */
export function readExecution(args: Values<typeof modelFlags>): Pick<PromptPayload, "execution"> {
  const { name, level } = readModel(args);
  if (name === undefined && level === undefined) return {};
  const reasoning = level === undefined ? undefined : { level };
  return { execution: { model: givenFields({ name, reasoning }) } };
}
