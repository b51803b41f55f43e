import type { PipedProcess } from "../../src/system/processes.ts";
import type { SimClock } from "./sim-clock.ts";
import { paneSize } from "./sim-pane.ts";
import { type SimSession, type Typed, unquote } from "./sim-session.ts";

/** One control-mode client as a process of its own. */
export interface SimClient {
  process: PipedProcess;
  notify(line: string): void;
  /** tmux ends it, with its reason. */
  end(reason: string): void;
  /** Who held the other end of its pipes is no more. */
  forget(): void;
}

export interface SimClientDeps {
  clock: SimClock;
  latencyMs: () => number;
  pid: number;
  alive: () => boolean;
  /** Name of the session to attach to. */
  session: string;
  found: () => SimSession | null;
  onLook: () => void;
  /** `sentMs`: when the gateway decided on it, which may be some looks ago. */
  onTyped: (typed: Typed, sentMs: number) => void;
  onEnd: (client: SimClient) => void;
}

interface Reply {
  ok: boolean;
  lines: string[];
}

const bytesOfKey: Readonly<Record<string, string>> = {
  Enter: "\r",
  Escape: "\x1b",
  Tab: "\t",
  BSpace: "\x7f",
  "C-c": "\x03",
  "C-d": "\x04",
  "C-u": "\x15",
  Up: "\x1b[A",
  Down: "\x1b[B",
};

export function createControlClient(deps: SimClientDeps): SimClient {
  const { clock } = deps;
  const buffers = new Map<string, string>();
  const stdout = createPipe();
  const exited = Promise.withResolvers<number | null>();
  let attachedTo: string | null = null;
  let ended = false;
  let busyUntilMs = 0;
  /** When what is performed now was written. */
  let sentMs = 0;
  let serial = 0;

  /** What is written is answered in its order, each part a moment after it came. */
  function soon(act: () => void): void {
    busyUntilMs = Math.max(busyUntilMs, clock.nowMs() + deps.latencyMs());
    clock.after(busyUntilMs - clock.nowMs(), () => {
      if (!ended) act();
    });
  }

  function print(text: string): void {
    stdout.push(text);
  }

  function answer({ ok, lines }: Reply, ours: boolean): void {
    const mark = `1 ${++serial} ${ours ? 1 : 0}`;
    print([`%begin ${mark}`, ...lines, `%${ok ? "end" : "error"} ${mark}`, ""].join("\n"));
  }

  function here(): SimSession | null {
    const session = deps.found();
    return session?.id === attachedTo ? session : null;
  }

  /** The session whose pane follows `-t`, while it is there. */
  function paneOf(words: readonly string[]): SimSession | null {
    const session = here();
    return session && words[words.indexOf("-t") + 1] === session.paneId ? session : null;
  }

  /** Of one that fails the commands behind it are not run. */
  function performAll(line: string): Reply[] {
    const replies: Reply[] = [];
    for (const words of commandsOf(line)) {
      replies.push(...perform(words));
      if (replies.at(-1)?.ok === false) break;
    }
    return replies;
  }

  function perform(words: readonly string[]): Reply[] {
    const [command = ""] = words;
    const fine = (...lines: string[]): Reply => ({ ok: true, lines });
    const session = paneOf(words);
    switch (command) {
      case "refresh-client":
        return [fine()];
      case "list-panes":
        return [fine(...paneLine(here()))];
      case "display-message":
        return words.includes("-t")
          ? [fine(describe(session, words.at(-1) ?? ""))]
          : [fine(words.at(-1) ?? "")];
      case "capture-pane":
        if (!session) return [{ ok: false, lines: ["can't find pane"] }];
        deps.onLook();
        return [fine(...screenOf(session))];
      case "copy-mode":
        if (session) session.inMode = false;
        return [fine()];
      case "set-buffer":
        fill(words);
        return [fine()];
      case "delete-buffer":
        return [fine()];
      case "if-shell":
        return [fine(), ...decide(session, words)];
      case "paste-buffer":
        if (session) release(session, words[words.indexOf("-b") + 1] ?? "");
        return [fine()];
      case "send-keys":
        if (!session) return [{ ok: false, lines: ["can't find pane"] }];
        press(session, words);
        return [fine()];
      default:
        throw new Error(`the simulated tmux knows no ${command}`);
    }
  }

  /** Of the two commands the one that a condition of ours asks for. */
  function decide(session: SimSession | null, words: readonly string[]): Reply[] {
    const [condition = "", met = "", unmet = ""] = words.slice(-3);
    const [, column, row] = /cursor_x\},(\d+)\},#\{==:#\{cursor_y\},(\d+)/.exec(condition) ?? [];
    const cursor = session?.pane.frame().cursor;
    // Enter is met where the cursor must be at a place; a paste is unmet where the pane is fit for it.
    const isMet =
      column === undefined
        ? !session || (session.inMode && condition.includes("pane_in_mode"))
        : session !== null && !session.inMode && cursor?.col === Number(column) && cursor.row === Number(row);
    return performAll(isMet ? met : unmet);
  }

  function fill(words: readonly string[]): void {
    const name = words[words.indexOf("-b") + 1] ?? "";
    const before = words.includes("-a") ? (buffers.get(name) ?? "") : "";
    buffers.set(name, before + (words.at(-1) ?? ""));
  }

  function release(session: SimSession, buffer: string): void {
    const text = buffers.get(buffer) ?? "";
    buffers.delete(buffer);
    deps.onTyped({ kind: "paste", text }, sentMs);
    session.pane.input(`\x1b[200~${text}\x1b[201~`);
  }

  function press(session: SimSession, words: readonly string[]): void {
    if (session.inMode) return;
    const [key = ""] = words.slice(-1);
    const isText = words.includes("-l");
    deps.onTyped(isText ? { kind: "text", text: key } : { kind: "key", name: key }, sentMs);
    session.pane.input(isText ? key : (bytesOfKey[key] ?? ""));
  }

  const client: SimClient = {
    process: {
      pid: deps.pid,
      write(text) {
        if (!deps.alive() || ended) return;
        const lines = text.split("\n").filter((line) => line !== "");
        const writtenMs = clock.nowMs();
        soon(() => {
          sentMs = writtenMs;
          // A command may end the session, and with it this client.
          for (const line of lines) if (!ended) for (const reply of performAll(line)) answer(reply, true);
        });
      },
      closeInput: () => client.end(""),
      stdout: stdout.read(),
      exited: exited.promise,
      kill: () => client.end(""),
    },
    notify(line) {
      if (attachedTo !== null && !ended) print(`${line}\n`);
    },
    end(reason) {
      if (ended) return;
      ended = true;
      deps.onEnd(client);
      print(`%exit ${reason}\n`);
      stdout.close();
      exited.resolve(0);
    },
    forget() {
      ended = true;
      deps.onEnd(client);
    },
  };

  soon(() => {
    const session = deps.found();
    if (session?.name !== deps.session) {
      answer({ ok: false, lines: [`can't find session: ${deps.session}`] }, false);
      client.end("");
      return;
    }
    attachedTo = session.id;
    answer({ ok: true, lines: [] }, false);
  });
  return client;
}

