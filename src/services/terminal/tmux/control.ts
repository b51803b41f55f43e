import { type Clock, sleep } from "../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Lifecycle } from "../../../system/lifecycle.ts";
import type { Processes } from "../../../system/processes.ts";
import type { TmuxMutex } from "./mutex.ts";
import {
  type ControlItem,
  countReplies,
  createControlReader,
  exactSession,
  type PaneBytes,
  type TmuxCommand,
  TmuxError,
  type TmuxTransport,
  tmuxCommand,
  toControlLine,
} from "./protocol.ts";
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
export interface ControlConnection extends Lifecycle, TmuxTransport {
  connected(): boolean;
  /** Resolves when attached; rejects with TmuxError `lost` after `timeoutMs` or when stopped. */
  whenConnected(timeoutMs: number): Promise<void>;
  /**
   * As of each transport. Calls are pipelined and answered in the order made, also when nobody awaits them.
   * Rejects with `lost` also when nothing is answered for 10 s.
   */
  run: TmuxTransport["run"];
  /**
   * As `run`, each reply apart. `onReplies` is called while the last one is read: output that tmux sent
   * before it was heard before, and output that it sends after it is not heard yet.
   */
  batch(commands: readonly TmuxCommand[], onReplies: (parts: string[][]) => void): Promise<void>;
  /** Called with all that the pane writes, in order. Returns how to stop listening. */
  onBytes(paneId: string, listener: (bytes: PaneBytes) => void): () => void;
  /** Called when the pane has written something: a wake-up without content. Returns how to stop listening. */
  onOutput(paneId: string, listener: () => void): () => void;
  onEvent(listener: (event: ControlEvent) => void): () => void;
}

