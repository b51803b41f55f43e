import { type Clock, sleep, withinTime } from "../../../system/clock.ts";
import type { ControlConnection } from "./control.ts";
import { type PaneBytes, showFormat, type TmuxCommand } from "./protocol.ts";

/** What a viewer of the pane is given, in order. */
export type PaneFrame =
  /** The viewer resets its terminal and takes this size; the next bytes begin with the whole picture. */
  | { kind: "picture"; why: "first" | "resized" | "skipped" | "repaint"; width: number; height: number }
  | { kind: "bytes"; bytes: Uint8Array }
  | { kind: "heartbeat" };

/**
 * Bytes that wait for one viewer, as tmux sends them. Beyond it they are thrown away, and the viewer gets the
 * newest picture instead.
 */
const maxWaiting = 256 * 1024;
/** For who only keeps what it gets: tmux's answer to those who act on the same output comes within 1 ms. */
const keptMs = 20;
/** Of these none wait for that. */
const urgentBytes = 64 * 1024;
/** Between two pictures for a viewer who is too slow. */
const skipGapMs = 150;
/** After the last output: what a terminal drew otherwise than tmux is painted over. */
const idleMs = 400;
const heartbeatMs = 15_000;

type Why = Extract<PaneFrame, { kind: "picture" }>["why"];

/**
 * What the pane shows and writes, until `signal` aborts or the pane cannot be read any more. The first
 * picture and the bytes after it fit together without a gap. Never more than `maxWaiting` bytes wait for a
 * reader, however slow it is. A viewer never changes the size of the pane.
 */
export async function* followPane(options: {
  control: ControlConnection;
  clock: Clock;
  paneId: () => string | null;
  signal: AbortSignal;
  /**
   * Whether the screen is painted over when the pane is quiet (default true): not for who keeps what it wrote
   * and may get it 20 ms later.
   */
  overpaint?: boolean;
}): AsyncGenerator<PaneFrame> {
  const { control, clock, signal, overpaint: painting = true } = options;
  let waiting: PaneBytes[] = [];
  let waitingBytes = 0;
  let due = "first" as Why | null;
  let quiet = true;
  let wake = () => {};
  let cancelWake = null as (() => void) | null;
  const target = options.paneId();
  if (target === null) return;

  const drop = () => {
    waiting = [];
    waitingBytes = 0;
  };
  const ask = (why: Why) => {
    due ??= why;
    drop();
    wake();
  };
  const ends = [
    control.onBytes(target, (bytes) => {
      // A picture that is due shows it.
      if (due !== null) return;
      quiet = !painting;
      waitingBytes += bytes.length;
      if (waitingBytes > maxWaiting) ask("skipped");
      else waiting.push(bytes);
      if (painting || waitingBytes > urgentBytes) wake();
      else
        cancelWake ??= clock.after(keptMs, () => {
          cancelWake = null;
          wake();
        });
    }),
    control.onEvent((event) => {
      if (event.kind === "connected") ask("repaint");
      else if (event.kind === "notice" && event.name === "layout-change") ask("resized");
      else wake();
    }),
  ];

  /** Resolves after something came, or after `ms`. */
  async function pause(ms: number): Promise<boolean> {
    const woken = new Promise<boolean>((resolve) => {
      wake = () => resolve(true);
    });
    const some = await withinTime(clock, ms, woken, signal);
    wake = () => {};
    return some ?? false;
  }

  /**
   * What came before the answer is in the picture, what comes after it waits: decided as the answer is read.
   */
  function takePicture<T>(read: (parts: readonly (readonly string[])[]) => T): Promise<T> {
    let picture: { of: T } | null = null;
    return control
      .batch(pictureCommands(target ?? ""), (parts) => {
        picture = { of: read(parts) };
        due = null;
        drop();
      })
      .then(() => (picture as { of: T } | null)?.of as T);
  }

  const encoder = new TextEncoder();
  let skippedMs = Number.NEGATIVE_INFINITY;
  let size = "";
  try {
    while (!signal.aborted) {
      if (!control.connected()) {
        if (!(await pause(heartbeatMs)) && !signal.aborted) yield { kind: "heartbeat" };
        if (control.connected()) due ??= "repaint";
        continue;
      }
      if (due !== null) {
        const why = due as Why;
        const restMs = why === "skipped" ? skippedMs + skipGapMs - clock.monotonicMs() : 0;
        if (restMs > 0) await sleep(clock, restMs, signal);
        const picture = await takePicture((parts) => readPicture(target, parts)).catch(() => undefined);
        if (picture === null) return;
        if (picture === undefined) {
          // The connection broke: its next event wakes us.
          due ??= why;
          await pause(skipGapMs);
          continue;
        }
        if (why === "skipped") skippedMs = clock.monotonicMs();
        size = `${picture.width}x${picture.height}`;
        quiet = true;
        yield { kind: "picture", why, width: picture.width, height: picture.height };
        yield { kind: "bytes", bytes: encoder.encode(picture.text) };
        continue;
      }
      if (waiting.length > 0) {
        const parts = waiting.map((part) => part.read());
        drop();
        yield { kind: "bytes", bytes: Buffer.concat(parts) };
        continue;
      }
      if (await pause(quiet ? heartbeatMs : idleMs)) continue;
      if (signal.aborted) return;
      if (quiet) {
        yield { kind: "heartbeat" };
        continue;
      }
      quiet = true;
      const painted = await takePicture((parts) => {
        const now = readPicture(target, parts);
        return now && `${now.width}x${now.height}` === size ? overpaint(target, parts) : null;
      }).catch(() => null);
      if (painted === null) due ??= "repaint";
      else yield { kind: "bytes", bytes: encoder.encode(painted) };
    }
  } finally {
    for (const end of ends) end();
    cancelWake?.();
  }
}

