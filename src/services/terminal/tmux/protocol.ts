import { ServiceError } from "../../../system/errors.ts";

/** Commands of tmux as data, how they are written for it, and what it prints on a control-mode client. Pure. */

/** `refused`: tmux answered with an error. `lost`: there was no tmux to answer. */
export class TmuxError extends ServiceError {
  readonly kind: "refused" | "lost";

  constructor(kind: "refused" | "lost", message: string) {
    super(kind === "lost" ? "unavailable" : "dispatch_failed", message);
    this.name = "TmuxError";
    this.kind = kind;
  }
}

/**
 * How tmux is called: `socket` is an absolute path (`-S`), a name (`-L`), or undefined for the person's own
 * server. Names, `default` too, are looked for below TMUX_TMPDIR; without one tmux would ask the server of
 * the pane that we run in. `-u`: output is UTF-8 whatever the locale says. `-N` is left to the caller: only a
 * launch may start a server.
 */
export function tmuxCommand(socket: string | undefined): string[] {
  return ["tmux", "-u", socket?.startsWith("/") ? "-S" : "-L", socket || "default"];
}

/** A session by its whole name; a bare name would also match a longer one that begins with it. */
export function exactSession(name: string): string {
  return `=${name}`;
}

/** The current window of exactly this session, for commands that want a window or pane. */
export function exactWindow(name: string): string {
  return `=${name}:`;
}

/** A command and its arguments, each as tmux is to have it. */
export type TmuxCommand = readonly (string | Uint8Array)[];

/** What runs commands: a process for each call, or a control connection. */
export interface TmuxTransport {
  /**
   * Runs commands in order and resolves with the lines that they printed; one that fails ends them. Rejects
   * with TmuxError: `refused` and tmux's message, or `lost`.
   */
  run(commands: readonly TmuxCommand[]): Promise<string[]>;
}

/** The value of a format, in one line: of the pane, window or session `target`. */
export function showFormat(target: string, format: string): TmuxCommand {
  return ["display-message", "-p", "-t", target, format];
}

/** tmux decides by a format of `target`, in the same moment in which it acts. */
export function ifFormat(
  target: string,
  condition: string,
  { met, unmet }: { met: TmuxCommand; unmet: TmuxCommand },
): TmuxCommand {
  return ["if-shell", "-F", "-t", target, condition, toControlLine([met]), toControlLine([unmet])];
}

/** The arguments of a tmux process that runs the commands in order, until one fails. */
export function toArguments(commands: readonly TmuxCommand[]): string[] {
  const words = (command: TmuxCommand) =>
    command.map((word) => escapeEnd(typeof word === "string" ? word : Buffer.from(word).toString()));
  return commands.flatMap((command, index) => [...(index > 0 ? [";"] : []), ...words(command)]);
}

/** An argument at whose end tmux would take a `;` for a separator of commands. */
const escapeEnd = (argument: string): string => argument.replace(/;$/, "\\;");

/** The same as one line of a control connection. */
export function toControlLine(commands: readonly TmuxCommand[]): string {
  const toWord = (word: string | Uint8Array) =>
    typeof word === "string" && PLAIN_WORD.test(word) ? word : quoteArgument(word);
  return commands.map((command) => command.map(toWord).join(" ")).join(" ; ");
}

/** `%` begins the id of a pane, or a condition such as `%if`: tmux 3.3a refuses a line with any other word. */
const PLAIN_WORD = /^(%\d+|[A-Za-z0-9_@=.:,/+-]+)$/;

/** How many answers tmux gives to the commands: to each one, and to the one command that an `ifFormat` runs. */
export function countReplies(commands: readonly TmuxCommand[]): number {
  return commands.length + commands.filter(([name]) => name === "if-shell").length;
}

/** By byte, each made when it first comes: all of them take 0.2 ms of a gateway's start. */
const quoted: string[] = [];

function quote(byte: number): string {
  if (byte === 0) return "";
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9 ,.:/_+=()@-]/.test(character) ? character : `\\${byte.toString(8).padStart(3, "0")}`;
}

/**
 * One argument of a control-mode line or of a sourced file: double quotes, everything but plain characters as
 * `\ooo`, so that no quoting rule of tmux can touch it. NUL cannot be carried and is dropped.
 */
export function quoteArgument(value: string | Uint8Array): string {
  const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : value;
  const parts: string[] = [];
  for (const byte of bytes) {
    quoted[byte] ??= quote(byte);
    parts.push(quoted[byte]);
  }
  return `"${parts.join("")}"`;
}

/** A part of what a pane wrote. Decoded when it is read, since others act on the notice of it first. */
export interface PaneBytes {
  /** As tmux sends it; decoded it is no longer. */
  readonly length: number;
  read(): Uint8Array;
}

