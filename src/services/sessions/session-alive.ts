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
