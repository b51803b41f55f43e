import type { DialogRule, ToolProfile } from "../../../protocol/tool-profile.ts";
import { dialogRule } from "./dialog-rule.ts";

const option = "^([› ]) (\\d+)\\. (.+)$";
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
    end: "^\\s*(?:[Pp]ress )?enter (?:to )?(?:confirm|select|continue|submit)\\b.*\\besc\\b",
    option,
    startup_answer: startupAnswer,
  });

export const codexProfile: ToolProfile = {
  schema_version: 1,
  tool: "codex",
  profile_version: "0.169-1",
  tested: true,
  proved_versions: ["0.169.0", "0.166.0"],
  executable: "codex",
  process: { commands: ["codex"], scripts: ["codex", "codex.js"], arguments: [] },
  title: {
    idle: ["^[^\\u2801-\\u28ff\\[\\s]\\S*$"],
    busy: ["^[\\u2801-\\u28ff] "],
    decision: ["^\\[ [!.] \\] Action Required"],
  },
  // 0.157.1 frames it.
  banner: "^\\s*(?:│ )?>_ OpenAI Codex \\(v(\\d[^)]*)\\)",
  composer: {
    strategy: "open",
    glyph: "^› ?",
    shell_glyph: "^! ?",
    placeholders: [{ text: null, style: "dim" }],
    above: null,
    chrome_above: [],
  },
  popups: [
    // The list with its heading and its footer; blank rows belong to it.
    {
      draft: "(?:^|\\s)[@$]\\S*$",
      where: "above",
      row: "^(?:[› ] \\S.* {2,}\\S.*|  (?:enter|Type to|Mentions|Files|No matches|no matches)\\b.*|)$",
    },
    { draft: "^/", where: "above", row: "^[› ] /\\S+\\s" },
    { draft: "(?:^|\\s)@\\S*$", where: "above", row: "^[› ] \\S" },
  ],
  turn: {
    user_cell: { pattern: "^› " },
    // 0.157.1 closes a turn with its time alone.
    end: [
      "^ {2}Worked for \\S",
      "^■ (?!'/\\S+' )",
      { pattern: "^ {2}(?:\\S.* • )?\\d{2}:\\d{2}$", style: "dim" },
    ],
    unfinished_is_busy: true,
    ends_are_marked: true,
    success_needs_end: false,
    growth_hint: true,
  },
  busy: [
    {
      id: "status_row",
      pattern:
        "^(?!.{0,2}(?:Booting|Starting) MCP)(?:[•◦\\u2801-\\u28ff] \\S.* \\((?:\\d+[hm] )*\\d+s • |\\S.* \\(\\d[^()]*esc to interrupt\\))",
      where: "live_edge",
    },
    {
      id: "tool_running",
      pattern: "^[•◦] (?:Calling|Running|Waited for background terminal|Waiting for)\\b",
      where: "last_row",
    },
    {
      id: "queue_section",
      pattern:
        "^• (?:Messages to be submitted (?:after next tool call|at end of turn)|Queued follow-up inputs)",
      where: "live_edge",
    },
    { id: "reconnecting", pattern: "^[•◦⚠] (?:Reconnecting|Retrying)\\b", where: "last_row" },
  ],
  not_ready: [
    {
      id: "mcp_starting",
      pattern: "^[•◦]? ?(?:Booting|Starting) MCP\\b.*esc to interrupt",
      where: "live_edge",
    },
  ],
  modes: [
    { id: "shell", pattern: "\\bShell mode\\b", where: "below" },
    // The footer of the keys above the composer. Columns of text alone prove nothing: `/status` prints two.
    { id: "help", pattern: "^\\s*(?:\\? / \\S+|\\S{1,12} / esc) \\S", where: "below" },
  ],
  pending: [
    {
      id: "queue_section",
      pattern:
        "^• (?:Messages to be submitted (?:after next tool call|at end of turn)|Queued follow-up inputs)",
      where: "live_edge",
    },
  ],
  interrupted: [{ id: "interrupted_row", pattern: "^■ Conversation interrupted\\b", where: "last_row" }],
  failures: [
    {
      id: "service_error",
      pattern:
        "^■ .*(?:overloaded|high (?:load|demand)|at capacity|context window|ran out of room|quota exceeded|invalid prompt)",
      where: "last_row",
      style: "red",
    },
  ],
  errors: [{ id: "error_row", pattern: "^■ (?!Conversation interrupted)", where: "last_row" }],
  parked: [
    {
      id: "usage_limit",
      pattern: "^■ You['’]ve hit your usage limit\\b(?:.*\\b[Tt]ry again (?:at|in) (.+?)\\.?$)?",
      where: "live_edge",
    },
  ],
  degraded_context: [
    {
      type: "codex_remote_compact_stream_disconnected",
      pattern: "compact.*stream (?:disconnected|closed|error)|stream (?:disconnected|closed).*compact",
    },
    {
      type: "codex_remote_compact_context_length_exceeded",
      pattern: "compact.*context[ _](?:length|window)|context[ _](?:length|window).*compact",
    },
    {
      type: "codex_remote_compact_unknown_parameter",
      pattern: "compact.*unknown[ _]parameter|unknown[ _]parameter.*compact",
    },
    {
      type: "codex_remote_compact_server_error",
      pattern: "compact.*(?:server[ _]error|\\b5\\d\\d\\b)|(?:server[ _]error|\\b5\\d\\d\\b).*compact",
    },
    { type: "unknown", pattern: "compact.*(?:fail|error)|(?:fail|error).*compact" },
  ],
  dialogs: [
    dialog("trust", "trust_prompt", "Trust this folder\\?|Do you trust the contents", "^(?:Trust and|Yes)"),
    dialog("sign_in", "startup_modal", "Sign in with", null),
    {
      // Its first option runs npm. 0.169.0 and 0.171.0: `Update available · 0.169.0 → 0.199.0`.
      ...dialog("update", "startup_modal", "^\\s*\\W*Update available\\b", "^Skip$"),
      unattended_answer: "^Skip$",
    },
    dialog("approval", "approval_dialog", "^\\s*(?:Would you like to|Do you want to|Allow) .*\\?"),
    dialog("menu", "selection_menu", null),
    {
      ...dialog("history_search", "selection_menu", "-i-search:"),
      end: "^\\s*\\w+-i-search:",
      options: "none",
      option: null,
    },
    {
      ...dialog("picker", "selection_menu", null),
      end: "^\\s*(?!\\?)\\S.*\\b(?:esc|q) (?:save/close|dismiss|close|exit|back)\\b",
      options: "none",
      option: null,
    },
  ],
  submit: {
    enter_delay_ms: 300,
    enter_delay_ms_per_kib: 50,
    enter_delay_max_ms: 2000,
    enter_after_echo_ms: 40,
    enter_retry_after_ms: [2000, 3000, 5000],
    received: [{ trims: "both" }],
    blank_before: ["!"],
    blank_after: "(?:^|\\s)[@$]\\S*$",
  },
  // In a git repository `/new` asks where to run; `/clear` does not ask.
  commands: { reset: "/clear", compact: "/compact" },
  interrupt: {
    key: "Escape",
    presses: 1,
    spacing_ms: 0,
    before_enter_ms: 600,
    leaves: ["banner", "next_queued"],
    clear_draft_key: "C-u",
    // After an unknown command the cursor is at the start, where C-u clears nothing; vim's normal mode knows
    // neither.
    clear_draft_otherwise: [["C-e", "C-u"], ["C-c"]],
  },
};