/** The whole picture of a pane as bytes for another terminal. Pure. */
interface TerminalPicture {
  width: number;
  height: number;
  text: string;
}

const scrollback = 200;

const factNames = [
  "pane_id",
  "pane_width",
  "pane_height",
  "cursor_x",
  "cursor_y",
  "alternate_on",
  "alternate_saved_x",
  "alternate_saved_y",
  "scroll_region_upper",
  "scroll_region_lower",
  "cursor_flag",
  "insert_flag",
  "keypad_cursor_flag",
  "keypad_flag",
  "wrap_flag",
  "origin_flag",
  "mouse_standard_flag",
  "mouse_button_flag",
  "mouse_any_flag",
  "mouse_sgr_flag",
];

/** Run as one: no byte that the pane writes falls between them. */
function pictureCommands(paneId: string): TmuxCommand[] {
  // Without a value tmux prints nothing: 0 keeps the places.
  const facts = factNames.map((name) => `#{?#{${name}},#{${name}},0}`).join(" ");
  const capture = (...flags: string[]) => ["capture-pane", "-p", ...flags, "-t", paneId];
  return [
    showFormat(paneId, facts),
    capture("-e", "-N", "-S", `-${scrollback}`, "-E", "-1"),
    capture("-e", "-N"),
    // The other screen; nothing where the program uses the usual one.
    capture("-e", "-N", "-a", "-q"),
    // What the pane wrote of a sequence that is not complete.
    capture("-P", "-C"),
  ];
}

/** What the answers of `pictureCommands` show; null when the pane is gone. */
function readPicture(paneId: string, parts: readonly (readonly string[])[]): TerminalPicture | null {
  const [[line = ""] = [], history = [], screen = [], saved = [], pending = []] = parts;
  const values = line.split(" ");
  const fact = (name: string) => Number(values[factNames.indexOf(name)] ?? 0) || 0;
  if (values[0] !== paneId) return null;
  const height = fact("pane_height");
  const width = fact("pane_width");
  const alternate = fact("alternate_on") === 1;
  const full = screen.slice(0, height);
  const cursor = { row: fact("cursor_y"), column: fact("cursor_x") };
  // Where the cursor comes back to with the other screen.
  const leave = `\x1b[0m\x1b[${fact("alternate_saved_y") + 1};${fact("alternate_saved_x") + 1}H`;
  const text = [
    // A full reset; then SO and SI choose line drawing, as tmux writes it.
    "\x1bc\x1b)0",
    scrolledOff(alternate ? [] : history, height),
    alternate ? `${rowsAt(saved.slice(0, height))}${leave}\x1b[?1049h\x1b[2J` : "",
    rowsAt(full),
    "\x1b[0m\x0f",
    modes(fact, height),
    place(cursor, width, full, fact("origin_flag") === 1 ? fact("scroll_region_upper") : 0),
    fromOctal(pending.join("\n")),
  ];
  return { width, height, text: text.join("") };
}

