import { type Static, Type } from "@sinclair/typebox";
import { Nullable, Strict, StringEnum } from "./wire.ts";

/**
 * The screens of one agent CLI and the keys that drive it, as data. Built-in profiles and the file of
 * `SVC_TOOL_PROFILES` have this schema, so a new release of a CLI needs only new data.
 * Source: decision 41; spec/terminal.md 4-8.
 */

const Pattern = Type.String({
  minLength: 1,
  maxLength: 400,
  description: "regular expression over one screen row without styling; no-break spaces read as spaces",
});

/** Region of the screen in which a rule matches rows. Distances count rows with text. */
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
    Type.Integer({ minimum: 2, description: "number of rows in the region that must match; default: 1" }),
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
  glyph: Type.String({ ...Pattern, description: "start of the composer's first row" }),
  shell_glyph: Nullable(Pattern),
  placeholders: Type.Array(Placeholder, { description: "texts of an empty composer" }),
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
        "drawn over the screen: `question` matches any row, `end` is ignored and the options are not read",
    }),
  ),
  startup_answer: Nullable(
    Type.String({ ...Pattern, description: "text of the option that continues an attended launch" }),
  ),
  unattended_answer: Type.Optional(
    Type.String({
      ...Pattern,
      description:
        "text of the option that an unattended launch chooses at its start; only for a question that grants nothing",
    }),
  ),
});
export type DialogRule = Static<typeof DialogRule>;

const Version = Type.String({ pattern: "^\\d+(?:\\.\\d+)*$" });

const ReceivedRule = Strict({
  before_version: Type.Optional({ ...Version, description: "the rule applies to older versions only" }),
  longer_than: Type.Optional(
    Strict(
      {
        line_breaks: Type.Integer({ minimum: 0 }),
        characters: Type.Integer({ minimum: 1 }),
        trimmed: Type.Boolean({ description: "lengths exclude blanks around the text" }),
      },
      { description: "the rule applies to a paste above either length, which the tool keeps as one unit" },
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
  enter_delay_ms_per_kib: Type.Number({
    minimum: 0,
    description: "additional delay for each KiB beyond the first four",
  }),
  enter_delay_max_ms: Type.Integer({ minimum: 0 }),
  enter_after_echo_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "from the exact echo in the composer to Enter, if that is earlier; proved versions only",
    }),
  ),
  enter_retry_after_ms: Type.Array(Type.Integer({ minimum: 1 }), {
    description: "pauses before each retry of a swallowed Enter",
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
          "from this version on the tool wraps a long paste into markup; it takes pieces up to this size as typed text",
      },
    ),
  ),
  received: Type.Optional(
    Type.Array(ReceivedRule, {
      description:
        "changes of the tool to a pasted text: the first rule that fits version and text applies; without one the text is unchanged",
    }),
  ),
  blank_before: Type.Array(Type.String(), {
    description: "a prompt with one of these beginnings gets a leading blank, so that it stays plain text",
  }),
  blank_after: Nullable(
    Type.String({ ...Pattern, description: "a prompt with such an ending gets a trailing blank" }),
  ),
});

const InterruptSettings = Strict({
  key: Type.String(),
  presses: Type.Integer({ minimum: 1 }),
  spacing_ms: Type.Integer({ minimum: 0, description: "between presses" }),
  before_enter_ms: Type.Integer({ minimum: 0, description: "pause between the key and a following Enter" }),
  leaves: Type.Array(StringEnum(["banner", "draft", "next_queued", "unanswered_queue"]), {
    description: "possible screens afterwards, the usual one first",
  }),
  clear_draft_key: Nullable(Type.String()),
  clear_draft_otherwise: Type.Optional(
    Type.Array(Type.Array(StringEnum(["C-u", "C-e", "C-c", "BSpace"]), { minItems: 1 }), {
      description: "further key sequences, each tried when the previous one left the draft unchanged",
    }),
  ),
});

export const ToolProfile = Strict({
  schema_version: Type.Literal(1),
  tool: Type.String({ minLength: 1 }),
  profile_version: Type.String({ minLength: 1 }),
  tested: Type.Boolean({ description: "false: written from documentation, never run against the tool" }),
  proved_versions: Type.Array(Type.String(), {
    description: "versions of the tool that the profile was proved on",
  }),
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
      where: StringEnum(["above", "inside", "below"], { description: "position relative to the composer" }),
      row: Pattern,
      opens_within_ms: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            "longest delay between the draft and the list, whose entry Enter would take; default: no delay",
        }),
      ),
    }),
  ),
  turn: Strict({
    user_cell: Nullable(Strict({ pattern: Pattern, style: Type.Optional(Style) })),
    end: Type.Array(Type.Union([Pattern, Strict({ pattern: Pattern, style: Style })]), {
      description: "rows that close a turn; a style distinguishes such a row from the text of an answer",
    }),
    answer: Type.Optional(
      Type.String({
        ...Pattern,
        description:
          "first row of an answer; after the last user cell and without a closing row it means that the turn " +
          "still runs, unless the title says idle",
      }),
    ),
    unfinished_is_busy: Type.Boolean({
      description: "no closing row after the last user cell means that the turn still runs",
    }),
    ends_are_marked: Type.Boolean({
      description: "every turn leaves a closing row, so a changed transcript without one has not ended",
    }),
    success_needs_end: Type.Boolean(),
    growth_hint: Type.Boolean({ description: "a growing transcript means that the turn runs" }),
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
  errors: Type.Array(Marker, {
    description: "an error that excludes success but does not mark the turn as failed",
  }),
  parked: Type.Array(Marker, { description: "usage limit; group 1 is the time as shown" }),
  background: Type.Optional(
    Type.Array(Marker, {
      description: "work that continues between turns, such as a shell; group 1 is its name",
    }),
  ),
  degraded_context: Type.Array(
    Strict({
      type: Type.String(),
      pattern: Type.String({ ...Pattern, description: "matched against the text of the error" }),
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
