import { basename } from "node:path";

/**
 * The tmux server that a command means: SVC_TMUX_SOCKET (a name or an absolute path), else inside tmux the
 * server of our own pane, else the person's default one (undefined). Pure. Source: ruling 20.
 */
export function chooseTmuxSocket(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const named = env["SVC_TMUX_SOCKET"];
  if (named) return named;
  const path = env["TMUX"]?.split(",")[0];
  return path && basename(path) !== "default" ? path : undefined;
}

/** The command with which a person watches a session, for any shell. Pure. */
export function tmuxAttachLine(tmux: { session_name: string; socket?: string }): string {
  const { socket } = tmux;
  const server = socket === undefined ? "" : `${socket.startsWith("/") ? "-S" : "-L"} ${socket} `;
  return `tmux ${server}attach -t '=${tmux.session_name}'`;
}
