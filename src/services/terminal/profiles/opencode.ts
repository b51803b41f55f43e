import type { ToolProfile } from "../../../protocol/tool-profile.ts";
import { dialogRule } from "./dialog-rule.ts";

export const opencodeProfile: ToolProfile = {
  schema_version: 1,
  tool: "opencode",
  profile_version: "1.18-1",
  tested: true,
  proved_versions: ["1.18.33", "1.18.27"],
  executable: "opencode",
  process: { commands: ["opencode"], scripts: ["opencode"], arguments: [] },
  // The title names the topic and says nothing of the turn.
  title: { idle: [], busy: [], decision: [] },
  banner: "^ {2}\\S.* {4,}(\\d+\\.\\d+\\.\\d+)\\s*$",
  composer: {
    strategy: "block",
    bar: "┃",
    end: "^\\s*╹▀{20,}",
    // In its shell mode, which a typed `!` opens, it is one word.
    model: "^\\s*┃ {2}\\S.* [^\\p{L}\\p{N}\\s] \\S",
    glyph: "^\\s*┃ {0,2}",
    shell_glyph: null,
    // 1.18.27 writes three dots.
    placeholders: [{ text: '^(?:Ask anything|Run a command)(?:…|\\.\\.\\.) "', style: "muted" }],
    above: null,
    chrome_above: [],
  },
  popups: [
    { draft: "^/", where: "above", row: "^\\s*[┃│]?\\s+/\\S+\\s" },
    { draft: "(?:^|\\s)@\\S*$", where: "above", row: "^\\s*[┃│]\\s+\\S" },
  ],
  turn: {
    // The block of a failed turn has the same bar, in red.
    user_cell: { pattern: "^\\s*┃ {2}\\S", style: "not_red" },
    end: ["^\\s*▣ {2}.* · (?:interrupted|\\d[\\d.]*(?:ms|s|m|h).*)\\s*$"],
    unfinished_is_busy: false,
    ends_are_marked: true,
    success_needs_end: true,
    growth_hint: false,
  },
  busy: [
    { id: "progress_bar", pattern: "^\\s*[^\\p{L}\\p{N}\\s]{6,}(?:\\s|$)", where: "below" },
    { id: "footer_interrupt", pattern: "\\besc (?:again to )?interrupt\\b", where: "below" },
    { id: "retrying", pattern: "\\[retrying\\b", where: "below" },
  ],
  not_ready: [],
  modes: [{ id: "shell", pattern: "\\bexit shell mode\\b", where: "below" }],
  // A prompt's own text is indented by two; the badge has another blank.
  pending: [
    { id: "queued_badge", pattern: "^\\s*┃ {3}QUEUED\\s*$", where: "transcript" },
    { id: "queued_badge_shape", pattern: "^\\s*┃ {3}\\S+\\s*$", where: "transcript", style: "badge" },
  ],
  interrupted: [{ id: "interrupted_row", pattern: "^\\s*▣ {2}.* · interrupted\\s*$", where: "last_row" }],
  failures: [{ id: "error_block", pattern: "^\\s*┃ {2}\\S", where: "live_edge", style: "red" }],
  errors: [],
  parked: [
    {
      id: "usage_limit",
      pattern: "(?:[Uu]sage limit|[Rr]ate limit)\\b(?:.*\\bretrying in (.+?)(?: attempt|\\]))?",
      where: "below",
    },
  ],
  degraded_context: [],
  dialogs: [
    dialogRule({
      id: "floating",
      kind: "selection_menu",
      question: "^ {8,}(\\S.{0,70}?) {3,}esc\\s*$",
      end: ".",
      options: "none",
      floating: true,
    }),
    dialogRule({
      id: "permission",
      kind: "approval_dialog",
      question: "^\\s*┃\\s+△ Permission required",
      end: "^\\s*┃\\s*$",
      options: "inline",
      option: "^\\s*┃\\s+(\\S.*?)\\s{4,}.*\\benter confirm\\s*$",
    }),
    dialogRule({
      id: "question",
      kind: "selection_menu",
      question: null,
      end: "^\\s*┃.*\\benter (?:confirm|select|submit)\\b",
      options: "none",
    }),
  ],
  submit: {
    enter_delay_ms: 300,
    enter_delay_ms_per_kib: 50,
    enter_delay_max_ms: 2000,
    enter_retry_after_ms: [2000, 3000, 5000],
    // Shown as `[Pasted ~N lines]`.
    received: [{ longer_than: { line_breaks: 1, characters: 150, trimmed: true }, trims: "both", adds: " " }],
    blank_before: [],
    blank_after: "(?:^|\\s)@\\S*$",
  },
  commands: { reset: "/new", compact: "/compact" },
  interrupt: {
    key: "Escape",
    presses: 2,
    spacing_ms: 400,
    before_enter_ms: 600,
    leaves: ["banner", "unanswered_queue"],
    clear_draft_key: "C-u",
  },
};
