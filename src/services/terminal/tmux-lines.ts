import { shellWord } from "./shell-word.ts";

/** A session and its server, as in a manifest. */
interface TmuxPlace {
  session_name: string;
  socket?: string | undefined;
}

/**
 * The command with which a person watches a session, for any shell. `bare`: the socket that a bare `tmux` of that
 * shell reaches, where it is known. Pure.
 */
export function tmuxAttachLine(tmux: TmuxPlace, bare?: string): string {
  return `tmux ${serverFlags(tmux.socket === bare ? undefined : tmux.socket)}attach -t '=${tmux.session_name}'`;
}

/** The command with which a person ends a session, for any shell. Pure. */
export function tmuxEndLine(tmux: TmuxPlace): string {
  return `tmux ${serverFlags(tmux.socket)}kill-session -t '=${tmux.session_name}'`;
}

function serverFlags(socket: string | undefined): string {
  return socket === undefined ? "" : `${socket.startsWith("/") ? "-S" : "-L"} ${shellWord(socket)} `;
}
