import type { DialogRule, ToolProfile } from "../../../protocol/tool-profile.ts";
import { dialogRule } from "./dialog-rule.ts";

const dialog = (
  id: string,
  kind: DialogRule["kind"],
  question: string | null,
  startupAnswer: string | null = null,
): DialogRule =>
  dialogRule({
    id,
    kind,
    question,
    end: "^\\s*╰─+╯",
    option: "^\\s*│ ([● ]) (\\d+)\\. (.+?)\\s*│?\\s*$",
    startup_answer: startupAnswer,
  });

export const geminiProfile: ToolProfile = {
  schema_version: 1,
  tool: "gemini",
  profile_version: "0.61-1",
  tested: true,
  proved_versions: ["0.61.0", "0.60.0"],
  executable: "gemini",
  process: { commands: ["gemini"], scripts: ["gemini", "gemini.js"], arguments: [] },
  title: {
    idle: ["^◇\\s+Ready\\b"],
    busy: ["^✦\\s+Working\\b", "^[✦⏲]\\s+\\S"],
    decision: ["^✋\\s+Action Required\\b"],
  },
  banner: "Gemini CLI v(\\d\\S*)",
  composer: {
    strategy: "framed",
    upper: "^▄{20,}",
    lower: "^▀{20,}",
    side: null,
    glyph: "^ [>*] ?",
    shell_glyph: "^ ! ?",
    placeholders: [{ text: "^Type your (?:message or @path/to/file|shell command)$", style: "muted" }],
    // The transcript's user cells have the same edges; only the live composer is under this rule.
    above: "^─{20,}",
    chrome_above: [
      "^─{20,}",
      "^\\s*\\? for shortcuts\\s*$",
      "^ (?:Shift\\+Tab|Ctrl\\+\\w|Press) ",
      "^\\s+shell mode enabled",
      "^ (?:YOLO|plan|auto-accept|accepting)\\b",
    ],
  },
  popups: [
    // For some 100 ms every text that begins so gets the list of all commands, and Enter would run the first
    // of them.
    {
      draft: "^/",
      where: "below",
      row: "^ (?:[a-z][\\w-]* {2,}\\S|-- \\S.* --|Loading suggestions)",
      opens_within_ms: 1500,
    },
    { draft: "@\\S*$", where: "below", row: "^ (?:\\S+(?: \\[\\w+\\])?$|Loading suggestions)" },
  ],
  turn: {
    user_cell: { pattern: "^ > ", style: "background" },
    end: [],
    unfinished_is_busy: false,
    ends_are_marked: false,
    success_needs_end: false,
    growth_hint: false,
  },
  // Its spinner is alone in that column: answers are indented by two blanks or marked.
  busy: [{ id: "status_row", pattern: "^ [\\u2801-\\u28ff] \\S", where: "live_edge" }],
  not_ready: [],
  modes: [{ id: "help", pattern: "^ Shortcuts See /help for more", where: "live_edge" }],
  // Answers are indented like both rows; the status row by one blank only, and the queue is dim.
  pending: [
    { id: "queued_section", pattern: "^\\s*Queued \\(press ↑ to edit\\):", where: "live_edge", style: "dim" },
  ],
  interrupted: [{ id: "interrupted_row", pattern: "^ℹ Request cancelled\\.", where: "last_row" }],
  failures: [{ id: "api_error", pattern: "^✕ \\[API Error\\b", where: "live_edge" }],
  errors: [{ id: "error_row", pattern: "^✕ ", where: "live_edge" }],
  parked: [
    {
      id: "usage_limit",
      pattern:
        "^\\W*(?:API Error: )?(?:Usage limit reached|You have exhausted your|Daily quota)\\b(?:.*\\bresets? (?:at |after )?(.+))?",
      where: "live_edge",
    },
  ],
  degraded_context: [],
  dialogs: [
    dialog("trust", "trust_prompt", "Do you trust the files in this folder\\?", "^Trust folder"),
    dialog("approval", "approval_dialog", "(?:Allow execution of|Apply this change|Do you want to proceed)"),
    dialog("menu", "selection_menu", null),
  ],
  submit: {
    enter_delay_ms: 300,
    enter_delay_ms_per_kib: 50,
    enter_delay_max_ms: 2000,
    enter_retry_after_ms: [2000, 3000, 5000],
    // Marks of direction, a blank without width, a byte order mark.
    received: [{ removes: "\u200b\u202a\u202b\u202c\u202d\u202e\ufeff", trims: "both" }],
    blank_before: [],
    blank_after: "@\\S*$|\\\\$",
  },
  commands: { reset: "/clear", compact: "/compress" },
  interrupt: {
    key: "Escape",
    presses: 1,
    spacing_ms: 0,
    before_enter_ms: 600,
    leaves: ["banner", "next_queued"],
    clear_draft_key: "C-u",
    // In vim's normal mode C-u spares the last letter. After a letter and Enter within some 50 ms 0.61.0
    // knows no key but C-c.
    clear_draft_otherwise: [["C-e", "C-u"], ["C-c"]],
  },
};
