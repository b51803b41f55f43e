import type { ToolProfile } from "../../../protocol/tool-profile.ts";
import { dialogRule } from "./dialog-rule.ts";

/**
 * Kimi Code, from recordings of 2.1.0. It is another program than the archived kimi-cli, which no profile
 * describes.
 */
export const kimiProfile: ToolProfile = {
  schema_version: 1,
  tool: "kimi",
  profile_version: "2.1-1",
  tested: false,
  proved_versions: [],
  executable: "kimi",
  process: { commands: ["kimi", "kimi-code"], scripts: ["kimi", "kimi-code"], arguments: [] },
  // Its title is the topic, whatever it does.
  title: { idle: [], busy: [], decision: [] },
  banner: "^\\s*│\\s+Version:\\s+(\\d\\S*)",
  composer: {
    strategy: "framed",
    // The edge names the shell mode.
    upper: "^\\s*╭(?: ! \\S.{0,40} )?─{12,}",
    lower: "^\\s*╰─{20,}",
    side: "│",
    glyph: "^\\s*> ?",
    shell_glyph: "^\\s*! ?",
    placeholders: [{ text: null, style: "dim" }],
    above: null,
    chrome_above: [],
  },
  popups: [
    { draft: "^/", where: "below", row: "^\\s*│\\s+(?:→ )?\\S" },
    { draft: "(?:^|\\s)@\\S*$", where: "below", row: "^\\s*│\\s+(?:→ )?\\S" },
  ],
  turn: {
    user_cell: { pattern: "^\\s*✨ " },
    end: [],
    unfinished_is_busy: false,
    ends_are_marked: false,
    success_needs_end: false,
    growth_hint: true,
  },
  busy: [{ id: "status_row", pattern: "^\\s*[\\u2801-\\u28ff] \\S", where: "live_edge" }],
  not_ready: [],
  modes: [],
  pending: [
    { id: "queued_hint", pattern: "^\\s*↑ to edit · ctrl-s to steer", where: "adjacent" },
    { id: "queued_row", pattern: "^\\s*❯ \\S", where: "adjacent" },
    { id: "queued_after", pattern: "will send after current (?:task|compaction)", where: "live_edge" },
  ],
  interrupted: [{ id: "interrupted_row", pattern: "^\\s+Interrupted by user$", where: "last_row" }],
  failures: [{ id: "error", pattern: "^\\s+Error: \\[", where: "live_edge" }],
  errors: [],
  parked: [],
  degraded_context: [],
  dialogs: [
    dialogRule({
      id: "trust",
      kind: "trust_prompt",
      question: "^\\s*Trust this folder\\?",
      end: "^\\s*─{20,}",
      options: "blocks",
      option: "^(\\s*)❯ (.+?)\\s*$",
      startup_answer: "^Trust this folder",
    }),
    dialogRule({
      id: "approval",
      kind: "approval_dialog",
      question: "^\\s*▶ (?!\\d+\\. )(.*\\?)$",
      end: "^\\s*context: \\d+%",
      option: "^ {3}([▶ ]) (\\d+)\\. (.+?)\\s*$",
    }),
  ],
  submit: {
    enter_delay_ms: 300,
    enter_delay_ms_per_kib: 50,
    enter_delay_max_ms: 2000,
    enter_retry_after_ms: [2000, 3000],
    blank_before: ["!"],
    blank_after: "(?:^|\\s)@\\S*$",
  },
  commands: { reset: "/clear", compact: "/compact" },
  interrupt: {
    key: "Escape",
    presses: 1,
    spacing_ms: 0,
    before_enter_ms: 600,
    leaves: ["banner", "next_queued"],
    clear_draft_key: "C-u",
  },
};
