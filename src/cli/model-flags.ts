import type { PromptPayload } from "../protocol/gateway.ts";
import type { Flags } from "./command.ts";
import { toWholeNumber } from "./number-flag.ts";

/** Flags that choose the model of one headless turn. */
export const modelFlags = {
  model: { type: "string", description: "model for this turn (headless agents only)" },
  "reasoning-level": {
    type: "string",
    description: "reasoning preset of this turn (headless agents only)",
    valueHint: "N",
  },
} satisfies Flags;

/** Nothing when neither was given. */
export function readExecution(args: {
  model: string | undefined;
  "reasoning-level": string | undefined;
}): Pick<PromptPayload, "execution"> {
  const { model } = args;
  const level = toWholeNumber("reasoning-level", args["reasoning-level"], 0, 1000);
  if (model === undefined && level === undefined) return {};
  return {
    execution: {
      model: {
        ...(model === undefined ? {} : { name: model }),
        ...(level === undefined ? {} : { reasoning: { level } }),
      },
    },
  };
}
