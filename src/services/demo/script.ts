import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { parseDirective } from "./directive.ts";
import type { Occasion } from "./occasion.ts";

const milliseconds = (description: string) => Type.Integer({ minimum: 0, maximum: 3_600_000, description });
const closed = { additionalProperties: false };

/** When a behaviour shows: exactly one of the three. Ordinals count from 1, per behaviour. */
const occasion = {
  every: Type.Optional(Type.Integer({ minimum: 1, description: "At every n-th occasion" })),
  on: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { description: "At these occasions" })),
  probability: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: "At random, decided by the seed and the ordinal" }),
  ),
};

const behaviour = <P extends TProperties>(description: string, parameters: P) =>
  Type.Object({ ...occasion, ...parameters }, { ...closed, description });

const hostileProperties = {
  late_repaint: behaviour("Occasion: each paste and each accepted Enter. The screen is painted later.", {
    delay_ms: Type.Optional(milliseconds("How long the screen does not change; default 250")),
  }),
  swallow_enter: behaviour("Occasion: each Enter with a draft. The Enter has no effect.", {
    in_a_row: Type.Optional(
      Type.Integer({ minimum: 1, description: "At most so many one after another; default 2" }),
    ),
  }),
  enter_dead_time: behaviour("Occasion: each paste. An Enter that comes too soon after it has no effect.", {
    dead_ms: Type.Optional(milliseconds("Default 200")),
  }),
  split_paste: behaviour("Occasion: each paste. It appears piece by piece; later input waits behind it.", {
    pieces: Type.Optional(Type.Integer({ minimum: 2, maximum: 100, description: "Default 3" })),
    piece_delay_ms: Type.Optional(milliseconds("Between two pieces; default 60")),
  }),
  crash_during_paste: behaviour("Occasion: each paste. The process ends with code 3 inside it.", {}),
  crash_on_prompt: behaviour("Occasion: each submitted prompt. The process ends with code 3 after it.", {}),
  menu_before_prompt: behaviour(
    "Occasion: the first Enter of each draft while idle. A menu opens instead; the draft comes back after it.",
    { dismiss_ms: Type.Optional(milliseconds("A person answers after this; 0 is never; default 700")) },
  ),
  menu_after_paste: behaviour(
    "Occasion: each paste while idle. A menu opens over it at once; the draft is there after it.",
    { dismiss_ms: Type.Optional(milliseconds("A person answers after this; 0 is never; default 700")) },
  ),
  spontaneous_menu: behaviour("Occasion: each turn's end that leaves the agent idle. A menu opens.", {
    after_ms: Type.Optional(milliseconds("After the turn's end; default 0")),
    dismiss_ms: Type.Optional(milliseconds("A person answers after this; 0 is never; default 700")),
  }),
  person_draft: behaviour(
    "Occasion: each turn's end that leaves the agent idle and opens no menu. A person types a draft.",
    {
      after_ms: Type.Optional(milliseconds("After the turn's end; default 0")),
      text: Type.Optional(Type.String({ minLength: 1, description: "What the person types" })),
      hold_ms: Type.Optional(milliseconds("From the last character to the end of the draft; default 500")),
      ending: Type.Optional(
        Type.Union([Type.Literal("delete"), Type.Literal("submit")], { description: "Default delete" }),
      ),
    },
  ),
} satisfies Record<string, TObject>;

const HostileSchema = Type.Partial(
  Type.Object({
    ...hostileProperties,
    queue_merge: Type.Boolean({ description: "All queued input becomes one turn; default false" }),
    busy_title: Type.Boolean({ description: "false: the title stays idle while busy; default true" }),
  }),
  closed,
);

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

/** The script file of the scripted agent: makes it behave badly in a way that a seed repeats exactly. */
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
    hostile: Type.Optional(HostileSchema),
  },
  closed,
);

export type DemoScript = Static<typeof DemoScriptSchema>;
export type DemoRule = Static<typeof RuleSchema>;
export type Hostile = Static<typeof HostileSchema>;
export type BehaviourName = keyof typeof hostileProperties;

export const emptyScript: DemoScript = { schema_version: 1 };

/** Reads a script file's text. A refusal names each wrong place, such as `/hostile/swallow_enter/every: ...`. */
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
  const errors = [...occasionErrors(value), ...directiveErrors(value)];
  return errors.length > 0 ? { errors } : { script: value };
}

function occasionErrors(script: DemoScript): string[] {
  const places: [string, Occasion, number][] = [];
  for (const [name, given] of Object.entries(script.hostile ?? {})) {
    if (typeof given === "object") places.push([`/hostile/${name}`, given, 1]);
  }
  // A rule without an occasion applies every time.
  for (const [index, rule] of (script.rules ?? []).entries()) places.push([`/rules/${index}`, rule, 0]);
  return places.flatMap(([path, { every, on, probability }, least]) => {
    const given = [every, on, probability].filter((one) => one !== undefined).length;
    if (given >= least && given <= 1) return [];
    return [`${path}: ${least ? "exactly" : "at most"} one of every, on, probability`];
  });
}

function directiveErrors(script: DemoScript): string[] {
  return (script.rules ?? []).flatMap(({ directive }, index) =>
    parseDirective(directive) ? [] : [`/rules/${index}/directive: ${JSON.stringify(directive)} is none`],
  );
}
