import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { occasion } from "./occasions.ts";

const milliseconds = (description: string) => Type.Integer({ minimum: 0, maximum: 3_600_000, description });
const closed = { additionalProperties: false };

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

/** How the scripted agent misbehaves. */
const HostileSchema = Type.Partial(
  Type.Object({
    ...hostileProperties,
    queue_merge: Type.Boolean({ description: "All queued input becomes one turn; default false" }),
    busy_title: Type.Boolean({ description: "false: the title stays idle while busy; default true" }),
  }),
  closed,
);

export type Hostile = Static<typeof HostileSchema>;

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

/** What only a test's script has. */
export const MisbehaviourSchema = Type.Object({
  seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffffffff, description: "Default 0" })),
  startup: Type.Optional(
    Type.Object(
      {
        trust_dialog: Type.Optional(Type.Boolean({ description: "Ask first whether the folder is trusted" })),
        delay_ms: Type.Optional(milliseconds("Nothing is painted and no input is looked at for so long")),
      },
      closed,
    ),
  ),
  rules: Type.Optional(Type.Array(RuleSchema, { description: "The first that applies wins" })),
  hostile: Type.Optional(HostileSchema),
});

export type Misbehaviour = Static<typeof MisbehaviourSchema>;
