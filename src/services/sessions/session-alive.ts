import type { RegistryRecord } from "../../protocol/files.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Tmux } from "../terminal/tmux-command.ts";

/** Asks tmux, on the server the record names, whether its current session exists: the only proof of life. */
export type SessionAlive = (record: RegistryRecord) => Promise<boolean>;

/** Where there is no tmux, no session lives. Any other failure of tmux rejects: "cannot read" is not "gone". */
export function createSessionAlive(tmuxFor: (socket: string | undefined) => Tmux): SessionAlive {
  return async ({ terminal }) => {
    if (!terminal.current_session_name) return false;
    try {
      return await tmuxFor(terminal.socket).hasSession(terminal.current_session_name);
    } catch (error) {
      if (error instanceof ServiceError && error.reason === "precondition_failed") return false;
      throw error;
    }
  };
}
