import type { RegistryRecord } from "../../protocol/files.ts";
import type { Tmux } from "../terminal/tmux-command.ts";

/** Asks tmux, on the server the record names, whether its current session exists: the only proof of life. */
export type SessionAlive = (record: RegistryRecord) => Promise<boolean>;

/**
 * Rejects when tmux cannot be asked, also where it is not on this PATH: "cannot read" is not "gone", and a session
 * taken for gone would be marked as stopped while its agent works on.
 */
export function createSessionAlive(tmuxFor: (socket: string | undefined) => Tmux): SessionAlive {
  return async ({ terminal }) =>
    terminal.current_session_name
      ? tmuxFor(terminal.socket).hasSession(terminal.current_session_name)
      : false;
}

/** The same as it was when each tmux server was first asked: one question for all of its sessions. */
export function createSessionsSeen(tmuxFor: (socket: string | undefined) => Tmux): SessionAlive {
  const seen = new Map<string | undefined, Promise<ReadonlySet<string>>>();
  const namesOn = async (socket: string | undefined) =>
    new Set((await tmuxFor(socket).sessions()).map(({ name }) => name));
  return async ({ terminal: { socket, current_session_name: session } }) => {
    if (!session) return false;
    const names = seen.get(socket) ?? namesOn(socket);
    seen.set(socket, names);
    return (await names).has(session);
  };
}
