import { type Static, Type } from "@sinclair/typebox";
import { Nullable, Strict, StringEnum } from "./wire.ts";

/**
 * What one agent CLI looks like and how it is driven, as data. Built-in profiles and the file of
 * `SVC_TOOL_PROFILES` have this one shape, so a new release of a CLI is met with a data patch.
 * Source: issue 4; spec/terminal.md 4-8.
 */

const Pattern = Type.String({
  minLength: 1,
  maxLength: 400,
  description: "regular expression over one screen row without styling; no-break spaces read as spaces",
});

/** Where on the screen a row must stand for a rule to count. Distances are in rows with text. */
const Where = StringEnum(["live_edge", "last_row", "adjacent", "transcript", "below"], {
  description:
    "live_edge: after the last turn boundary, at most 24 rows above the composer; last_row: the newest transcript " +
    "row (with the wrapped rows it began); adjacent: directly above the composer; transcript: anywhere above it; " +
    "below: under the composer",
});

const Style = StringEnum(["background", "bold", "dim", "red", "not_red", "ends_red", "badge"], {
  description:
    "how the first visible run of the row must be drawn; ends_red: the last one; badge: the last one, on another background",
});

export const Marker = Strict({
  id: Type.String({ minLength: 1, description: "name of the fact, shown as a reason" }),
  pattern: Pattern,
  where: Where,
  style: Type.Optional(Style),
  rows: Type.Optional(
    Type.Integer({ minimum: 2, description: "so many rows of the region must fit; default: one" }),
  ),
});
export type Marker = Static<typeof Marker>;

const Placeholder = Strict({
  text: Nullable(Pattern),
  style: StringEnum(["dim", "muted", "any"], {
    description: "dim: the dim attribute; muted: dim or a grey; any: the text alone decides",
  }),
});

const composerFields = {
  glyph: Type.String({ ...Pattern, description: "what the composer's first row begins with" }),
  shell_glyph: Nullable(Pattern),
  placeholders: Type.Array(Placeholder, { description: "an empty composer shows one of these" }),
  above: Nullable(Type.String({ ...Pattern, description: "a row that must be at most 4 rows above" })),
  chrome_above: Type.Array(Pattern, { description: "rows above the composer that are not transcript" }),
};

const FramedComposer = Strict({
  strategy: Type.Literal("framed", { description: "input rows between two edge rows" }),
  upper: Pattern,
  scrolled: Type.Optional(
    Type.String({
      ...Pattern,
      description: "the upper edge of a draft whose first rows are scrolled out of sight",
    }),
  ),
  lower: Pattern,
  side: Nullable(Type.String({ description: "the character that closes each input row on both sides" })),
  ...composerFields,
});
const OpenComposer = Strict({
  strategy: Type.Literal("open", {
    description: "a glyph row, its draft, a blank row, then the footer; history cells have a background",
  }),
  ...composerFields,
});
const BlockComposer = Strict({
  strategy: Type.Literal("block", {
    description: "rows with a bar at the left, the last one naming the model, ended by an edge row",
  }),
  bar: Type.String({ minLength: 1, maxLength: 1 }),
  end: Pattern,
  model: Type.Optional(
    Type.String({
      ...Pattern,
      description:
        "the last row, which names the model; under any other row the text is a command of a shell",
    }),
  ),
  ...composerFields,
});
const Composer = Type.Union([FramedComposer, OpenComposer, BlockComposer]);

