import type { DialogRule, ToolProfile } from "../../../protocol/tool-profile.ts";

const option = "^\\s*([❯ ]) (\\d+)\\. (.+)$";
const cancelFooter = "^\\s*(?:Enter to \\w.* · )?Esc to (?:cancel|exit|close|go back)";

const dialog = (
  id: string,
  kind: DialogRule["kind"],
  question: string | null,
  startupAnswer: string | null = null,
): DialogRule => ({
  id,
  kind,
  question,
  end: cancelFooter,
  options: "rows",
  option,
  confirm_key: "Enter",
  cancel_key: "Escape",
  startup_answer: startupAnswer,
});

export const claudeProfile: ToolProfile = {
  schema_version: 1,
  tool: "claude",
  profile_version: "2.1-1",
  tested: true,
  proved_versions: ["2.1.197"],
  executable: "claude",
  process: { commands: ["claude", "claude-code"], scripts: ["claude", "claude-code"], arguments: [] },
  title: { idle: ["^✳ "], busy: ["^[\\u2801-\\u28ff] "], decision: [] },
  banner: "Claude Code v(\\d\\S*)",
  composer: {
    strategy: "framed",
    upper: "^─{20,}",
    lower: "^─{20,}",
    side: null,
    glyph: "^❯ ?",
    shell_glyph: "^! ?",
    placeholders: [
      { text: null, style: "dim" },
      { text: "^Press up to edit queued messages$", style: "any" },
    ],
    above: null,
    chrome_above: [],
  },
  popups: [
    { draft: "^/", where: "below", row: "^\\s*/\\S+" },
    { draft: "(?:^|\\s)@\\S*$", where: "below", row: "^\\s*[+*] \\S" },
  ],
  turn: {
    user_cell: { pattern: "^[❯!] ", style: "background" },
    // Random past verbs: `Cooked for 2s`, `Sautéed for 1m 4s`.
    end: ["^[·✢✳✶✻✽*] \\S+ for \\d+[smh]"],
    unfinished_is_busy: false,
    ends_are_marked: true,
    success_needs_end: false,
    growth_hint: false,
  },
  busy: [
    { id: "spinner_row", pattern: "^[·✢✳✶✻✽*] \\S[^…]*…(?: \\(|$)", where: "live_edge" },
    { id: "footer_interrupt", pattern: "\\besc to interrupt\\b", where: "below" },
  ],
  not_ready: [],
  pending: [{ id: "queued_row", pattern: "^ {2,}❯ ", where: "adjacent", style: "background" }],
  interrupted: [{ id: "interrupted_row", pattern: "^\\s+⎿\\s+Interrupted\\b", where: "last_row" }],
  failures: [{ id: "api_error", pattern: "^● API Error\\b", where: "live_edge" }],
  errors: [],
  parked: [
    {
      id: "usage_limit",
      pattern:
        "^(?:●|\\s*⎿)?\\s*(?:You['’]ve (?:hit|reached) your (?:\\w+ )?(?:usage )?limit|You['’]re out of extra usage|Claude (?:AI )?usage limit reached|\\S+ limit reached [·∙])(?:.*\\bresets? (?:at )?(.+))?",
      where: "live_edge",
    },
  ],
  degraded_context: [],
  dialogs: [
    dialog("trust", "trust_prompt", "Quick safety check|Do you trust the files", "^Yes, "),
    dialog("api_key", "startup_modal", "Do you want to use this API key\\?", "^Yes"),
    dialog("bypass", "startup_modal", "Bypass Permissions mode", "^Yes, I accept"),
    dialog("theme", "startup_modal", "Choose the text style"),
    dialog("permission", "approval_dialog", "^\\s*(?:Do you want to|Would you like to) .*\\?$"),
    dialog("menu", "selection_menu", null),
    {
      id: "picker",
      kind: "selection_menu",
      question: null,
      end: cancelFooter,
      options: "none",
      option: null,
      confirm_key: "Enter",
      cancel_key: "Escape",
      startup_answer: null,
    },
  ],
  submit: {
    enter_delay_ms: 300,
    enter_delay_ms_per_kib: 50,
    enter_delay_max_ms: 2000,
    enter_retry_after_ms: [500, 1000, 2000],
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
  },
};
