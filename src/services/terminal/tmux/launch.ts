import { join } from "node:path";
import type { Clock } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import { quoteShell } from "../../../system/shell-word.ts";
import type { Steps } from "../../../system/steps.ts";
import { markCommands, PANE_FORMAT, parsePane, type Tmux, type TmuxPane } from "./command.ts";
import type { ControlConnection } from "./control.ts";
import type { TmuxMutex } from "./mutex.ts";
import { exactWindow, showFormat, type TmuxCommand } from "./protocol.ts";
import { tmuxAttachLine } from "./screen.ts";

/** What runs in the agent's pane. */
export interface PaneProgram {
  /** Executable and arguments, passed on exactly. */
  command: readonly string[];
  /** Absolute. */
  workdir: string;
  /**
   * All variables of the program beside those that tmux sets for its pane; the shell after it does not see
   * them. Empty: the environment of the pane, which is the one of the shell that once started the tmux
   * server.
   */
  env: Record<string, string>;
  /**
   * What the pane does once the program has ended: default, a line that says so and the person's login shell.
   */
  afterwards?: "shell" | "wait";
}

interface LaunchRequest extends PaneProgram {
  /** Name of the new session: letters, digits, `_`, `-`. */
  session: string;
  /** Variables of the session itself, which every later pane sees: `SVC_*` only. */
  sessionEnv: Record<string, string>;
  /** Kept with the session from its first moment, as `sessionMarks` reads it. */
  mark?: string;
  /** Columns and rows; default 120 x 36, at least 110 x 36. */
  size?: { width: number; height: number };
}

/**
 * What a launch that was killed leaves; tmux has started a script, which removes itself, long before that
 * age.
 */
const staleScriptMs = 60_000;

/** Removes scripts in `folder` that nothing will run any more. */
export function removeLeftScripts(files: Files, clock: Clock, folder: string): void {
  for (const name of files.list(folder)) {
    if (!/^launch-[0-9a-f]{16}\.sh$/.test(name)) continue;
    const path = join(folder, name);
    const writtenMs = files.stat(path)?.modifiedMs ?? Number.POSITIVE_INFINITY;
    if (clock.nowMs() - writtenMs > staleScriptMs) files.removeFile("launch.script.remove", path);
  }
}

const LEAST = { width: 110, height: 36 };
const DEFAULT_SIZE = { width: 120, height: 36 };

