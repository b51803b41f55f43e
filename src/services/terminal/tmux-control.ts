import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Lifecycle } from "../../system/lifecycle.ts";
import type { PipedProcess, Processes } from "../../system/processes.ts";
import {
  type ControlItem,
  createControlReader,
  exactSession,
  TmuxError,
  tmuxCommand,
} from "./tmux-protocol.ts";

export type ControlEvent =
  /** Attached (again): whatever was known before must be read afresh. */
  | { kind: "connected" }
  /** The client has gone, with tmux's words where it gave any. Every command fails until `connected`. */
  | { kind: "lost"; reason: string }
  /** A notification of tmux, such as `window-close` with text `@1`. */
  | { kind: "notice"; name: string; text: string };

/**
 * One persistent control-mode client of one session. It never resizes a window and never starts a server.
 * While started it is re-made whenever it dies, after 100 ms, doubling up to 2 s. Connected and quiet it has
 * no timer and uses no CPU.
 */
export interface ControlConnection extends Lifecycle {
  connected(): boolean;
  /** Resolves when attached; rejects with TmuxError `lost` after `timeoutMs` or when stopped. */
  whenConnected(timeoutMs: number): Promise<void>;
  /**
   * Sends one line and resolves with the lines tmux printed for it. Commands are pipelined and answered in the
   * order sent, also when nobody awaits them. `replies`: how many commands the line runs, counting those that
   * `if-shell` inserts (default 1). Rejects with TmuxError: `refused` and tmux's message, or `lost`.
   */
  command(line: string, options?: { replies?: number }): Promise<string[]>;
  /** Called when the pane has written something: a wake-up without content. Returns how to stop listening. */
  onOutput(paneId: string, listener: () => void): () => void;
  onEvent(listener: (event: ControlEvent) => void): () => void;
}

