import type { Cast } from "../../../services/extensions/observe/recorder/reader.ts";
import { type Clock, sleep } from "../../../system/clock.ts";
import type { CliIo } from "../../command-line/command.ts";

/** Of the modes that a program sets, those that only change how it draws. */
const drawingModes = new Set(["4", "6", "7", "?6", "?7", "?25", "?47", "?1047", "?1048", "?1049"]);

/** Any sequence or control character, in the order in which they must be tried. */
const control =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)|\x1b[()][0-9A-Za-z]|\x1b[ -/]*[0-~]|[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\x1b/gs;

/**
 * Of what a program sent to its terminal, that which draws: text, colours, the cursor, what is erased and
 * scrolled. What asks the terminal something, sets its clipboard or title, or turns on mouse and paste modes
 * is left out, since this is another person's terminal. Pure. Source: security.md, rule 7.
 */
export function onlyDrawing(text: string): string {
  return text.replace(control, (found) => {
    if (found.startsWith("\x1b[")) return draws(found) ? found : "";
    if (found === "\x1bc") return clearScreen;
    if (/^\x1b(?:[()][0AB]|[78DEM])$/.test(found)) return found;
    return /^[\b\t\n\r\x0e\x0f]$/.test(found) ? found : "";
  });
}

/** What a full reset does to the screen, and nothing to what is above it. */
const clearScreen = "\x1b[?1049l\x1b[0m\x1b[r\x1b[?6l\x1b[?7h\x1b[4l\x1b[?25h\x1b(B\x0f\x1b[H\x1b[2J";

function draws(sequence: string): boolean {
  const final = sequence.at(-1) ?? "";
  const parameters = sequence.slice(2, -1);
  if (final === "h" || final === "l") {
    const [prefix] = /^\??/.exec(parameters) ?? [""];
    return parameters
      .slice(prefix.length)
      .split(";")
      .every((mode) => drawingModes.has(prefix + mode));
  }
  return /^[\d;:]*$/.test(parameters) && /[@ABCDEFGHIJKLMPSTXZ`abdefmrsu]/.test(final);
}

/** Plays a recording in this terminal until it ends or `signal` aborts. */
export async function playCast(
  io: Pick<CliIo, "writeScreen">,
  cast: Cast,
  options: { clock: Clock; speed: number; maxPauseMs: number; signal: AbortSignal },
): Promise<void> {
  const { clock, speed, maxPauseMs, signal } = options;
  let lastMs = cast.fromMs;
  try {
    for (const { atMs, code, data } of cast.events) {
      const pauseMs = Math.min((atMs - lastMs) / speed, maxPauseMs);
      if (pauseMs >= 1) await sleep(clock, pauseMs, signal);
      if (signal.aborted) return;
      lastMs = atMs;
      if (code === "o") await io.writeScreen("stdout", onlyDrawing(data));
    }
  } finally {
    await io.writeScreen(
      "stdout",
      "\x1b[?1049l\x1b[0m\x1b[r\x1b[?6l\x1b[?7h\x1b[4l\x1b(B\x0f\x1b[?25h\x1b[999;1H\r\n",
    );
  }
}
