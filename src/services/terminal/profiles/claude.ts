import type { DialogRule, ToolProfile } from "../../../protocol/tool-profile.ts";
import { dialogRule } from "./dialog-rule.ts";

const option = "^\\s*([❯ ]) (\\d+)\\. (.+)$";
// From 2.1.270 the options of some dialogs have no numbers.
// A prompt in the transcript begins at the edge.
const marked = "^( +)❯ (\\S.*)$";
const cancelFooter = "^\\s*(?:\\S.{0,80} · )?Esc to (?:cancel|exit|close|go back)";

const dialog = (
  id: string,
  kind: DialogRule["kind"],
  question: string | null,
  startupAnswer: string | null = null,
): DialogRule => dialogRule({ id, kind, question, end: cancelFooter, option, startup_answer: startupAnswer });

// A question of several pages names them all, and the page that sends the answers:
// `←  ☒ Fruit  ☐ Size  ✔ Submit  →`.
const pages = "^(?:←  [☐☒✔].*→| [☐☒] \\S.*)\\s*$";

/** The same dialog in both forms. */
const bothForms = (...of: Parameters<typeof dialog>): DialogRule[] => {
  const numbered = dialog(...of);
  return [numbered, { ...numbered, id: `${numbered.id}_marked`, options: "marked", option: marked }];
};

