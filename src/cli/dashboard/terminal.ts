import type { CliIo } from "../command-line/command.ts";
import { takesColour } from "../command-line/format.ts";
import type { Frame, Row, RowStyle } from "./render.ts";

/** The terminal that the dashboard takes over and gives back. */
export interface DashboardTerminal {
  /** Whether keys come from it: standard input is a terminal too. */
  readonly canType: boolean;
  size(): { columns: number; rows: number };
  /** Takes it over. Safe when it is open. */
  open(on: TerminalEvents): Promise<void>;
  /** Rejects when the terminal has gone. */
  draw(frame: Frame): Promise<void>;
  /** The next `draw` writes everything. */
  invalidate(): void;
  /** Gives it back as it was. Safe when it is closed, and when the terminal has gone. */
  close(): Promise<void>;
}

export interface TerminalEvents {
  bytes(bytes: Uint8Array): void;
  resized(): void;
  /** Nobody will type any more. */
  ended(): void;
}

/**
 * The alternate screen, without wrapping, so that a character that is wider than we count moves no row;
 * bracketed pastes, so that a pasted text is no run of commands.
 */
const enterSequence = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h";
const leaveSequence = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

const sequences: Readonly<Record<RowStyle, string>> = {
  plain: "",
  bold: "\x1b[1m",
  dim: "\x1b[2m",
  selected: "\x1b[7m",
  waits: "\x1b[33m",
  failed: "\x1b[31m",
};

/** What draws a frame. Its rows are visible text. Pure. */
export function paintFrame({ rows, cursor }: Frame, colours: boolean): string {
  const paint = ({ text, style }: Row) =>
    colours && style !== "plain" ? `${sequences[style]}${text}\x1b[0m` : text;
  // Each line is cleared to its end and the rest of the screen below: nothing flickers.
  const lines = rows.map((row) => `${paint(row)}\x1b[K`).join("\r\n");
  const place = cursor ? `\x1b[${cursor.row + 1};${cursor.column + 1}H\x1b[?25h` : "";
  return `\x1b[?25l\x1b[H${lines}\x1b[J${place}`;
}

/** The terminal of this process. */
export function createDashboardTerminal(io: CliIo): DashboardTerminal {
  const { stdin, stdout } = process;
  const canType = io.stdinIsTty;
  const colours = takesColour(io.env, io.stdoutIsTty);
  let shown = "";
  let release: (() => void) | null = null;

  function take(on: TerminalEvents): () => void {
    const resized = () => on.resized();
    const bytes = (data: Uint8Array) => on.bytes(data);
    const ended = () => on.ended();
    stdout.on("resize", resized);
    if (canType) {
      stdin.setRawMode(true);
      stdin.on("data", bytes).on("end", ended).on("error", ended).resume();
    }
    // For an end that no code of ours sees.
    const lastly = () => stdout.write(leaveSequence);
    process.on("exit", lastly);
    return () => {
      process.off("exit", lastly);
      stdout.off("resize", resized);
      if (!canType) return;
      stdin.off("data", bytes).off("end", ended).off("error", ended).pause();
      stdin.setRawMode(false);
    };
  }

  return {
    canType,
    size: () => ({ columns: io.columns, rows: io.rows }),
    async open(on) {
      if (release) return;
      release = take(on);
      shown = "";
      await io.writeScreen("stdout", enterSequence);
    },
    async draw(frame) {
      const text = paintFrame(frame, colours);
      if (text === shown || release === null) return;
      shown = text;
      await io.writeScreen("stdout", text);
    },
    invalidate() {
      shown = "";
    },
    async close() {
      if (!release) return;
      try {
        release();
      } catch {
        // The terminal has gone.
      }
      release = null;
      await io.writeScreen("stdout", leaveSequence).catch(() => {});
    },
  };
}
