import { join } from "node:path";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import { quoteShell } from "../../../system/shell-word.ts";
import type { Steps } from "../../../system/steps.ts";
import { PANE_FORMAT, parsePane, type Tmux, type TmuxPane } from "./command.ts";
import { standardPath } from "./launch.ts";
import { exactWindow, showFormat } from "./protocol.ts";

/** What runs in the window, once it is known which window that is. */
export interface WindowProgram {
  command: readonly string[];
  /** Absolute. */
  workdir: string;
  /** The whole environment of the program. Names that no shell can set are left out. */
  env: Readonly<Record<string, string>>;
  /** Existing or new file that gets what the program writes to its standard error. */
  errorPath: string;
}

/** All that distinguishes one window of a session from every other. */
export interface WindowHandles {
  windowId: string;
  windowIndex: string;
  paneId: string;
}

interface WindowDeps {
  tmux: Tmux;
  files: Files;
  ids: Ids;
  steps: Steps;
  /** Existing private folder for the script, absolute. */
  folder: string;
}

/** Long enough to get its command, short enough not to stay when its opener has died. */
const placeholder = ["/bin/sh", "-c", `${standardPath} exec sleep 60`];

/**
 * Opens a window named `name` in the background, beside the agent's, and runs `program` in it, which may
 * depend on the window's handles. It closes when the program ends. Throws TmuxError, and `dispatch_failed`
 * when tmux would give it index 0, which is the agent's; nothing is left behind then. Steps: `window.open`,
 * `window.script`, `window.start`.
 */
export async function openWindow(
  deps: WindowDeps,
  session: string,
  name: string,
  program: (handles: WindowHandles) => WindowProgram,
): Promise<{ handles: WindowHandles; pid: number }> {
  const { tmux, steps } = deps;
  const target = exactWindow((await tmux.currentName(session)) ?? session);
  steps.before("window.open");
  const [made] = await tmux
    .run([["new-window", "-d", "-P", "-F", PANE_FORMAT, "-t", target, "-n", name, "--", ...placeholder]])
    .then((lines) => lines.flatMap(parsePane));
  steps.after("window.open");
  if (!made) throw new ServiceError("dispatch_failed", "tmux did not say which window it made");
  try {
    if (made.windowIndex === 0) {
      throw new ServiceError("dispatch_failed", `session ${session} has no window 0, which is the agent's`);
    }
    const handles = toHandles(made);
    return { handles, pid: await start(deps, handles, program(handles)) };
  } catch (error) {
    await tmux.killWindow("window.undo", made.windowId);
    throw error;
  }
}

/** Puts the program in the placeholder's place; resolves with its pid. */
async function start(deps: WindowDeps, handles: WindowHandles, program: WindowProgram): Promise<number> {
  const { tmux, files, ids, steps, folder } = deps;
  const { windowId, paneId } = handles;
  const path = join(folder, `window-${ids.hex(8)}.sh`);
  files.write("window.script", path, windowScript(path, program), { durable: false });
  steps.before("window.start");
  const setOption = (option: string) => ["set-option", "-w", "-t", windowId, option, "off"];
  const lines = await tmux.run([
    // The person's own settings must not keep the window when its program has ended, nor rename it.
    setOption("remain-on-exit"),
    setOption("automatic-rename"),
    setOption("allow-rename"),
    ["respawn-pane", "-k", "-t", paneId, "--", "/bin/sh", path],
    showFormat(paneId, PANE_FORMAT),
  ]);
  steps.after("window.start");
  const [started] = lines.flatMap(parsePane);
  if (!started) throw new ServiceError("dispatch_failed", "the window closed at once");
  return started.panePid;
}

/**
 * The pane that all handles name, or null: a server that was started again gives the same ids to other
 * windows.
 */
export async function findWindow(
  tmux: Tmux,
  session: string,
  handles: WindowHandles,
): Promise<TmuxPane | null> {
  const panes = await tmux.panes(session);
  return panes.find((pane) => Bun.deepEquals(toHandles(pane), handles)) ?? null;
}

/**
 * Closes the window; false when it is no more. Throws `precondition_failed` for index 0 and leaves it alone.
 * Step: `window.close`.
 */
export async function closeWindow(tmux: Tmux, session: string, handles: WindowHandles): Promise<boolean> {
  const found = await findWindow(tmux, session, handles);
  if (!found) return false;
  if (found.windowIndex === 0) {
    throw new ServiceError("precondition_failed", "window 0 is the agent's and is never closed");
  }
  return tmux.killWindow("window.close", handles.windowId);
}

function toHandles({ windowId, windowIndex, paneId }: TmuxPane): WindowHandles {
  return { windowId, windowIndex: String(windowIndex), paneId };
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The script of the window's pane. The program takes its place, so that the pane's process is the program's,
 * and inherits nothing from tmux. Its environment travels in here: `ps` shows the arguments of tmux.
 */
function windowScript(path: string, program: WindowProgram): string {
  const exports = Object.entries(program.env)
    .filter(([name]) => VARIABLE.test(name))
    .map(([name, value]) => `export ${name}=${quoteShell(value)}`);
  return [
    "#!/bin/sh",
    `${standardPath} rm -f -- ${quoteShell(path)}`,
    `names=$(${standardPath}; env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p')`,
    'for name in $names; do unset "$name"; done',
    ...exports,
    `cd -- ${quoteShell(program.workdir)} || exit`,
    `exec ${program.command.map(quoteShell).join(" ")} 2>>${quoteShell(program.errorPath)}`,
    "",
  ].join("\n");
}
