import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Lifecycle } from "../../system/lifecycle.ts";
import type { Processes } from "../../system/processes.ts";
import { type ControlClient, openControlClient } from "./tmux-client.ts";
import type { TmuxMutex } from "./tmux-mutex.ts";
import { TmuxError } from "./tmux-protocol.ts";

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
   * `if-shell` inserts (default 1). Rejects with TmuxError: `refused` and tmux's message, or `lost`, also when
   * nothing is answered for 10 s.
   */
  command(line: string, options?: { replies?: number }): Promise<string[]>;
  /** Called when the pane has written something: a wake-up without content. Returns how to stop listening. */
  onOutput(paneId: string, listener: () => void): () => void;
  onEvent(listener: (event: ControlEvent) => void): () => void;
}

export interface ControlOptions {
  processes: Processes;
  clock: Clock;
  mutex: TmuxMutex;
  /** As of `createTmux`; asked before each attach. */
  refusal?: () => string | null;
  /** See `tmuxCommand`. */
  socket?: string;
  /** Name of the session, whole. */
  session: string;
  log: (message: string) => void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2000;
/** A server that takes longer than this to greet stands still: others need not wait for it. */
const LONGEST_GREETING_MS = 1000;

export function createControlConnection(options: ControlOptions): ControlConnection {
  const { clock, mutex, session, log } = options;
  const outputListeners = new Map<string, Set<() => void>>();
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
        onAttached() {
          introduced();
          attached = true;
          if (outputListeners.size > 0) mine.turnOutputOn();
          emit({ kind: "connected" });
        },
        onOutput(paneId) {
          for (const listener of outputListeners.get(paneId) ?? []) tell(listener);
        },
        onNotice: (name, text) => emit({ kind: "notice", name, text }),
      });
      client = mine;
      const leave = () => void leaveAlone(mine);
      signal.addEventListener("abort", leave, { once: true });
      const reason = await mine.ended;
      signal.removeEventListener("abort", leave);
      client = null;
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
    command: (line, { replies = 1 } = {}) =>
      client ? client.send(line, replies) : Promise.reject(lost("not attached")),
    onOutput(paneId, listener) {
      const set = outputListeners.get(paneId) ?? new Set();
      outputListeners.set(paneId, set.add(listener));
      client?.turnOutputOn();
      return () => {
        if (set.delete(listener) && set.size === 0) outputListeners.delete(paneId);
      };
    },
    onEvent(listener) {
      eventListeners.add(listener);
      return () => eventListeners.delete(listener);
    },
  };
}
