import type { ProcessFacts } from "../../system/processes.ts";

/** A run of characters of one style, as `capture-pane -e` shows it. */
export interface Span {
  text: string;
  /** `null` is the terminal's default; otherwise `palette:0`..`palette:255` or `#rrggbb`. */
  foreground: string | null;
  background: string | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

/** One visible row; `text` is the spans joined. Trailing blanks are kept as tmux gives them. */
export interface Row {
  text: string;
  spans: readonly Span[];
}

/** What tmux says of the pane at the moment of the capture. */
export interface PaneFacts {
  paneId: string;
  panePid: number;
  dead: boolean;
  /** Copy mode or another mode that takes the keys away from the program. */
  inMode: boolean;
  width: number;
  height: number;
  alternateScreen: boolean;
  /** Null when the program or the shell never set one, or it is the host's default. */
  title: string | null;
  windowName: string;
}

/** Everything a detector may look at: one moment of one pane. */
export interface Observation {
  /** Wall clock, epoch milliseconds. */
  atMs: number;
  /** Raw `capture-pane -p -e` of the visible screen. */
  raw: string;
  /** Visible rows, top first. */
  rows: readonly Row[];
  /** Row and column from 0; null, or a column that is, when not known (older recordings). */
  cursor: { row: number; column: number | null } | null;
  pane: PaneFacts;
  /** Process tree of the pane, its root first; null when it could not be read. */
  processes: readonly ProcessFacts[] | null;
}
