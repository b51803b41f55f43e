import { Unicode11Addon } from "@xterm/addon-unicode11";
import { type IBufferLine, Terminal } from "@xterm/xterm";
import { startOf, toRuns } from "../state/recorded.ts";
import type { ScreenView } from "../state/screen.ts";

/** A screen of the past. Loaded when a reader chooses a moment: the emulator is that of the live terminal. */

/**
 * What a terminal shows that was sent the begin of a cast. It is attached to no page, and nothing reads its
 * replies.
 */
export async function drawCast(cast: string): Promise<ScreenView | null> {
  const start = startOf(cast);
  if (start === null) return null;
  const { width, height, screen } = start;
  const terminal = new Terminal({ allowProposedApi: true, cols: width, rows: height, scrollback: 0 });
  try {
    terminal.loadAddon(new Unicode11Addon());
    terminal.unicode.activeVersion = "11";
    await new Promise<void>((resolve) => terminal.write(screen, resolve));
    const { active } = terminal.buffer;
    const rows = Array.from({ length: height }, (_, row) => {
      const line = active.getLine(active.viewportY + row);
      return [row, line ? toRuns(cellsOf(line, width)) : []] as const;
    });
    return { revision: 1, width, height, rows: new Map(rows), absent: null };
  } finally {
    terminal.dispose();
  }
}

function* cellsOf(line: IBufferLine, width: number) {
  for (let column = 0; column < width; column++) {
    const cell = line.getCell(column);
    if (cell) yield cell;
  }
}