export function createLauncher(deps: {
  tmux: Tmux;
  files: Files;
  ids: Ids;
  steps: Steps;
  /** Existing private folder for the scripts, absolute. */
  folder: string;
  /**
   * A connection to the session, over which its pane is respawned while it answers, in place of a tmux
   * process.
   */
  over?: { control: Pick<ControlConnection, "connected" | "run">; mutex: TmuxMutex };
}) {
  const { tmux, files, ids, steps, folder, over } = deps;

  /** Runs `act` with a fresh script; a script that tmux never started is removed. */
  async function withScript(
    program: PaneProgram,
    act: (script: string) => Promise<string[]>,
  ): Promise<TmuxPane> {
    const path = join(folder, `launch-${ids.hex(8)}.sh`);
    files.write("launch.script", path, launchScript(path, program), { durable: false });
    let lines: string[];
    try {
      lines = await act(path);
    } catch (error) {
      files.removeFile("launch.script.remove", path);
      throw error;
    }
    const pane = lines.flatMap(parsePane).pop();
    if (!pane) throw new ServiceError("dispatch_failed", "tmux did not say which pane it made");
    return pane;
  }

  async function newSession(request: LaunchRequest, width: number, height: number, script: string) {
    const { session } = request;
    const window = exactWindow(session);
    const size = ["-x", String(width), "-y", String(height)];
    const place = ["-d", "-E", "-P", "-F", PANE_FORMAT, "-s", session, "-n", "agent"];
    const program = ["-c", escapeFormat(request.workdir), "--", "/bin/sh", script];
    const setOption = (name: string, value: string) => ["set-option", "-w", "-t", window, name, value];
    steps.before("launch.session");
    const making = tmux.run(
      [
        ["new-session", ...place, ...size, ...program],
        // The person's own settings must not end the session, keep a dead pane, rename or resize it.
        ["set-option", "-t", window, "destroy-unattached", "off"],
        ...(request.mark === undefined ? [] : markCommands(window, session, request.mark)),
        setOption("remain-on-exit", "off"),
        setOption("automatic-rename", "off"),
        setOption("allow-rename", "off"),
        setOption("window-size", "manual"),
        // A client that is attached to another session of the server would else give the window its own size.
        ["resize-window", "-t", window, ...size],
        showFormat(window, PANE_FORMAT),
      ],
      { startServer: true, exclusive: true },
    );
    const lines = await making.catch((error: unknown) => {
      // Another launch took the name since it was asked for.
      throw /duplicate session/.test(String(error)) ? sessionExists(tmux, session) : error;
    });
    steps.after("launch.session");
    return lines;
  }

  /**
   * What a session needs once it exists: its window at 0 whatever the person counts from, the size of the
   * terminals that show it, and its variables.
   */
  async function settle({ session, sessionEnv }: LaunchRequest, lines: string[]): Promise<void> {
    const [made] = lines.flatMap(parsePane);
    if (made && made.windowIndex !== 0) {
      const move = ["move-window", "-s", made.windowId, "-t", `${exactWindow(session)}0`];
      await tmux.run([move], { exclusive: true });
    }
    if (made) await tmux.run(followTerminals(session, made));
    await tmux.setEnvironment("launch.environment", session, sessionEnv);
  }

  return {
    /**
     * A new detached session with one window, `agent`, at index 0, of fixed size. Throws `conflict` when the
     * session exists, TmuxError `refused` otherwise; nothing is left behind then. Steps: `launch.script`,
     * `launch.session`, `launch.environment`.
     */
    async launch(request: LaunchRequest): Promise<TmuxPane> {
      const { session, sessionEnv } = request;
      const { width, height } = request.size ?? DEFAULT_SIZE;
      checkSessionName(session);
      if (width < LEAST.width || height < LEAST.height) {
        throw new ServiceError("invalid_request", `the pane must be at least ${LEAST.width}x${LEAST.height}`);
      }
      const foreign = Object.keys(sessionEnv).find((name) => !name.startsWith("SVC_"));
      if (foreign !== undefined)
        throw new ServiceError("invalid_request", `not an SVC_ variable: ${foreign}`);
      if (await tmux.hasSession(session)) throw sessionExists(tmux, session);

      const made = await withScript(request, async (script) => {
        const lines = await newSession(request, width, height, script);
        try {
          await settle(request, lines);
        } catch (error) {
          await tmux.killSession("launch.undo", session);
          throw error;
        }
        return lines;
      });
      return { ...made, windowIndex: 0 };
    },
    /**
     * Ends what runs in the pane and starts the program there: same pane, new pid. Steps: `launch.script`,
     * `launch.respawn`.
     */
    respawn: (paneId: string, program: PaneProgram): Promise<TmuxPane> =>
      withScript(program, async (script) => {
        steps.before("launch.respawn");
        const folder = escapeFormat(program.workdir);
        const commands = [
          ["respawn-pane", "-k", "-t", paneId, "-c", folder, "--", "/bin/sh", script],
          showFormat(paneId, PANE_FORMAT),
        ];
        // One that is lost meanwhile may have been heard: nothing is started a second time.
        const lines = over?.control.connected()
          ? await runOver(over, commands)
          : await tmux.run(commands, { exclusive: true });
        steps.after("launch.respawn");
        return lines;
      }),
  };
}

/**
 * Hooks by which the window takes the size of the terminal that shows it, and its former size once none does.
 * tmux runs them: a terminal may close together with all that a person started in it. Control connections have
 * no device and count for nothing.
 */
function followTerminals(session: string, { windowId, width, height }: TmuxPane): TmuxCommand[] {
  const isShown = "#{m:*/dev/*,#{session_attached_list}}";
  const isLeft = `#{&&:#{==:#{window-size},latest},#{?${isShown},0,1}}`;
  const when = (condition: string, command: string) =>
    `if-shell -F -t ${windowId} "${condition}" "${command}"`;
  const follow = when(isShown, `set-option -w -t ${windowId} window-size latest`);
  // A window that is resized by hand has a fixed size again.
  const restore = when(isLeft, `resize-window -t ${windowId} -x ${width} -y ${height}`);
  return ["client-attached", "client-session-changed", "client-detached"].map((event) => [
    "set-hook",
    "-t",
    exactWindow(session),
    event,
    `${follow} ; ${restore}`,
  ]);
}

