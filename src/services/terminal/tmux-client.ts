import { type Clock, sleep } from "../../system/clock.ts";
import type { Processes } from "../../system/processes.ts";
import {
  type ControlItem,
  createControlReader,
  exactSession,
  TmuxError,
  tmuxCommand,
} from "./tmux-protocol.ts";

/** One control-mode client from its start to its end. It is never re-made: see `createControlConnection`. */
export interface ControlClient {
  attached(): boolean;
  /** As `ControlConnection.command`; before the attach and after the end it rejects. */
  send(line: string, replies: number): Promise<string[]>;
  /** Asks tmux, once, to push what panes write. */
  turnOutputOn(): void;
  /** Detaches; the process is killed when it does not go within a second. */
  leave(): void;
  /** Resolves with tmux's words or our own when the client has gone and every command is answered. */
  ended: Promise<string>;
}

export interface ControlClientOptions {
  processes: Processes;
  clock: Clock;
  socket?: string;
  session: string;
  onAttached: () => void;
  onOutput: (paneId: string) => void;
  onNotice: (name: string, text: string) => void;
}

/** A server that does not answer for this long is treated as gone. */
const ANSWER_MS = 10_000;
const LEAVE_MS = 1000;
/** What a client wrote before it ended is read for this long. */
const DRAIN_MS = 100;
/**
 * `no-output` until somebody listens. No `pause-after`: seen on tmux 3.3a, neither with it nor without does tmux
 * go on reading a pane while its only attached client stands still, so it would only add a second output form.
 */
const ATTACH_FLAGS = "ignore-size,no-output";

interface Waiting {
  left: number;
  lines: string[];
  resolve: (lines: string[]) => void;
  reject: (error: TmuxError) => void;
}

/** Starts a client that attaches to the session. Throws when tmux cannot be run at all. */
export function openControlClient(options: ControlClientOptions): ControlClient {
  const { processes, clock, session } = options;
  const attach = ["-N", "-C", "attach-session", "-f", ATTACH_FLAGS, "-t", exactSession(session)];
  const child = processes.pipe([...tmuxCommand(options.socket), ...attach]);
  const waiting: Waiting[] = [];
  const outbox: string[] = [];
  let state: "attaching" | "attached" | "ended" = "attaching";
  let output = false;
  /** What tmux said before it ended us, or why we ended it. */
  let reason = "";
  let answers = 0;
  let unwatch: (() => void) | null = null;

  const lost = (why: string) => new TmuxError("lost", `no connection to tmux session ${session}: ${why}`);

  function send(line: string, replies: number): Promise<string[]> {
    if (state !== "attached") return Promise.reject(lost(reason || "not attached"));
    return new Promise((resolve, reject) => {
      waiting.push({ left: replies, lines: [], resolve, reject });
      if (outbox.push(line) === 1) queueMicrotask(flush);
      watch();
    });
  }

  /** Lines of one turn of the event loop leave in one write. */
  function flush(): void {
    child.write(`${outbox.splice(0).join("\n")}\n`);
  }

  /** One timer while something is unanswered; none otherwise. */
  function watch(): void {
    if (unwatch) return;
    const before = answers;
    unwatch = clock.after(ANSWER_MS, () => {
      unwatch = null;
      if (answers !== before) return watch();
      reason = `no answer within ${ANSWER_MS / 1000} s`;
      child.kill();
    });
  }

  function quieten(): void {
    unwatch?.();
    unwatch = null;
  }

  function receive(item: ControlItem): void {
    switch (item.kind) {
      case "output":
        options.onOutput(item.paneId);
        return;
      case "reply":
        if (item.ours) answer(item);
        else greet(item);
        return;
      case "notice":
        if (item.name === "exit") reason = item.text || reason;
        options.onNotice(item.name, item.text);
    }
  }

  /** The attach itself is answered first, as a command that is not ours. */
  function greet(item: { ok: boolean; lines: string[] }): void {
    if (!item.ok) {
      reason = item.lines.join(" ");
    } else if (state === "attaching") {
      state = "attached";
      options.onAttached();
    }
  }

  function answer(item: { ok: boolean; lines: string[] }): void {
    answers += 1;
    const first = waiting[0];
    if (!first) return;
    first.lines = first.lines.concat(item.lines);
    first.left -= 1;
    if (item.ok && first.left > 0) return;
    // tmux drops the rest of a line after an error.
    waiting.shift();
    if (waiting.length === 0) quieten();
    if (item.ok) first.resolve(first.lines);
    else first.reject(new TmuxError("refused", `tmux: ${item.lines.join(" ")}`));
  }

  async function read(): Promise<void> {
    const reader = createControlReader();
    for await (const chunk of child.stdout) {
      if (state === "ended") return;
      for (const item of reader.push(chunk)) receive(item);
    }
    await child.exited;
  }

  async function live(): Promise<string> {
    const drained = new AbortController();
    // The pipe is also the server's: one that stands still keeps it open when the client is long gone.
    const gone = child.exited.then(() => sleep(clock, DRAIN_MS, drained.signal));
    const broken = (error: unknown) => {
      reason ||= String(error);
      child.kill();
    };
    await Promise.race([read().catch(broken), gone]);
    drained.abort();
    quieten();
    state = "ended";
    reason ||= "the tmux client ended";
    for (const one of waiting.splice(0)) one.reject(lost(reason));
    return reason;
  }

  return {
    attached: () => state === "attached",
    send,
    /**
     * Once and never off again: tmux 3.3a answers nothing more to a client that names this flag while output is
     * queued for it.
     */
    turnOutputOn() {
      if (state !== "attached" || output) return;
      output = true;
      send("refresh-client -f !no-output", 1).catch(() => {});
    },
    leave() {
      reason = "stopped";
      child.closeInput();
      const cancel = clock.after(LEAVE_MS, () => child.kill());
      child.exited.finally(cancel);
    },
    ended: live(),
  };
}