export const DialogRule = Strict({
  id: Type.String({ minLength: 1 }),
  kind: StringEnum(["approval_dialog", "trust_prompt", "selection_menu", "startup_modal"]),
  question: Nullable(
    Type.String({ ...Pattern, description: "a row above or inside the options; group 1 is the question" }),
  ),
  end: Type.String({ ...Pattern, description: "the last row with text on the screen" }),
  options: StringEnum(["rows", "marked", "blocks", "inline", "none"], {
    description:
      "rows: numbered rows with a glyph on the chosen one; marked: rows in one column, a mark before the chosen one; " +
      "blocks: as marked, each option with rows that describe it and a blank row after; inline: one row of labels",
  }),
  option: Nullable(
    Type.String({
      ...Pattern,
      description:
        "rows: groups 1 glyph or blank, 2 number, 3 text; marked, blocks: the chosen row, groups 1 indent, 2 text; " +
        "inline: the row, group 1 the labels",
    }),
  ),
  header: Type.Optional(Type.String({ ...Pattern, description: "the row that heads the question" })),
  checkbox: Type.Optional(
    Type.String({
      ...Pattern,
      description:
        "the text of an option of a question with several choices: groups 1 the check mark, blank without one, 2 text",
    }),
  ),
  button: Type.Optional(
    Type.String({
      ...Pattern,
      description:
        "a row without a number that ends a question with several choices: groups 1 glyph or blank, 2 text",
    }),
  ),
  confirm_key: Type.String(),
  cancel_key: Nullable(Type.String()),
  floating: Type.Optional(
    Type.Boolean({
      description:
        "drawn over the screen: its `question` is any row, `end` counts for nothing, its options are not read",
    }),
  ),
  startup_answer: Nullable(
    Type.String({ ...Pattern, description: "text of the option that lets an attended launch go on" }),
  ),
  unattended_answer: Type.Optional(
    Type.String({
      ...Pattern,
      description:
        "text of the option that an unattended launch takes at its start; only of a question that grants nothing",
    }),
  ),
});
export type DialogRule = Static<typeof DialogRule>;

const Version = Type.String({ pattern: "^\\d+(?:\\.\\d+)*$" });

const ReceivedRule = Strict({
  before_version: Type.Optional({ ...Version, description: "the rule is of older versions only" }),
  longer_than: Type.Optional(
    Strict(
      {
        line_breaks: Type.Integer({ minimum: 0 }),
        characters: Type.Integer({ minimum: 1 }),
        trimmed: Type.Boolean({ description: "measured without the blanks around the text" }),
      },
      { description: "the rule is of a paste with more of either, which the tool keeps as one unit" },
    ),
  ),
  tab: Type.Optional(Type.String({ description: "what replaces each TAB" })),
  normal_form: Type.Optional(Type.Literal("NFC")),
  removes: Type.Optional(Type.String({ description: "each of these characters is removed" })),
  trims: StringEnum(["none", "start", "end", "both"], { description: "where white space is removed" }),
  adds: Type.Optional(Type.String({ description: "appended to the text" })),
});
export type ReceivedRule = Static<typeof ReceivedRule>;

const SubmitSettings = Strict({
  enter_delay_ms: Type.Integer({ minimum: 0, description: "from the paste to Enter" }),
  enter_delay_ms_per_kib: Type.Number({ minimum: 0, description: "more for each KiB beyond the first four" }),
  enter_delay_max_ms: Type.Integer({ minimum: 0 }),
  enter_after_echo_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "from the moment at which the composer shows exactly the text to Enter, where that is earlier; proved versions only",
    }),
  ),
  enter_retry_after_ms: Type.Array(Type.Integer({ minimum: 1 }), {
    description: "pauses before a swallowed Enter is pressed again; as many as retries are allowed",
  }),
  paste_pieces: Type.Optional(
    Strict(
      {
        from_version: Version,
        line_breaks: Type.Integer({ minimum: 1 }),
        characters: Type.Integer({ minimum: 1 }),
      },
      {
        description:
          "from this version on the tool wraps a long paste into markup; pieces of at most this size it takes as typed",
      },
    ),
  ),
  received: Type.Optional(
    Type.Array(ReceivedRule, {
      description:
        "what the model receives of a pasted text: the first rule that fits the version and the text; without one the text",
    }),
  ),
  blank_before: Type.Array(Type.String(), {
    description: "a prompt that begins so gets a leading blank, to stay plain text",
  }),
  blank_after: Nullable(
    Type.String({ ...Pattern, description: "a prompt that ends so gets a trailing blank" }),
  ),
});

const InterruptSettings = Strict({
  key: Type.String(),
  presses: Type.Integer({ minimum: 1 }),
  spacing_ms: Type.Integer({ minimum: 0, description: "between presses" }),
  before_enter_ms: Type.Integer({ minimum: 0, description: "pause between the key and a following Enter" }),
  leaves: Type.Array(StringEnum(["banner", "draft", "next_queued", "unanswered_queue"]), {
    description: "what may be seen afterwards, the usual first",
  }),
  clear_draft_key: Nullable(Type.String()),
  clear_draft_otherwise: Type.Optional(
    Type.Array(Type.Array(StringEnum(["C-u", "C-e", "C-c", "BSpace"]), { minItems: 1 }), {
      description: "series of keys, each tried when the one before leaves the draft as it is",
    }),
  ),
});

