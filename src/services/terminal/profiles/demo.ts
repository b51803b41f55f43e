import type { ToolProfile } from "../../../protocol/tool-profile.ts";
import { dialogRule } from "./dialog-rule.ts";

/** The scripted agent that ships with the product; its look is `services/demo/signature.ts`. */
export const demoProfile: ToolProfile = {
  schema_version: 1,
  tool: "demo",
  profile_version: "1",
  tested: true,
  proved_versions: ["1"],
  executable: "svc-gateway",
  process: { commands: [], scripts: [], arguments: ["demo-agent"] },
  title: {
    idle: ["^demo: ready$"],
    busy: ["^[\\u2801-\\u28ff] demo: working$"],
    decision: ["^demo: action required$"],
  },
  banner: "^svc demo agent(?: v?(\\S+))?",
  composer: {
    strategy: "framed",
    upper: "^─{20,}$",
    lower: "^─{20,}$",
    side: null,
    glyph: "^▶ ?",
    shell_glyph: null,
    placeholders: [{ text: null, style: "dim" }],
    above: null,
    chrome_above: [],
  },
  popups: [{ draft: "^/", where: "inside", row: "^\\s+/\\S+\\s" }],
  turn: {
    user_cell: { pattern: "^> " },
    end: ["^— done in \\d+s —$", "^✗ ", "^compacted$"],
    unfinished_is_busy: false,
    ends_are_marked: true,
    success_needs_end: false,
    growth_hint: false,
  },
  busy: [
    {
      id: "status_row",
      pattern: "^[\\u2801-\\u28ff] \\S.*… \\(\\d+s\\b",
      where: "live_edge",
    },
  ],
  not_ready: [],
  pending: [{ id: "queued_row", pattern: "^ {2}⧗ ", where: "adjacent" }],
  interrupted: [{ id: "interrupted_row", pattern: "^✗ interrupted$", where: "last_row" }],
  failures: [{ id: "error_row", pattern: "^✗ error: ", where: "last_row" }],
  errors: [],
  parked: [
    {
      id: "usage_limit",
      pattern: "^✗ usage limit reached(?: · resets (.+))?$",
      where: "last_row",
    },
  ],
  degraded_context: [],
  dialogs: [
    dialogRule({
      id: "trust",
      kind: "trust_prompt",
      question: "^\\s*Do you trust this folder\\?",
      end: "^\\s*enter to choose · esc to cancel",
      option: "^([❯ ]) (\\d+)\\. (.+)$",
      startup_answer: "^Yes",
    }),
    dialogRule({
      id: "menu",
      kind: "selection_menu",
      question: null,
      end: "^\\s*enter to choose · esc to cancel",
      option: "^([❯ ]) (\\d+)\\. (.+)$",
    }),
  ],
  submit: {
    enter_delay_ms: 25,
    enter_delay_ms_per_kib: 10,
    enter_delay_max_ms: 1000,
    enter_retry_after_ms: [500, 1000, 2000],
    blank_before: [],
    blank_after: null,
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
