import { basename, dirname, join } from "node:path";
import { explainExposure } from "../../services/sessions/trust.ts";
import { createTmux, type Tmux } from "../../services/terminal/tmux/command.ts";
import { createTmuxMutex, type TmuxMutex } from "../../services/terminal/tmux/mutex.ts";
import type { Files } from "../../system/files.ts";
import { shellWord } from "../../system/shell-word.ts";
import type { System } from "../../system/system.ts";
import { visibleLine } from "../../system/visible.ts";
import type { CliIo } from "./command.ts";

/**
 * The tmux server that a command means: SVC_TMUX_SOCKET (a name or an absolute path), else inside tmux the
 * server of our pane, else the person's default one (undefined). Pure. Source: ruling 20.
 */
export function chooseTmuxSocket(env: CliIo["env"]): string | undefined {
  return env["SVC_TMUX_SOCKET"] || socketOfPane(env);
}

/** The socket of the server whose pane this runs in, or undefined. Pure. */
export function socketOfPane(env: CliIo["env"]): string | undefined {
  return env["TMUX"]?.split(",")[0] || undefined;
}

interface TmuxServer {
  tmux: Tmux;
  mutex: TmuxMutex;
  /** Why the socket may not be used, or null; for control clients, which do not go through `tmux`. */
  refusal: () => string | null;
}

type TmuxDeps = Pick<System, "locks" | "clock" | "files" | "processes" | "steps">;

/**
 * The tmux server that `tmuxCommand` reaches by `socket`, with the mutex of all who use that server. No
 * socket is used that another user made or could replace. One is made, with its folder and locks, only where
 * the user says so: in tmux's own folder, at the path of the environment, or at `registered`, which the
 * registry has for the agent. Any other path comes from a file of a working tree.
 */
export function openTmux(
  { locks, clock, files, processes, steps }: TmuxDeps,
  socket: string | undefined,
  env: CliIo["env"],
  registered?: string,
): TmuxServer {
  const uid = process.getuid?.() ?? 0;
  const path = serverSocket(socket, env, files, uid);
  const isPath = !isPlainName(socket);
  const isChosen =
    !isPath ||
    socket === registered ||
    inOwnFolder(path, env, files, uid) ||
    [chooseTmuxSocket(env), socketOfPane(env)].some(
      (own) => own && path === serverSocket(own, env, files, uid),
    );
  const tooLong = longSocket(path, socket);
  // tmux itself looks after the folder of a plain name.
  const refusal = () => {
    if (tooLong !== null) return tooLong;
    const exposure = isPath ? files.exposure(socket?.startsWith("/") ? socket : path) : null;
    if (exposure !== null)
      return `the tmux socket ${visibleLine(path)} is not used: ${explainExposure(exposure)}`;
    return !isPath || files.socketAt(path) !== "other"
      ? null
      : `${visibleLine(path)} is no tmux socket of this user: no server is started in its place`;
  };
  const startRefusal = () => {
    if (isChosen || files.socketAt(path) !== "absent") return null;
    const advice = `If you want one there, run the command again with SVC_TMUX_SOCKET=${shellWord(path)}`;
    return `no tmux server is started at ${visibleLine(path)}, which only the agent's manifest names. ${advice}`;
  };
  const mayLock = () => refusal() === null && (isChosen || files.socketAt(path) === "own");
  const mutex = createTmuxMutex({ locks, clock }, path, mayLock);
  /**
   * tmux makes only the folder of a plain name, and a folder below /tmp does not outlast a restart of the
   * machine.
   */
  const beforeStart = () => {
    if (isPath) files.ensureDirectory("file:tmux-folder", dirname(path));
  };
  const guards = { refusal, startRefusal, beforeStart };
  return { mutex, refusal, tmux: createTmux({ processes, steps, clock, mutex, socket, ...guards }) };
}

/** As `openTmux`, where the environment was made from the record itself, as a gateway's is. */
export function openRecordedTmux(deps: TmuxDeps, socket: string | undefined, env: CliIo["env"]): TmuxServer {
  return openTmux(deps, socket, { ...env, SVC_TMUX_SOCKET: undefined, TMUX: undefined });
}

/** What the kernel takes as the path of a socket, less the byte that ends it. */
const maxSocketBytes = process.platform === "darwin" ? 103 : 107;

/** Why no tmux server can be at this path, with the remedy, or null. `socket`: as it was chosen. */
export function longSocket(path: string, socket: string | undefined): string | null {
  const bytes = Buffer.byteLength(path);
  if (bytes <= maxSocketBytes) return null;
  const remedy = isPlainName(socket)
    ? "set TMUX_TMPDIR to a shorter folder, or SVC_TMUX_SOCKET to a shorter path"
    : "set SVC_TMUX_SOCKET to a shorter path";
  return `the path of the tmux socket has ${bytes} bytes, and a socket takes at most ${maxSocketBytes}: ${visibleLine(path)}. To mend it, ${remedy}`;
}

/**
 * A name in the folder that tmux makes for this user: of the environment, or of a shell without TMUX_TMPDIR.
 */
function inOwnFolder(path: string, env: CliIo["env"], files: Pick<Files, "realPath">, uid: number): boolean {
  return [env, {}].some((one) => path === serverSocket(basename(path), one, files, uid));
}

/** Of a server in tmux's own folder. */
const isPlainName = (socket: string | undefined) => !socket || !/^\.{1,2}$|\//.test(socket);

/**
 * The one path of the socket that `tmuxCommand` means by `socket`, whichever name or link leads there. tmux
 * itself looks in /tmp where there is no TMUX_TMPDIR.
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
