import { type LeaseGrant, type TerminalMessage, ViewerMessage } from "../../../protocol/console.ts";
import type { TypingLease } from "../../../protocol/gateway.ts";
import { parseJson } from "../../../protocol/json.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { ServerSocket, SocketHandler } from "../../../system/sockets.ts";
import { withoutTerminalReplies } from "../../prompt/typing-lease.ts";
import type { LiveTerminal } from "./live-terminal.ts";

/** Bytes on the way to one viewer: beyond it no frame is read until the viewer has taken some. */
const maxWaiting = 256 * 1024;

/**
 * One viewer of a live terminal over a WebSocket. What it types waits in order; its lease ends when it goes.
 * `waiting` keeps memory flat: frames are read as the viewer takes them, and their source skips to the newest
 * picture.
 */
export function createViewer(terminal: LiveTerminal): SocketHandler {
  const left = new AbortController();
  let socket: ServerSocket | null = null;
  let drained = Promise.withResolvers<void>();
  let grant: LeaseGrant | null = null;
  /** What this viewer asked for, one after the other. */
  let acts: Promise<void> = Promise.resolve();
  /** Typed while an earlier piece is on its way. */
  let typed = "";

  const say = (message: TerminalMessage) => socket?.send(JSON.stringify(message));

  /** Each renewal has another end. */
  const isMine = (lease: TypingLease | null) =>
    grant?.lease.holder === lease?.holder && grant?.lease.since_utc === lease?.since_utc && lease !== null;

  async function show(to: ServerSocket): Promise<void> {
    try {
      for await (const frame of terminal.frames(left.signal)) {
        if (frame.kind === "bytes") to.send(frame.bytes);
        else if (frame.kind === "message") {
          const { message } = frame;
          say(message.kind === "lease" ? { ...message, mine: isMine(message.lease) } : message);
        }
        while (to.waiting() > maxWaiting && !left.signal.aborted) {
          drained = Promise.withResolvers();
          if (to.waiting() > maxWaiting) await drained.promise;
        }
      }
      say({ kind: "ended", reason: "the terminal cannot be read any more" });
    } catch (error) {
      say({ kind: "ended", reason: refusalOf(error) });
    }
    if (!left.signal.aborted) to.close("ended");
  }

  function act(task: () => Promise<void>): void {
    acts = acts.then(task).catch((error: unknown) => {
      say({ kind: "refused", detail: refusalOf(error) });
    });
  }

  async function sendTyped(): Promise<void> {
    const text = typed;
    typed = "";
    if (text === "") return;
    if (grant === null) throw new ServiceError("conflict", "take the typing lease first");
    try {
      await terminal.type(grant.lease_id, text);
    } catch (error) {
      if (error instanceof ServiceError && error.reason === "conflict") grant = null;
      throw error;
    }
  }

  function receive(message: ViewerMessage): void {
    switch (message.kind) {
      case "type": {
        const waits = typed !== "";
        typed += withoutTerminalReplies(message.text);
        if (!waits && typed !== "") act(sendTyped);
        return;
      }
      case "take_lease":
        act(async () => {
          const { holder, take_over } = message;
          const granted = await terminal.take({ holder, ...(take_over ? { take_over } : {}) });
          // The viewer may have gone while it was asked for.
          if (socket === null) return terminal.release(granted.lease_id);
          grant = granted;
          say({ kind: "lease", lease: granted.lease, mine: true });
        });
        return;
      case "release_lease":
        act(giveBack);
        return;
    }
  }

  async function giveBack(): Promise<void> {
    const mine = grant;
    grant = null;
    if (mine !== null) await terminal.release(mine.lease_id);
  }

  return {
    open(opened) {
      socket = opened;
      void show(opened);
    },
    message(text) {
      const message = parseJson(ViewerMessage, text);
      if (message === null) say({ kind: "refused", detail: "no message of this protocol" });
      else receive(message);
    },
    drain: () => drained.resolve(),
    closed() {
      left.abort();
      drained.resolve();
      socket = null;
      void giveBack().catch(() => {});
    },
  };
}

const refusalOf = (error: unknown) =>
  error instanceof ServiceError ? messageOf(error) : "it could not be carried out";