/** The words of each command of a line, as `toControlLine` of the product wrote it. */
function commandsOf(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [word, quoted] of line.matchAll(/"([^"]*)"|[^\s"]+/g)) {
    if (word === ";") commands.push([]);
    else commands.at(-1)?.push(quoted === undefined ? word : unquote(quoted));
  }
  return commands;
}

function paneLine(session: SimSession | null): string[] {
  if (!session) return [];
  const { id, created, paneId, panePid } = session;
  return [`0 ${id} ${created} @0 0 ${paneId} ${panePid} 0 ${paneSize.cols} ${paneSize.rows} agent`];
}

/** The answer to one of the formats that the product asks with; a pane that is no more gives nothing. */
function describe(session: SimSession | null, format: string): string {
  if (!session) return "";
  const { cursor, title } = session.pane.frame();
  const mode = session.inMode ? 1 : 0;
  if (format.includes("#{window_name}")) return "agent";
  if (format.includes("#{pane_title}")) return title;
  if (format.includes("#{pane_width}")) {
    const { cols, rows } = paneSize;
    return `${session.paneId} ${session.panePid} 0 ${mode} ${cols} ${rows} 0 ${cursor.col} ${cursor.row} simulated`;
  }
  return `${session.paneId} 0 ${mode}`;
}

function screenOf(session: SimSession): string[] {
  const { rows } = session.pane.frame();
  return Array.from({ length: paneSize.rows }, (_, row) => rows[row] ?? "");
}

/** Bytes on their way from one process to another. */
function createPipe() {
  const encoder = new TextEncoder();
  let waiting: string[] = [];
  let closed = false;
  let rouse = () => {};
  return {
    push(text: string) {
      waiting.push(text);
      rouse();
    },
    close() {
      closed = true;
      rouse();
    },
    async *read(): AsyncGenerator<Uint8Array> {
      for (;;) {
        if (waiting.length > 0) {
          const text = waiting.join("");
          waiting = [];
          yield encoder.encode(text);
        } else if (closed) return;
        else
          await new Promise<void>((resolve) => {
            rouse = resolve;
          });
      }
    },
  };
}
