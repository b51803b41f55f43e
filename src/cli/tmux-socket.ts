import { join } from "node:path";
import { createTmux, type Tmux } from "../services/terminal/tmux-command.ts";
import { createTmuxMutex, type TmuxMutex } from "../services/terminal/tmux-mutex.ts";
import type { Files } from "../system/files.ts";
import type { System } from "../system/system.ts";
import type { CliIo } from "./command.ts";

/**
 * The tmux server that a command means: SVC_TMUX_SOCKET (a name or an absolute path), else inside tmux the
 * server of our own pane, else the person's default one (undefined). Pure. Source: ruling 20.
 */
export function chooseTmuxSocket(env: CliIo["env"]): string | undefined {
  return env["SVC_TMUX_SOCKET"] || socketOfPane(env);
}

/** The socket of the server whose pane this runs in, or undefined. Pure. */
export function socketOfPane(env: CliIo["env"]): string | undefined {
  return env["TMUX"]?.split(",")[0] || undefined;
}

/**
 * The tmux server that `tmuxCommand` reaches by `socket`, with the mutex of all who use that server. A path that neither
 * the environment nor tmux's own folder names comes from a file: nothing is made beside it unless a socket of this user
 * is there, no server is started in place of anything else, and none of another user is used.
 */
export function openTmux(
  {
    locks,
    clock,
    files,
    processes,
    steps,
  }: Pick<System, "locks" | "clock" | "files" | "processes" | "steps">,
  socket: string | undefined,
  env: CliIo["env"],
): { tmux: Tmux; mutex: TmuxMutex } {
  const uid = process.getuid?.() ?? 0;
  const path = serverSocket(socket, env, files, uid);
  const trusted =
    isPlainName(socket) ||
    [chooseTmuxSocket(env), socketOfPane(env)].some(
      (own) => own && path === serverSocket(own, env, files, uid),
    );
  const mutex = createTmuxMutex({ locks, clock }, path, () => trusted || files.socketAt(path) === "own");
  const refusal = () =>
    trusted || files.socketAt(path) !== "other"
      ? null
      : `${path} is no tmux socket of this user: no server is started in its place`;
  return { mutex, tmux: createTmux({ processes, steps, clock, mutex, socket, refusal }) };
}

/** Of a server in tmux's own folder. */
const isPlainName = (socket: string | undefined) => !socket || !/^\.{1,2}$|\//.test(socket);

/**
 * The one path of the socket that `tmuxCommand` means by `socket`, whichever name or link leads there. tmux itself looks
 * in /tmp where there is no TMUX_TMPDIR.
 */
export function serverSocket(
  socket: string | undefined,
  env: CliIo["env"],
  files: Pick<Files, "realPath">,
  uid: number,
): string {
  if (socket?.startsWith("/")) return files.realPath(socket) ?? socket;
  const place = (folder: string | undefined) => (folder ? files.realPath(folder) : null);
  const folder = place(env["TMUX_TMPDIR"]) ?? place("/tmp") ?? "/tmp";
  return join(folder, `tmux-${uid}`, socket || "default");
}

/** The socket that a bare `tmux` of this shell reaches, as a server there names it. */
export function bareTmuxSocket(env: CliIo["env"], files: Pick<Files, "realPath">, uid: number): string {
  return socketOfPane(env) ?? serverSocket(undefined, env, files, uid);
}