async function runOver(
  { control, mutex }: { control: Pick<ControlConnection, "run">; mutex: TmuxMutex },
  commands: readonly TmuxCommand[],
): Promise<string[]> {
  const release = await mutex.take({ brief: true });
  try {
    return await control.run(commands);
  } finally {
    release();
  }
}

/** Throws `invalid_request` for a name that no session of ours may have. Pure. */
export function checkSessionName(session: string): void {
  if (SESSION.test(session)) return;
  throw new ServiceError(
    "invalid_request",
    `not a session name: ${session}; use letters, digits, "-" and "_"`,
  );
}

/** The error for a caller that wants a new session of a name that is taken. Pure. */
export function sessionExists({ socket }: Pick<Tmux, "socket">, session: string): ServiceError {
  const watch = tmuxAttachLine({ session_name: session, socket });
  return new ServiceError(
    "conflict",
    `tmux session ${session} exists already; look at it with \`${watch}\`, or have another name for the new one`,
  );
}

/** Ends what runs in the pane and starts the person's own shell there. */
export async function respawnShell(tmux: Tmux, paneId: string): Promise<void> {
  const respawn = ["respawn-pane", "-k", "-t", paneId, "--", "/bin/sh", "-c", fallBack];
  await tmux.run([respawn], { exclusive: true });
}

const SESSION = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Where a shell's line finds the standard tools, also when the person's PATH has none of them. */
export const standardPath = "PATH=$PATH:/usr/bin:/bin";

/**
 * The POSIX shell script that becomes the pane's first process. The trap keeps this shell when an interrupt
 * key reaches the whole foreground group before the program has taken the terminal over; the program itself
 * gets the default action, since a subshell resets traps.
 */
export function launchScript(path: string, program: PaneProgram): string {
  const exports = Object.entries(program.env).map(([name, value]) => {
    if (!VARIABLE.test(name)) throw new ServiceError("invalid_request", `not a variable name: ${name}`);
    return `  export ${name}=${quoteShell(value)}`;
  });
  return [
    "#!/bin/sh",
    // A bridge begins meanwhile.
    `${standardPath} rm -f -- ${quoteShell(path)}${program.afterwards === "wait" ? " &" : ""}`,
    "trap : INT QUIT",
    "(",
    ...(exports.length > 0 ? unsetOthers : []),
    `  cd -- ${quoteShell(program.workdir)} || exit`,
    ...exports,
    `  exec ${program.command.map(quoteShell).join(" ")}`,
    ")",
    ...(program.afterwards === "wait" ? waiting : fallingBack),
    "",
  ].join("\n");
}

/** What tmux and the shell set for each pane themselves. */
export const paneVariables: readonly string[] = [
  "TMUX",
  "TMUX_PANE",
  "TERM",
  "TERM_PROGRAM",
  "TERM_PROGRAM_VERSION",
  "TERMCAP",
  "COLUMNS",
  "LINES",
  "WINDOWID",
  "PWD",
  "OLDPWD",
  "SHLVL",
  "_",
];

/** What a shell refuses to forget. */
const readOnlyVariables = ["BASHOPTS", "SHELLOPTS", "UID", "EUID", "PPID"];

const unsetOthers = [
  `  for name in $(${standardPath}; env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do`,
  `    case $name in ${[...paneVariables, ...readOnlyVariables].join("|")}) ;; *) unset "$name" ;; esac`,
  "  done",
];

/** tmux sets SHELL in every pane. */
const fallBack = 'exec "$SHELL" -l';

const fallingBack = [`printf '\\n[the agent ended with exit status %s]\\n' "$?"`, fallBack];

/**
 * Nothing of a person's is begun in such a pane, since the next program takes it without asking; and no key
 * of theirs ends it.
 */
const waiting = [
  "trap '' INT QUIT",
  "printf '[waiting for the next turn]\\n'",
  `${standardPath} exec sleep 2147483647`,
];

/**
 * Escapes an argument that tmux expands as a format. tmux takes each `##` for one `#`, but leaves signs before
 * a `[` as they are, for a style (format_expand1 of tmux 3.2 to 3.5): doubled there, they would name another
 * folder.
 */
const escapeFormat = (text: string): string =>
  text.replace(/(#+)(\[?)/g, (run, signs: string, bracket: string) => (bracket === "" ? signs + signs : run));
