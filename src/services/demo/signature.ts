/**
 * What identifies the scripted agent's screen. The tool profile and the tests read these; nothing else in the
 * look is promised. Rows are named by their text without styling.
 *
 * From top to bottom: banner and transcript; one blank row; while busy the status row; one `queuedPrefix` row
 * per queued input; an upper rule; the composer block (first row `composerGlyph`, further rows indented by
 * `continuationIndent`); popup rows while a slash command is typed; a lower rule; one footer row. The cursor
 * is inside the composer block, on its last row. In a dialog the composer block is replaced by the question,
 * the option rows and no composer glyph at all; the cursor is on the selected option.
 */
export const demoSignature = {
  /** First row of a fresh session. */
  banner: "svc demo agent",
  /** Both rules fill the whole width with it. */
  ruleGlyph: "─",
  composerGlyph: "▶ ",
  continuationIndent: "  ",
  /** Shown dim (SGR 2) behind the glyph when the composer is empty. */
  placeholder: "Type a message",
  /** Footer of the composer, idle and busy. */
  footer: "enter to send · /help for commands",
  /** Replaces the footer after one ctrl-c, for two seconds or until the next key. */
  footerExitArmed: "press ctrl-c again to exit",
  /** Footer of every dialog, the trust dialog included. */
  footerDialog: "enter to choose · esc to cancel",
  /** `<spinner> Working… (Ns · esc to interrupt)`: there exactly while a turn or a compaction runs. */
  statusLabel: "Working…",
  statusHint: "esc to interrupt",
  /** Ten frames, one every 100 ms, in the status row and in the title. */
  spinnerFrames: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
  queuedPrefix: "  ⧗ ",
  /** Selected and other option rows: `❯ 1. Yes`, `  2. No`. */
  selectedPrefix: "❯ ",
  optionPrefix: "  ",
  userPrefix: "> ",
  answerPrefix: "* ",
  /** A turn that ran to its end: `— done in Ns —`. */
  doneRow: /^— done in \d+s —$/,
  interruptedRow: "✗ interrupted",
  /** `✗ error: text` after FAIL, `✗ usage limit reached · resets <time>` after LIMIT. */
  failurePrefix: "✗ ",
  compactedRow: "compacted",
  /**
   * `[Pasted #1 · 12 lines]` is the chip in the composer for a paste of more than 6 lines or 2000 characters.
   */
  pasteChip: /\[Pasted #\d+ · \d+ lines\]/,
  trustQuestion: "Do you trust this folder?",
  titleReady: "demo: ready",
  /** Behind a spinner frame and a blank: `⠋ demo: working`. */
  titleBusy: "demo: working",
  titleDecision: "demo: action required",
} as const;

/** The slash commands with the sentence that the popup and `/help` show. */
export const demoCommands = [
  { name: "/new", summary: "start a new session" },
  { name: "/clear", summary: "clear the session" },
  { name: "/compact", summary: "shorten the transcript" },
  { name: "/help", summary: "show the commands" },
  { name: "/exit", summary: "leave to the shell" },
] as const;