export const claudeProfile: ToolProfile = {
  schema_version: 1,
  tool: "claude",
  profile_version: "2.1-1",
  tested: true,
  proved_versions: ["2.1.331", "2.1.330", "2.1.197", "2.1.150"],
  executable: "claude",
  process: { commands: ["claude", "claude-code"], scripts: ["claude", "claude-code"], arguments: [] },
  title: { idle: ["^✳ "], busy: ["^[\\u2801-\\u28ff\\u25d0-\\u25d3] "], decision: [] },
  banner: "Claude Code v(\\d\\S*)",
  composer: {
    strategy: "framed",
    // 2.1.330 writes the place of a recalled prompt in its history into the edge.
    upper: "^─{20,}|^─{3,} \\S.{0,40} ─{12,}$",
    scrolled: "^─{3,} ↑ \\d+ more ─{3,}",
    lower: "^─{20,}",
    side: null,
    glyph: "^❯ ?",
    shell_glyph: "^! ?",
    placeholders: [
      { text: null, style: "dim" },
      { text: "^Press up to edit queued messages$", style: "any" },
    ],
    above: null,
    // 2.1.330 writes hints at the right edge above the composer.
    chrome_above: ["^\\s{16,}\\S"],
  },
  popups: [
    // A command has one slash: a status line may begin with a path.
    { draft: "^/", where: "below", row: "^\\s*/[^\\s/]+(?:\\s|$)" },
    { draft: "(?:^|\\s)@\\S*$", where: "below", row: "^\\s*[+*] \\S" },
    { draft: "^/", where: "above", row: "^\\s*[❯ ]? ?/[^\\s/]+\\s" },
    { draft: "(?:^|\\s)@\\S*$", where: "above", row: "^\\s*[❯ ]? ?[+*] \\S" },
  ],
  turn: {
    user_cell: { pattern: "^[❯!] ", style: "background" },
    // Random past verbs: `Cooked for 2s`, `Sautéed for 1m 4s`. In any words: a row at rest that ends in a
    // duration.
    end: ["^[·✢✳✶✻✽*] \\S+ for \\d+[smh]", "^[·✢✳✶✻✽*] [^…·()/]{2,40} (?:\\d+[smh] )*\\d+[smh]\\s*$"],
    answer: "^[^\\p{L}\\p{N}\\s❯!] \\S",
    unfinished_is_busy: false,
    ends_are_marked: true,
    success_needs_end: false,
    growth_hint: false,
  },
  busy: [
    {
      id: "spinner_row",
      pattern: "^(?:[·✢✳✶✻✽*] \\S[^…]*…(?: \\(|$)|[^\\p{L}\\p{N}\\s●⏺❯] (?:\\S[^…]*… \\(\\d+[smh]|\\S+…$))",
      where: "live_edge",
    },
    { id: "progress_bar", pattern: "^ {2}[▰▱]{8,}", where: "live_edge" },
    { id: "attempt_row", pattern: "^[·✢✳✶✻✽*] \\S.* · .*\\d+/\\d+$", where: "live_edge" },
    { id: "footer_interrupt", pattern: "\\besc to interrupt\\b", where: "below" },
  ],
  not_ready: [],
  modes: [
    { id: "shell", pattern: "^\\s*! for (?:shell|bash) mode\\s*$", where: "below" },
    { id: "memory", pattern: "^\\s*# to memorize\\b", where: "below" },
    // Its composer takes the task of a new session.
    { id: "agents_view", pattern: "^\\s*enter to \\w+ · space to reply\\b", where: "below" },
    { id: "help", pattern: "^\\s*! for (?:shell|bash) mode\\s+\\S", where: "below" },
  ],
  pending: [
    { id: "queued_row", pattern: "^ {2,}❯ ", where: "adjacent", style: "background" },
    // From 2.1.300 a queued prompt is a row of the transcript with this note under it.
    { id: "queued_note", pattern: "^\\s+⎿\\s+Queued · ", where: "live_edge" },
  ],
  interrupted: [{ id: "interrupted_row", pattern: "^\\s+⎿\\s+Interrupted\\b", where: "last_row" }],
  failures: [
    { id: "api_error", pattern: "^● API Error\\b", where: "live_edge" },
    // Until 2.1.150; a command's output begins with the same mark in another colour.
    { id: "api_error_row", pattern: "^\\s+⎿\\s+API Error\\b", where: "live_edge", style: "ends_red" },
  ],
  errors: [],
  parked: [
    {
      id: "usage_limit",
      pattern:
        "^(?:●|\\s*⎿)?\\s*(?:You['’]ve (?:hit|reached) your (?:\\w+ )?(?:usage )?limit|You['’]re out of extra usage|Claude (?:AI )?usage limit reached|\\S+ limit reached [·∙])(?:.*\\bresets? (?:at )?(.+))?",
      where: "live_edge",
    },
  ],
  // Claude Code 2.1.332.
  background: [
    { id: "still_running", pattern: "^[·✢✳✶✻✽*] .* · (\\d+ [^·]+?) still running\\s*$", where: "last_row" },
    {
      id: "waiting_for",
      pattern: "^[·✢✳✶✻✽*] Waiting for (\\d+ background \\S+) to finish",
      where: "last_row",
    },
    { id: "shells", pattern: "(?:^|· )(\\d+ shells?)(?: ·|$)", where: "below" },
    { id: "agent_row", pattern: "^ {2}◯ (\\S+ {2,}\\S.*?) {2,}(?:\\d+[hms] ?)+ ·", where: "below" },
  ],
  degraded_context: [],
  dialogs: [
    ...bothForms("trust", "trust_prompt", "Quick safety check|Do you trust the files", "^Yes, "),
    ...bothForms("api_key", "startup_modal", "Do you want to use this API key\\?", "^Yes"),
    ...bothForms("bypass", "startup_modal", "Bypass Permissions mode", "^Yes, I accept"),
    ...bothForms("theme", "startup_modal", "Choose the text style"),
    ...bothForms("permission", "approval_dialog", "^\\s*(?:Do you want to|Would you like to) .*\\?$"),
    {
      ...dialog("question", "selection_menu", null),
      end: "^Enter to select · .*Esc to cancel",
      header: pages,
      checkbox: "^\\[(.)\\] (.+)$",
      button: "^([❯ ]) {4}(\\S.*)$",
    },
    // It ends the screen with its options.
    { ...dialog("review", "selection_menu", "^Review your answers\\s*$"), end: option, header: pages },
    ...bothForms("menu", "selection_menu", null),
    {
      // 2.1.330 ends the screen with the options of a question at its start.
      ...dialog("menu_at_end", "selection_menu", "\\?$"),
      end: "^ +(?:❯ )?\\S",
      options: "marked",
      option: marked,
    },
    dialogRule({
      id: "history_search",
      kind: "selection_menu",
      question: "Search prompts",
      end: "^\\s*ctrl\\+s to change scope\\b.*\\bEsc to cancel\\b",
      options: "none",
    }),
    dialogRule({
      id: "picker",
      kind: "selection_menu",
      question: null,
      end: cancelFooter,
      options: "none",
    }),
  ],
  submit: {
    enter_delay_ms: 300,
    enter_delay_ms_per_kib: 50,
    enter_delay_max_ms: 2000,
    enter_after_echo_ms: 40,
    enter_retry_after_ms: [2000, 3000, 5000],
    // From 2.1.300 a paste with more breaks or characters reaches the model inside `<pasted_content>`.
    paste_pieces: { from_version: "2.1.300", line_breaks: 2, characters: 600 },
    received: [
      // Shown as `[Pasted text]`; newer versions get smaller pastes.
      {
        before_version: "2.1.300",
        longer_than: { line_breaks: 2, characters: 800, trimmed: false },
        tab: "    ",
        trims: "none",
      },
      { tab: "    ", normal_form: "NFC", trims: "end" },
    ],
    blank_before: ["!"],
    blank_after: "(?:^|\\s)@\\S*$|\\\\$",
  },
  commands: { reset: "/clear", compact: "/compact" },
  interrupt: {
    key: "Escape",
    presses: 1,
    spacing_ms: 0,
    before_enter_ms: 600,
    leaves: ["banner", "draft", "next_queued"],
    clear_draft_key: "C-u",
    // In vim's normal mode C-u spares the last letter.
    clear_draft_otherwise: [["C-e", "C-u"]],
  },
};