/**
 * The screen painted over what a terminal shows, without a reset: what it scrolled off and selected stays.
 */
function overpaint(paneId: string, parts: readonly (readonly string[])[]): string | null {
  const [[line = ""] = [], , screen = []] = parts;
  const values = line.split(" ");
  if (values[0] !== paneId) return null;
  const fact = (name: string) => Number(values[factNames.indexOf(name)] ?? 0) || 0;
  const full = screen.slice(0, fact("pane_height"));
  const cursor = { row: fact("cursor_y"), column: fact("cursor_x") };
  const above = fact("origin_flag") === 1 ? fact("scroll_region_upper") : 0;
  return [
    "\x1b[?6l\x1b[4l\x1b[?7l\x1b[0m",
    full.map((_, at) => `\x1b[${at + 1};1H\x1b[K`).join(""),
    rowsAt(full),
    "\x1b[0m\x0f\x1b[?7h",
    modes(fact, fact("pane_height")),
    place(cursor, fact("pane_width"), full, above),
  ].join("");
}

/** Lines that are above the screen, moved there. */
function scrolledOff(lines: readonly string[], height: number): string {
  if (lines.length === 0) return "";
  const visible = Math.min(lines.length, height - 1);
  return `${lines.join("\r\n")}\r\n\x1b[0m\x1b[${height};1H${"\n".repeat(visible)}\x1b[H`;
}

/** Each row at its place. The style goes on from row to row, as tmux writes it. */
function rowsAt(rows: readonly string[]): string {
  return `\x1b[0m${rows.map((row, at) => `\x1b[${at + 1};1H${row}`).join("")}`;
}

function modes(fact: (name: string) => number, height: number): string {
  const upper = fact("scroll_region_upper");
  const lower = fact("scroll_region_lower");
  const region = upper > 0 || (lower > 0 && lower < height - 1);
  const set: [boolean, string][] = [
    [region, `\x1b[${upper + 1};${lower + 1}r`],
    [fact("insert_flag") === 1, "\x1b[4h"],
    [fact("keypad_cursor_flag") === 1, "\x1b[?1h"],
    [fact("keypad_flag") === 1, "\x1b="],
    [fact("wrap_flag") === 0, "\x1b[?7l"],
    [fact("origin_flag") === 1, "\x1b[?6h"],
    [fact("mouse_standard_flag") === 1, "\x1b[?1000h"],
    [fact("mouse_button_flag") === 1, "\x1b[?1002h"],
    [fact("mouse_any_flag") === 1, "\x1b[?1003h"],
    [fact("mouse_sgr_flag") === 1, "\x1b[?1006h"],
    [fact("cursor_flag") === 0, "\x1b[?25l"],
  ];
  return set
    .filter(([on]) => on)
    .map(([, text]) => text)
    .join("");
}

/** A cursor behind the last column waits to wrap: only printing that row again brings it there. */
function place(
  cursor: { row: number; column: number },
  width: number,
  rows: readonly string[],
  above: number,
): string {
  const at = (column: number) => `\x1b[${cursor.row - above + 1};${column + 1}H`;
  if (cursor.column < width) return at(cursor.column);
  const styles = rows.slice(0, cursor.row).flatMap((row) => row.match(/\x1b\[[0-9;:]*m|[\x0e\x0f]/g) ?? []);
  return `${at(0)}\x1b[0m${styles.join("")}${rows[cursor.row] ?? ""}\x1b[0m\x0f`;
}

/** Bytes as `capture-pane -C` writes them: `\ooo` and `\\`. */
function fromOctal(text: string): string {
  return text.replace(/\\([0-7]{3}|\\)/g, (_, code: string) =>
    code === "\\" ? "\\" : String.fromCharCode(Number.parseInt(code, 8)),
  );
}