export type ControlItem =
  /**
   * The pane wrote something: without `bytes` a wake-up, at most one for each pane and chunk; with them all
   * that it wrote, in order.
   */
  | { kind: "output"; paneId: string; bytes?: PaneBytes }
  /** The end of one command. `ours`: sent by this client, not run by tmux for it. */
  | { kind: "reply"; ours: boolean; ok: boolean; lines: string[] }
  /** Any other notification: `%name text`. */
  | { kind: "notice"; name: string; text: string };

/**
 * Splits the byte stream of a control-mode client into items, in order. Lines may straddle chunks, and inside
 * a reply a line that looks like a notification is data: only the end mark with the numbers of its begin
 * mark closes the reply. `wantsBytes`: whether somebody reads what the pane writes. Never throws.
 */
export function createControlReader(wantsBytes: (paneId: string) => boolean = () => false): {
  push(chunk: Uint8Array): ControlItem[];
} {
  let held: Buffer[] = [];
  let block: { mark: string; ours: boolean; lines: string[] } | null = null;

  function readLine(line: Buffer, items: ControlItem[], woken: Set<string>): void {
    if (block) {
      const closing = line[0] === PERCENT ? closes(line.toString("utf8"), block.mark) : null;
      if (closing === null) {
        block.lines.push(line.toString("utf8"));
      } else {
        items.push({ kind: "reply", ours: block.ours, ok: closing === "end", lines: block.lines });
        block = null;
      }
      return;
    }
    if (line[0] !== PERCENT) return;
    const paneId = outputPane(line);
    if (paneId !== null) {
      if (wantsBytes(paneId)) {
        items.push({ kind: "output", paneId, bytes: outputBytes(line, paneId) });
        return;
      }
      if (woken.has(paneId)) return;
      woken.add(paneId);
      items.push({ kind: "output", paneId });
      return;
    }
    const text = line.toString("utf8");
    const begin = /^%begin (\d+ \d+ (\d+))$/.exec(text);
    if (begin) {
      block = { mark: begin[1] ?? "", ours: begin[2] === "1", lines: [] };
      return;
    }
    const space = text.indexOf(" ");
    const name = text.slice(1, space < 0 ? undefined : space);
    items.push({ kind: "notice", name, text: space < 0 ? "" : text.slice(space + 1) });
  }

  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const items: ControlItem[] = [];
      const woken = new Set<string>();
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        const rest = bytes.subarray(start, end);
        readLine(held.length > 0 ? Buffer.concat([...held, rest]) : rest, items, woken);
        held = [];
        start = end + 1;
      }
      if (start < bytes.length) held.push(Buffer.from(bytes.subarray(start)));
      return items;
    },
  };
}

const NEWLINE = 0x0a;
const PERCENT = 0x25;
const SPACE = 0x20;
const OUTPUT = Buffer.from("%output ");
const EXTENDED_OUTPUT = Buffer.from("%extended-output ");

function outputPane(line: Buffer): string | null {
  for (const prefix of [OUTPUT, EXTENDED_OUTPUT]) {
    if (line.length <= prefix.length || line.compare(prefix, 0, prefix.length, 0, prefix.length) !== 0)
      continue;
    const end = line.indexOf(SPACE, prefix.length);
    return line.toString("latin1", prefix.length, end < 0 ? line.length : end);
  }
  return null;
}

const COLON = Buffer.from(" : ");
const BACKSLASH = 0x5c;

/** What the pane wrote: control characters and backslashes come as `\ooo`. */
function outputBytes(line: Buffer, paneId: string): PaneBytes {
  const extended = line[1] === EXTENDED_OUTPUT[1];
  const at = (extended ? EXTENDED_OUTPUT : OUTPUT).length + paneId.length;
  const sent = line.subarray(extended ? line.indexOf(COLON, at) + COLON.length : at + 1);
  return { length: sent.length, read: () => decodeEscapes(sent) };
}

/** Bytes between two escapes are copied at once. */
function decodeEscapes(sent: Buffer): Uint8Array {
  const bytes = new Uint8Array(sent.length);
  let size = 0;
  let from = 0;
  const copy = (to: number) => {
    bytes.set(sent.subarray(from, to), size);
    size += to - from;
    from = to;
  };
  const digit = (at: number) => ((sent[at] ?? 0) - 0x30) & 7;
  for (
    let at = sent.indexOf(BACKSLASH);
    at >= 0 && at + 3 < sent.length;
    at = sent.indexOf(BACKSLASH, from)
  ) {
    copy(at);
    bytes[size++] = (digit(at + 1) << 6) | (digit(at + 2) << 3) | digit(at + 3);
    from = at + 4;
  }
  copy(sent.length);
  return bytes.subarray(0, size);
}

function closes(line: string, mark: string): "end" | "error" | null {
  if (line === `%end ${mark}`) return "end";
  return line === `%error ${mark}` ? "error" : null;
}