export interface ControlOptions {
  processes: Processes;
  clock: Clock;
  /** See `tmuxCommand`. */
  socket?: string;
  /** Name of the session, whole. */
  session: string;
  log: (message: string) => void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2000;
/** A server that does not answer for this long is treated as gone. */
const ANSWER_MS = 10_000;
const LEAVE_MS = 1000;
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

/** One attached (or attaching) client; replaced as a whole when it dies. */
interface Client {
  child: PipedProcess;
  attached: boolean;
  /** Whether tmux was told to push what panes write. */
  output: boolean;
  /** What tmux said before it ended the client. */
  reason: string;
  waiting: Waiting[];
  outbox: string[];
  answers: number;
  unwatch: (() => void) | null;
}

export function createControlConnection(options: ControlOptions): ControlConnection {
  const { processes, clock, session, log } = options;
  const outputListeners = new Map<string, Set<() => void>>();
  const eventListeners = new Set<(event: ControlEvent) => void>();
  let client: Client | null = null;
  let running: Promise<void> | null = null;
  let abort = new AbortController();

  const lost = (reason: string) =>
    new TmuxError("lost", `no connection to tmux session ${session}: ${reason}`);

  function tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      log(`tmux listener failed: ${messageOf(error)}`);
    }
  }

  function emit(event: ControlEvent): void {
    for (const listener of [...eventListeners]) tell(() => listener(event));
  }

  function send(to: Client, line: string, replies: number): Promise<string[]> {
    return new Promise((resolve, reject) => {
      to.waiting.push({ left: replies, lines: [], resolve, reject });
      if (to.outbox.push(line) === 1) queueMicrotask(() => flush(to));
      watch(to);
    });
  }

  /** Lines of one turn of the event loop leave in one write. */
  function flush(to: Client): void {
    const lines = to.outbox.splice(0);
    if (lines.length > 0) to.child.write(`${lines.join("\n")}\n`);
  }

  /** One timer while something is unanswered; none otherwise. */
  function watch(over: Client): void {
    if (over.unwatch) return;
    const answers = over.answers;
    over.unwatch = clock.after(ANSWER_MS, () => {
      over.unwatch = null;
      if (over.answers !== answers) return watch(over);
      over.reason = `no answer within ${ANSWER_MS / 1000} s`;
      over.child.kill();
    });
  }

  function quieten(over: Client): void {
    over.unwatch?.();
    over.unwatch = null;
  }

  function receive(from: Client, item: ControlItem): void {
    switch (item.kind) {
      case "output":
        for (const listener of outputListeners.get(item.paneId) ?? []) tell(listener);
        return;
      case "reply":
        if (item.ours) answer(from, item);
        else greet(from, item);
        return;
      case "notice":
        if (item.name === "exit") from.reason = item.text || from.reason;
        emit({ kind: "notice", name: item.name, text: item.text });
    }
  }

  /** The attach itself is answered first, as a command that is not ours. */
  function greet(from: Client, item: { ok: boolean; lines: string[] }): void {
    if (!item.ok) {
      from.reason = item.lines.join(" ");
      return;
    }
    if (from.attached) return;
    from.attached = true;
    if (outputListeners.size > 0) turnOutputOn();
    emit({ kind: "connected" });
  }

  function answer(from: Client, item: { ok: boolean; lines: string[] }): void {
    from.answers += 1;
    const first = from.waiting[0];
    if (!first) return;
    first.lines = first.lines.concat(item.lines);
    first.left -= 1;
    if (item.ok && first.left > 0) return;
    // tmux drops the rest of a line after an error.
    from.waiting.shift();
    if (from.waiting.length === 0) quieten(from);
    if (item.ok) first.resolve(first.lines);
    else first.reject(new TmuxError("refused", `tmux: ${item.lines.join(" ")}`));
  }

  /** Attaches and reads until the client ends. Returns whether it had been attached. */
  async function attachOnce(signal: AbortSignal): Promise<boolean> {
    const child = processes.pipe([
      ...tmuxCommand(options.socket),
      "-N",
      "-C",
      "attach-session",
      "-f",
      ATTACH_FLAGS,
      "-t",
      exactSession(session),
    ]);
    const mine: Client = {
      child,
      attached: false,
      output: false,
      reason: "",
      waiting: [],
      outbox: [],
      answers: 0,
      unwatch: null,
    };
    client = mine;
    const leave = () => {
      child.closeInput();
      const cancel = clock.after(LEAVE_MS, () => child.kill());
      child.exited.finally(cancel);
    };
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    const reader = createControlReader();
    for await (const chunk of child.stdout) for (const item of reader.push(chunk)) receive(mine, item);
    await child.exited;
    signal.removeEventListener("abort", leave);
    client = null;
    quieten(mine);
    const reason = signal.aborted ? "stopped" : mine.reason || "the tmux client ended";
    for (const waiting of mine.waiting.splice(0)) waiting.reject(lost(reason));
    if (!signal.aborted) emit({ kind: "lost", reason });
    return mine.attached;
  }

  async function run(signal: AbortSignal): Promise<void> {
    let delayMs = FIRST_RETRY_MS;
    let lastMessage = "";
    while (!signal.aborted) {
      try {
        if (await attachOnce(signal)) delayMs = FIRST_RETRY_MS;
      } catch (error) {
        client = null;
        const message = messageOf(error);
        if (message !== lastMessage) log(`cannot run tmux: ${message}`);
        lastMessage = message;
        emit({ kind: "lost", reason: message });
      }
      await sleep(clock, delayMs, signal);
      delayMs = Math.min(delayMs * 2, LAST_RETRY_MS);
    }
  }

  /**
   * Output is turned on once, with the first listener, and stays on as long as the client lives: tmux 3.3a
   * answers nothing more to a client that names this flag while output is queued for it.
   */
  function turnOutputOn(): void {
    if (!client?.attached || client.output) return;
    client.output = true;
    send(client, "refresh-client -f !no-output", 1).catch(() => {});
  }

  return {
    start() {
      if (running) return;
      abort = new AbortController();
      running = run(abort.signal);
    },
    async stop() {
      if (!running) return;
      abort.abort();
      await running;
      running = null;
      emit({ kind: "lost", reason: "stopped" });
    },
    connected: () => client?.attached === true,
    whenConnected(timeoutMs) {
      if (client?.attached) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const finish = (error: TmuxError | null) => {
          cancel();
          eventListeners.delete(listener);
          if (error) reject(error);
          else resolve();
        };
        const listener = (event: ControlEvent) => {
          if (event.kind === "connected") finish(null);
          else if (event.kind === "lost" && event.reason === "stopped") finish(lost(event.reason));
        };
        const cancel = clock.after(timeoutMs, () => finish(lost(`not attached within ${timeoutMs} ms`)));
        eventListeners.add(listener);
      });
    },
    command(line, { replies = 1 } = {}) {
      if (!client?.attached) return Promise.reject(lost("not attached"));
      return send(client, line, replies);
    },
    onOutput(paneId, listener) {
      const set = outputListeners.get(paneId) ?? new Set();
      outputListeners.set(paneId, set.add(listener));
      turnOutputOn();
      return () => {
        if (!set.delete(listener) || set.size > 0) return;
        outputListeners.delete(paneId);
      };
    },
    onEvent(listener) {
      eventListeners.add(listener);
      return () => eventListeners.delete(listener);
    },
  };
}