interface ControlOptions {
  processes: Processes;
  clock: Clock;
  mutex: TmuxMutex;
  /** As of `createTmux`; asked before each attach. */
  refusal?: () => string | null;
  /** See `tmuxCommand`. */
  socket?: string;
  /** Name of the session, whole. */
  session: string;
  /** What the session is called now, asked when there is none of its name; null when there is none at all. */
  currentName?: () => Promise<string | null>;
  log: (message: string) => void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2000;
/** A server that takes longer than this to greet does not answer: others need not wait for it. */
const LONGEST_GREETING_MS = 1000;

export function createControlConnection(options: ControlOptions): ControlConnection {
  const { clock, mutex, session, log } = options;
  const outputListeners = new Map<string, Set<() => void>>();
  const byteListeners = new Map<string, Set<(bytes: PaneBytes) => void>>();
  const eventListeners = new Set<(event: ControlEvent) => void>();
  let client: ControlClient | null = null;
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

  function listen<L>(listeners: Map<string, Set<L>>, paneId: string, listener: L): () => void {
    const set = listeners.get(paneId) ?? new Set();
    listeners.set(paneId, set.add(listener));
    client?.turnOutputOn();
    return () => {
      if (set.delete(listener) && set.size === 0) listeners.delete(paneId);
    };
  }

  /** What the session was called when it was last found. */
  let called = session;

  /** Attaches and stays until the client ends. Returns whether it had been attached. */
  async function attachOnce(signal: AbortSignal): Promise<boolean> {
    const release = await mutex.take({ signal });
    if (signal.aborted) {
      release();
      return false;
    }
    const cancel = clock.after(LONGEST_GREETING_MS, release);
    const introduced = () => {
      cancel();
      release();
    };
    let attached = false;
    try {
      const refusal = options.refusal?.();
      if (refusal) throw new ServiceError("precondition_failed", refusal);
      const mine = openControlClient({
        ...options,
        session: called,
        onAttached() {
          introduced();
          attached = true;
          if (outputListeners.size > 0 || byteListeners.size > 0) mine.turnOutputOn();
          emit({ kind: "connected" });
        },
        wantsBytes: (paneId) => byteListeners.has(paneId),
        onOutput(paneId, bytes) {
          for (const listener of outputListeners.get(paneId) ?? []) tell(listener);
          if (bytes) for (const listener of byteListeners.get(paneId) ?? []) tell(() => listener(bytes));
        },
        onNotice: (name, text) => emit({ kind: "notice", name, text }),
      });
      client = mine;
      const leave = () => void leaveAlone(mine);
      signal.addEventListener("abort", leave, { once: true });
      const reason = await mine.ended;
      signal.removeEventListener("abort", leave);
      client = null;
      if (/can't find session/.test(reason)) called = (await options.currentName?.()) ?? session;
      if (!signal.aborted) emit({ kind: "lost", reason });
    } finally {
      introduced();
    }
    return attached;
  }

  async function leaveAlone(one: ControlClient): Promise<void> {
    const gone = new AbortController();
    const ended = one.ended.then(() => gone.abort());
    // One that is not attached yet holds the mutex itself.
    const release = one.attached() ? await mutex.take({ signal: gone.signal }) : () => {};
    if (!gone.signal.aborted) one.leave();
    await ended;
    release();
  }

  async function run(signal: AbortSignal): Promise<void> {
    let delayMs = FIRST_RETRY_MS;
    let lastMessage = "";
    while (!signal.aborted) {
      try {
        if (await attachOnce(signal)) delayMs = FIRST_RETRY_MS;
      } catch (error) {
        const message = messageOf(error);
        if (message !== lastMessage) log(`cannot use tmux: ${message}`);
        lastMessage = message;
        emit({ kind: "lost", reason: message });
      }
      await sleep(clock, delayMs, signal);
      delayMs = Math.min(delayMs * 2, LAST_RETRY_MS);
    }
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
    connected: () => client?.attached() === true,
    whenConnected(timeoutMs) {
      if (client?.attached()) return Promise.resolve();
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
    run: (commands) => (client ? client.send(commands) : Promise.reject(lost("not attached"))),
    async batch(commands, onReplies) {
      if (!client) throw lost("not attached");
      await client.send(commands, onReplies);
    },
    onBytes: (paneId, listener) => listen(byteListeners, paneId, listener),
    onOutput: (paneId, listener) => listen(outputListeners, paneId, listener),
    onEvent(listener) {
      eventListeners.add(listener);
      return () => eventListeners.delete(listener);
    },
  };
}

/** One control-mode client from its start to its end. It is never re-made: see `createControlConnection`. */
type ControlClient = ReturnType<typeof openControlClient>;

interface ControlClientOptions {
  processes: Processes;
  clock: Clock;
  socket?: string;
  session: string;
  onAttached: () => void;
  wantsBytes: (paneId: string) => boolean;
  onOutput: (paneId: string, bytes?: PaneBytes) => void;
  onNotice: (name: string, text: string) => void;
}

/** A server that does not answer for this long is treated as gone. */
const ANSWER_MS = 10_000;
const LEAVE_MS = 1000;
/** What a client wrote before it ended is read for this long. */
const DRAIN_MS = 100;
/**
 * `no-output` until somebody listens. No `pause-after`: seen on tmux 3.3a, neither with it nor without does
 * tmux go on reading a pane while its only attached client reads nothing, so it would only add a second
 * output form.
 */
const ATTACH_FLAGS = "ignore-size,no-output";

interface Waiting {
  left: number;
  parts: string[][];
  onReplies: ((parts: string[][]) => void) | undefined;
  resolve: (lines: string[]) => void;
  reject: (error: TmuxError) => void;
}

/** Starts a client that attaches to the session. Throws when tmux cannot be run at all. */
function openControlClient(options: ControlClientOptions) {
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

  function send(
    commands: readonly TmuxCommand[],
    onReplies?: (parts: string[][]) => void,
  ): Promise<string[]> {
    if (state !== "attached") return Promise.reject(lost(reason || "not attached"));
    return new Promise((resolve, reject) => {
      waiting.push({ left: countReplies(commands), parts: [], onReplies, resolve, reject });
      if (outbox.push(toControlLine(commands)) === 1) queueMicrotask(flush);
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
        options.onOutput(item.paneId, item.bytes);
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
    first.parts.push(item.lines);
    first.left -= 1;
    if (item.ok && first.left > 0) return;
    // tmux drops the rest of a line after an error.
    waiting.shift();
    if (waiting.length === 0) quieten();
    if (item.ok) first.onReplies?.(first.parts);
    if (item.ok) first.resolve(first.parts.length === 1 ? item.lines : first.parts.flat());
    else first.reject(new TmuxError("refused", `tmux: ${item.lines.join(" ")}`));
  }

  async function read(): Promise<void> {
    const reader = createControlReader(options.wantsBytes);
    for await (const chunk of child.stdout) {
      if (state === "ended") return;
      for (const item of reader.push(chunk)) receive(item);
    }
    await child.exited;
  }

  async function live(): Promise<string> {
    const drained = new AbortController();
    // The pipe is also the server's: one that hangs keeps it open when the client is long gone.
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
    attached: (): boolean => state === "attached",
    /** As `ControlConnection.run`; before the attach and after the end it rejects. */
    send,
    /**
     * Once and never off again: tmux 3.3a answers nothing more to a client that names this flag while output
     * is queued for it.
     */
    turnOutputOn(): void {
      if (state !== "attached" || output) return;
      output = true;
      send([["refresh-client", "-f", "!no-output"]]).catch(() => {});
    },
    /** Detaches; the process is killed when it does not go within a second. */
    leave(): void {
      reason = "stopped";
      child.closeInput();
      const cancel = clock.after(LEAVE_MS, () => child.kill());
      child.exited.finally(cancel);
    },
    /** Resolves with tmux's words or our own when the client has gone and every command is answered. */
    ended: live(),
  };
}