export const ToolProfile = Strict({
  schema_version: Type.Literal(1),
  tool: Type.String({ minLength: 1 }),
  profile_version: Type.String({ minLength: 1 }),
  tested: Type.Boolean({ description: "false: written from a text, never run against the tool" }),
  proved_versions: Type.Array(Type.String(), { description: "versions of the tool it was proved on" }),
  executable: Type.String({ minLength: 1 }),
  process: Strict({
    commands: Type.Array(Type.String(), { description: "process names (comm)" }),
    scripts: Type.Array(Type.String(), {
      description:
        "base name of argv 0, of any argument of a script interpreter, or of the script that a shell runs",
    }),
    arguments: Type.Array(Type.String(), { description: "an argument equal to one of these" }),
  }),
  title: Strict({
    idle: Type.Array(Pattern),
    busy: Type.Array(Pattern),
    decision: Type.Array(Pattern),
  }),
  banner: Nullable(Type.String({ ...Pattern, description: "group 1 is the tool's version" })),
  composer: Composer,
  popups: Type.Array(
    Strict({
      draft: Type.String({ ...Pattern, description: "the draft that opens it" }),
      where: StringEnum(["above", "inside", "below"], { description: "of the composer" }),
      row: Pattern,
      opens_within_ms: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            "after the draft the list may open so late, and Enter would take its entry; default: with the draft",
        }),
      ),
    }),
  ),
  turn: Strict({
    user_cell: Nullable(Strict({ pattern: Pattern, style: Type.Optional(Style) })),
    end: Type.Array(Type.Union([Pattern, Strict({ pattern: Pattern, style: Style })]), {
      description: "rows that close a turn; with a style where the text alone could be an answer's",
    }),
    answer: Type.Optional(
      Type.String({
        ...Pattern,
        description:
          "first row of an answer: one after the last user cell without a closing row is of a turn that runs, " +
          "unless the title says idle",
      }),
    ),
    unfinished_is_busy: Type.Boolean({
      description: "no closing row after the last user cell means that the turn still runs",
    }),
    ends_are_marked: Type.Boolean({
      description: "every turn leaves a closing row, so a changed transcript without one has not ended",
    }),
    success_needs_end: Type.Boolean(),
    growth_hint: Type.Boolean({ description: "a growing transcript means activity goes on" }),
  }),
  busy: Type.Array(Marker),
  not_ready: Type.Array(Marker, { description: "neither idle nor a turn, e.g. still starting" }),
  modes: Type.Optional(
    Type.Array(Marker, {
      description: "modes of the composer in which its text is not a prompt: shell, memory, history search",
    }),
  ),
  pending: Type.Array(Marker),
  interrupted: Type.Array(Marker),
  failures: Type.Array(Marker, { description: "the turn failed" }),
  errors: Type.Array(Marker, { description: "an error that blocks success without naming the turn failed" }),
  parked: Type.Array(Marker, { description: "usage limit; group 1 is the time as shown" }),
  background: Type.Optional(
    Type.Array(Marker, {
      description: "work that goes on beside the turns, such as a shell; group 1 is what it is",
    }),
  ),
  degraded_context: Type.Array(
    Strict({
      type: Type.String(),
      pattern: Type.String({ ...Pattern, description: "over the error's text" }),
    }),
  ),
  dialogs: Type.Array(DialogRule),
  submit: SubmitSettings,
  commands: Strict({
    reset: Type.String(),
    compact: Nullable(Type.String()),
  }),
  interrupt: InterruptSettings,
});
export type ToolProfile = Static<typeof ToolProfile>;

/** The override file: profiles that replace the built-in one of the same tool or add a tool. */
export const ToolProfileFile = Strict({
  schema_version: Type.Literal(1),
  profiles: Type.Array(ToolProfile),
});
export type ToolProfileFile = Static<typeof ToolProfileFile>;
