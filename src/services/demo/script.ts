import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { parseDirective } from "./directive.ts";

const milliseconds = (description: string) => Type.Integer({ minimum: 0, maximum: 3_600_000, description });
const closed = { additionalProperties: false };

/** When a rule applies or a behaviour shows: one of the three. Ordinals count from 1. */
export const occasion = {
  every: Type.Optional(Type.Integer({ minimum: 1, description: "At every n-th occasion" })),
  on: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { description: "At these occasions" })),
  probability: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: "At random, decided by the seed and the ordinal" }),
  ),
};

const RuleSchema = Type.Object(
  {
    ...occasion,
    contains: Type.Optional(Type.String({ minLength: 1, description: "Only prompts with this text" })),
    directive: Type.String({
      minLength: 1,
      description: "As in the last line of a prompt, such as SLOW 3000",
    }),
  },
  {
    ...closed,
    description: "Gives a directive to prompts without one. Occasion: each that contains the text.",
  },
);

/** The script file of the scripted agent. */
export const DemoScriptSchema = Type.Object(
  {
    schema_version: Type.Literal(1),
    seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffffffff, description: "Default 0" })),
    startup: Type.Optional(
      Type.Object(
        {
          trust_dialog: Type.Optional(
            Type.Boolean({ description: "Ask first whether the folder is trusted" }),
          ),
          delay_ms: Type.Optional(milliseconds("Nothing is painted and no input is looked at for so long")),
        },
        closed,
      ),
    ),
    mail_rounds: Type.Optional(
      Type.Boolean({
        description: "Acts on wake-up prompts: reads, answers and archives the mail that they name",
      }),
    ),
    program: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description:
          "Command with its arguments that does the work of every prompt, which is its standard input; the turn lasts until it ends, and an interrupt ends it",
      }),
    ),
    rules: Type.Optional(Type.Array(RuleSchema, { description: "The first that applies wins" })),
  },
  closed,
);

export type DemoScript = Static<typeof DemoScriptSchema>;
export type DemoRule = Static<typeof RuleSchema>;

export const emptyScript: DemoScript = { schema_version: 1 };

/** Reads a script file's text. A refusal names each wrong place, such as `/rules/0/every: ...`. */
export function parseDemoScript(text: string): { script: DemoScript } | { errors: string[] } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { errors: [error instanceof Error ? error.message : String(error)] };
  }
  if (!Value.Check(DemoScriptSchema, value)) {
    const errors = [...Value.Errors(DemoScriptSchema, value)].map(
      ({ path, message }) => `${path || "/"}: ${message}`,
    );
    return { errors: [...new Set(errors)] };
  }
  const errors = ruleErrors(value.rules ?? []);
  return errors.length > 0 ? { errors } : { script: value };
}

function ruleErrors(rules: readonly DemoRule[]): string[] {
  return rules.flatMap(({ directive, every, on, probability }, index) => {
    const occasions = [every, on, probability].filter((one) => one !== undefined).length;
    return [
      ...(occasions > 1 ? [`/rules/${index}: at most one of every, on, probability`] : []),
      ...(parseDirective(directive)
        ? []
        : [`/rules/${index}/directive: ${JSON.stringify(directive)} is none`]),
    ];
  });
}
