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

  function paneOf(line: string): SimSession | null {
    const session = here();
    return session && line.includes(`-t ${session.paneId}`) ? session : null;
  }

  function perform(line: string): Reply[] {
    const command = line.slice(0, line.includes(" ") ? line.indexOf(" ") : undefined);
    const fine = (...lines: string[]): Reply => ({ ok: true, lines });
    const session = paneOf(line);
    switch (command) {
      case "refresh-client":
        return [fine()];
      case "list-panes":
        return [fine(...paneLine(here()))];
      case "display-message":
        return [fine(describe(session, line))];
      case "capture-pane":
        if (!session) return [{ ok: false, lines: ["can't find pane"] }];
        deps.onLook();
        return [fine(...screenOf(session))];
      case "copy-mode":
        if (session) session.inMode = false;
        return [fine()];
      case "set-buffer":
        fill(line);
        return [fine()];
      case "delete-buffer":
        return [fine()];
      case "if-shell":
        if (line.includes("send-keys")) return [fine(), fine(...(enters(session, line) ? [] : ["refused"]))];
        // A pane that is gone, or in copy mode where that is asked for, takes no paste.
        if (!session || (session.inMode && line.includes("pane_in_mode"))) return [fine(), fine("refused")];
        release(session, /-b (\S+)/.exec(line)?.[1] ?? "");
        return [fine(), fine()];
      case "send-keys":
        if (!session) return [{ ok: false, lines: ["can't find pane"] }];
        press(session, line);
        return [fine()];
      default:
        throw new Error(`the simulated tmux knows no ${command}`);
    }
  }

  /** Enter where the cursor must be at a place. */
  function enters(session: SimSession | null, line: string): boolean {
    const [, column, row] = /cursor_x\},(\d+)\},#\{==:#\{cursor_y\},(\d+)/.exec(line) ?? [];
    const cursor = session?.pane.frame().cursor;
    if (!session || session.inMode || cursor?.col !== Number(column) || cursor?.row !== Number(row))
      return false;
    press(session, ` -t ${session.paneId} Enter`);
    return true;
  }

  function fill(line: string): void {
    const [, append, name = "", text = ""] = /^set-buffer (-a )?-b (\S+) -- "(.*)"$/.exec(line) ?? [];
    buffers.set(name, (append ? (buffers.get(name) ?? "") : "") + unquote(text));
  }

  function release(session: SimSession, buffer: string): void {
    const text = buffers.get(buffer) ?? "";
    buffers.delete(buffer);
    deps.onTyped({ kind: "paste", text }, sentMs);
    session.pane.input(`\x1b[200~${text}\x1b[201~`);
  }

  function press(session: SimSession, line: string): void {
    if (session.inMode) return;
    const [, literal, key = ""] = / -t %\d+ (?:-l -- "(.*)"|(\S+))$/.exec(line) ?? [];
    if (literal === undefined) deps.onTyped({ kind: "key", name: key }, sentMs);
    else deps.onTyped({ kind: "text", text: unquote(literal) }, sentMs);
    session.pane.input(literal === undefined ? (bytesOfKey[key] ?? "") : unquote(literal));
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
          for (const line of lines) if (!ended) for (const reply of perform(line)) answer(reply, true);
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

function paneLine(session: SimSession | null): string[] {
  if (!session) return [];
  const { id, created, paneId, panePid } = session;
  return [`0 ${id} ${created} @0 0 ${paneId} ${panePid} 0 ${paneSize.cols} ${paneSize.rows} agent`];
}

/** The answer to one of the formats that the product asks with; a pane that is no more gives nothing. */
function describe(session: SimSession | null, line: string): string {
  if (!session) return "";
  const { cursor, title } = session.pane.frame();
  const mode = session.inMode ? 1 : 0;
  const format = unquote(line);
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
