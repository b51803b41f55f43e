import { type Clock, sleep } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Output, Processes } from "../../../system/processes.ts";
import type { Steps } from "../../../system/steps.ts";
import type { TmuxMutex } from "./mutex.ts";
import {
  exactSession,
  exactWindow,
  quoteArgument,
  showFormat,
  type TmuxCommand,
  TmuxError,
  type TmuxTransport,
  tmuxCommand,
  toArguments,
} from "./protocol.ts";

/** A pane of a session, as `list-panes` shows it. */
export interface TmuxPane {
  sessionId: string;
  /** Seconds since the epoch. */
  sessionCreated: number;
  windowId: string;
  windowIndex: number;
  windowName: string;
  paneId: string;
  panePid: number;
  dead: boolean;
  width: number;
  height: number;
}

export interface TmuxSession {
  name: string;
  sessionId: string;
  sessionCreated: number;
}

/**
 * tmux by one process per command (about 2 ms), for what happens without a connection. A session is named by
 * the name that it had when a launch or a join of ours marked it, also after a person renamed it; one without
 * a mark by its whole name. Reading never starts a server: without one there are no sessions. Failures that
 * are not answers throw TmuxError: `refused` with tmux's message.
 */
export interface Tmux extends TmuxTransport {
  /** As `tmuxCommand`: what a control connection must be given to reach the same server. */
  socket: string | undefined;
  /** `3.3a`, or null when there is no tmux on PATH. */
  version(): Promise<string | null>;
  hasSession(session: string): Promise<boolean>;
  sessions(): Promise<TmuxSession[]>;
  /** The sessions that a launch of ours marked, and the marks. */
  sessionMarks(): Promise<{ name: string; mark: string }[]>;
  /** Marks a session that exists, and keeps its name with it; null takes both away. */
  setMark(label: string, session: string, mark: string | null): Promise<void>;
  /**
   * Absolute path of the server's socket, in the server's own words: one server, one path. The session must
   * exist.
   */
  socketPath(session: string): Promise<string>;
  /** Every pane of every window, in order; empty when there is no such session. */
  panes(session: string): Promise<TmuxPane[]>;
  /** The name by which we know the session that is called `name` now. */
  recordedName(name: string): Promise<string>;
  /** The reverse: what the session is called now; null when there is none. */
  currentName(session: string): Promise<string | null>;
  /** Variables of the session's own environment; null when there is no such session. */
  environment(session: string): Promise<Record<string, string> | null>;
  /** Sets (or with null unsets) variables of the session. Values never appear in an argument list. */
  setEnvironment(label: string, session: string, values: Record<string, string | null>): Promise<void>;
  /** Ends exactly this session; false when there was none. Processes in it may live on: end them by pid. */
  killSession(label: string, session: string): Promise<boolean>;
  /** Ends one window by its id (`@3`); false when there was none. */
  killWindow(label: string, windowId: string): Promise<boolean>;
  /**
   * `keep`: the pane stays when its last process ends, and so does the session until `killSession`; else what
   * its window says holds again. False when there was no such pane.
   */
  keepPane(label: string, paneId: string, keep: boolean): Promise<boolean>;
  /**
   * The whole command that shows a session in the terminal it is given, or in `client`, which is one of this
   * server. Rejects when the server must not be used.
   */
  attachCommand(session: string, client: string | null): Promise<string[]>;
  /**
   * The terminal client that shows the session of this pane of the server, the one used last; null when none
   * does. Left to itself tmux 3.3a takes any client, a control connection of a gateway included.
   */
  clientOf(paneId: string): Promise<string | null>;
  /** As of each transport. */
  run(commands: readonly TmuxCommand[], options?: RunOptions): Promise<string[]>;
}

interface RunOptions {
  /** Allows tmux to start a server. */
  startServer?: boolean;
  /** For a command that may crash a server: see `TmuxMutex`. */
  exclusive?: boolean;
  input?: string;
}

const startMs = 10_000;
const answerMs = 5000;
const hungMs = 500;

export function createTmux(deps: {
  processes: Processes;
  steps: Steps;
  clock: Clock;
  mutex: TmuxMutex;
  /** See `tmuxCommand`. */
  socket?: string | undefined;
  /**
   * Why what is at the socket's path is no server to be used, or null. Asked before each command: such a
   * server counts as absent, and none is started in its place.
   */
  refusal?: () => string | null;
  /** Why no server is started there, or null; asked after `refusal`. */
  startRefusal?: () => string | null;
  /** Called before a server may be started. */
  beforeStart?: () => void;
}): Tmux {
  const { processes, steps, clock, mutex } = deps;
  const command = tmuxCommand(deps.socket);

  /** A server that did not answer once is not waited for that long again until it does. */
  let hangs = false;

  async function attempt(commands: readonly TmuxCommand[], options: RunOptions = {}) {
    const refusal = deps.refusal?.();
    if (options.startServer) {
      const problem = refusal ?? deps.startRefusal?.();
      if (problem) throw new ServiceError("precondition_failed", problem);
      deps.beforeStart?.();
    }
    if (refusal) return { exitCode: 1, stdout: "", stderr: `no server running on ${deps.socket}` };
    const argv = [...command, ...(options.startServer ? [] : ["-N"]), ...toArguments(commands)];
    const timeoutMs = hangs ? hungMs : options.startServer ? startMs : answerMs;
    const release = options.exclusive ? await mutex.take() : null;
    try {
      const output = await processes.run(argv, {
        timeoutMs,
        ...(options.input === undefined ? {} : { input: options.input }),
      });
      hangs = output.exitCode === null;
      return output;
    } catch (error) {
      throw new ServiceError("precondition_failed", "tmux is not installed or not on PATH", { cause: error });
    } finally {
      release?.();
    }
  }

  /**
   * A server whose last session has just ended may still take a connection and then leave without having done
   * anything: who may start a server asks the next one. One that is met twice may be kept from leaving;
   * helped away, it is given 2 s to leave.
   */
  async function run(commands: readonly TmuxCommand[], options: RunOptions = {}): Promise<string[]> {
    for (let met = 1; ; met++) {
      const output = await attempt(commands, options);
      if (output.exitCode === 0) return toLines(output.stdout);
      if (!options.startServer || met > maxLeavingServers || !LEAVING.test(output.stderr))
        throw refused(output);
      if (met > 2) await sleep(clock, leavingMs);
      if (met > 1) await endClientsOfLeavingServer(processes, command);
    }
  }

  /** Null when tmux says that the thing, or the whole server, is not there. */
  async function runOrAbsent(command: TmuxCommand, options: RunOptions = {}): Promise<string[] | null> {
    const output = await attempt([command], options);
    if (output.exitCode === 0) return toLines(output.stdout);
    if (ABSENT.test(output.stderr)) return null;
    throw refused(output);
  }

  const did = async (command: TmuxCommand, options?: RunOptions) =>
    (await runOrAbsent(command, options)) !== null;

  const listed = async (command: TmuxCommand): Promise<string[]> => (await runOrAbsent(command)) ?? [];

  async function step<T>(label: string, act: () => Promise<T>): Promise<T> {
    steps.before(label);
    const result = await act();
    steps.after(label);
    return result;
  }

  /** `format` of the session; null when there is none. */
  async function ofSession(session: string, format: string): Promise<string | null> {
    const query = ["list-sessions", "-f", sessionFilter(session), "-F", `${isMarked(session)} ${format}`];
    return markedFirst(await listed(query))[0] ?? null;
  }

  const find = (session: string) => ofSession(session, "#{session_id}");

  async function findExisting(session: string): Promise<string> {
    const id = await find(session);
    if (id === null) throw new TmuxError("refused", `tmux: can't find session: ${session}`);
    return id;
  }

  const currentName = (session: string) => ofSession(session, "#{session_name}");

  return {
    socket: deps.socket,
    run,
    currentName,
    async attachCommand(session, client) {
      const refusal = deps.refusal?.();
      if (refusal) throw new ServiceError("precondition_failed", refusal);
      const attach = client === null ? ["attach-session"] : ["switch-client", "-c", client];
      return [...command, "-N", ...attach, "-t", exactSession((await currentName(session)) ?? session)];
    },
    async clientOf(paneId) {
      const [session = ""] = await listed(showFormat(paneId, "#{session_id}"));
      if (session === "") return null;
      const format = "#{client_control_mode} #{client_activity} #{client_name}";
      const clients = await listed(["list-clients", "-t", session, "-F", format]);
      const seen = clients.flatMap((line) => {
        const match = /^0 (\d+) (.+)$/.exec(line);
        return match ? [{ activity: Number(match[1]), name: match[2] ?? "" }] : [];
      });
      return seen.sort((one, other) => other.activity - one.activity)[0]?.name ?? null;
    },
    async version() {
      if (processes.which("tmux") === null) return null;
      const output = await attempt([["-V"]]);
      return /tmux (\S+)/.exec(output.stdout)?.[1] ?? null;
    },
    hasSession: async (session) => (await find(session)) !== null,
    async sessions() {
      const format = `#{session_id} #{session_created} ${RECORDED_NAME}`;
      return (await listed(["list-sessions", "-F", format])).flatMap((line) => {
        const match = /^(\$\d+) (\d+) (.*)$/.exec(line);
        if (!match) return [];
        return [{ sessionId: match[1] ?? "", sessionCreated: Number(match[2]), name: match[3] ?? "" }];
      });
    },
    async sessionMarks() {
      const format = `${RECORDED_NAME}\t#{${markName}}`;
      return (await listed(["list-sessions", "-F", format])).flatMap((line) => {
        const [name = "", mark = ""] = line.split("\t");
        return mark === "" ? [] : [{ name, mark }];
      });
    },
    async socketPath(session) {
      const path = await ofSession(session, "#{socket_path}");
      if (path === null) throw new TmuxError("refused", `tmux: can't find session: ${session}`);
      return path;
    },
    async panes(session) {
      return parsePanes(await listed(listPanes(session)));
    },
    async recordedName(name) {
      const [recorded] = await listed(showFormat(exactWindow(name), RECORDED_NAME));
      return recorded || name;
    },
    async environment(session) {
      const id = await find(session);
      const found = id === null ? null : await runOrAbsent(["show-environment", "-t", id]);
      if (found === null) return null;
      const pairs = found.flatMap((line) => {
        const equals = line.indexOf("=");
        return equals > 0 ? [[line.slice(0, equals), line.slice(equals + 1)] as const] : [];
      });
      return Object.fromEntries(pairs);
    },
    setEnvironment: (label, session, values) =>
      step(label, async () => {
        if (Object.keys(values).length === 0) return;
        const target = quoteArgument(await findExisting(session));
        const script = Object.entries(values).map(([name, value]) => {
          if (!VARIABLE.test(name)) throw new ServiceError("invalid_request", `not a variable name: ${name}`);
          return value === null
            ? `set-environment -u -t ${target} ${name}\n`
            : `set-environment -t ${target} ${name} ${quoteArgument(value)}\n`;
        });
        await run([["source-file", "-"]], { input: script.join("") });
      }),
    setMark: (label, session, mark) =>
      step(label, async () => {
        await run(markCommands(`${await findExisting(session)}:`, session, mark));
      }),
    killSession: (label, session) =>
      step(label, async () => {
        const id = await find(session);
        return id !== null && (await did(["kill-session", "-t", id], { exclusive: true }));
      }),
    killWindow: (label, windowId) =>
      step(label, () => did(["kill-window", "-t", windowId], { exclusive: true })),
    keepPane: (label, paneId, keep) =>
      step(label, () =>
        did(["set-option", keep ? "-p" : "-pu", "-t", paneId, "remain-on-exit", ...(keep ? ["on"] : [])]),
      ),
  };
}

/**
 * Identifies the instance of the agent by the creation of the session, its pane and the pane's first process:
 * a new session, another pane and a relaunch in place are each a new instance (ruling 5).
 */
export function instanceId(
  pane: Pick<TmuxPane, "sessionId" | "sessionCreated" | "paneId" | "panePid">,
): string {
  return `tmux-${pane.sessionCreated}-${pane.sessionId}-${pane.paneId}-${pane.panePid}`;
}

/**
 * The agent's pane among all panes of its session: the recorded one, or without a record the first pane of
 * window 0. Null when it is not there; the pane of another window never stands in for it.
 */
export function agentPane(panes: readonly TmuxPane[], recordedPaneId: string | null): TmuxPane | null {
  const found = panes.find((pane) =>
    recordedPaneId === null ? pane.windowIndex === 0 : pane.paneId === recordedPaneId,
  );
  return found ?? null;
}

/**
 * Options of the session, which nothing that runs in it inherits: its mark, and the name that it had then.
 */
const markName = "@svc_launch";
const nameOption = "@svc_session";

/** Sets or, with null, takes away the mark of a session at `target`. */
export function markCommands(target: string, session: string, mark: string | null): TmuxCommand[] {
  const values = { [markName]: mark, [nameOption]: mark === null ? null : session };
  return Object.entries(values).map(([option, value]) => [
    "set-option",
    ...(value === null ? ["-u", "-t", target, option] : ["-t", target, option, value]),
  ]);
}

/** A condition; the option alone is none, since the name `0` is false to tmux. */
const HAS_NAME = `#{!=:#{${nameOption}},}`;

/** A format: the name by which we know a session. */
export const RECORDED_NAME = `#{?${HAS_NAME},#{${nameOption}},#{session_name}}`;

const isMarked = (session: string) => `#{==:#{${nameOption}},${escapeValue(session)}}`;

/** Holds for the session that was marked with this name, and for one of this name without a mark. */
function sessionFilter(session: string): string {
  const name = escapeValue(session);
  return `#{?${HAS_NAME},${isMarked(session)},#{==:#{session_name},${name}}}`;
}

/** A name within a format of tmux. */
const escapeValue = (text: string) => text.replace(/[#,}]/g, "#$&");

/** Prints the lines that `parsePanes` reads. */
export function listPanes(session: string): TmuxCommand {
  const format = `${isMarked(session)} ${PANE_FORMAT}`;
  return ["list-panes", "-a", "-f", sessionFilter(session), "-F", format];
}

export function parsePanes(answer: readonly string[]): TmuxPane[] {
  return markedFirst(answer).flatMap(parsePane);
}

/** The lines of the marked session; without one those of the session of the name. */
function markedFirst(answer: readonly string[]): string[] {
  const marked = answer.filter((line) => line.startsWith("1 "));
  return (marked.length > 0 ? marked : answer).map((line) => line.slice(2));
}

export const PANE_FORMAT = [
  "#{session_id}",
  "#{session_created}",
  "#{window_id}",
  "#{window_index}",
  "#{pane_id}",
  "#{pane_pid}",
  "#{?pane_dead,1,0}",
  "#{pane_width}",
  "#{pane_height}",
  "#{window_name}",
].join(" ");

const PANE = /^(\$\d+) (\d+) (@\d+) (\d+) (%\d+) (\d+) ([01]) (\d+) (\d+) (.*)$/;

/** One line of `PANE_FORMAT`; a line of a pane that vanished meanwhile does not match and is left out. */
export function parsePane(line: string): TmuxPane[] {
  const [, session = "", created, window = "", index, pane = "", pid, dead, width, height, name = ""] =
    PANE.exec(line) ?? [];
  if (session === "") return [];
  return [
    {
      sessionId: session,
      sessionCreated: Number(created),
      windowId: window,
      windowIndex: Number(index),
      windowName: name,
      paneId: pane,
      panePid: Number(pid),
      dead: dead === "1",
      width: Number(width),
      height: Number(height),
    },
  ];
}

const LEAVING = /server exited unexpectedly|lost server/;
const maxLeavingServers = 40;
const leavingMs = 50;

/** The words of tmux 3.3a for a thing, any session, or a server that is not there. */
const ABSENT =
  /can't find|no such|no current target|no sessions|no server running|server exited|lost server|error connecting to .*(No such file|refused)/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

function toLines(output: string): string[] {
  return output === "" ? [] : output.replace(/\n$/, "").split("\n");
}

function refused(output: Output): TmuxError {
  if (output.exitCode === null) return new TmuxError("refused", "tmux: the server does not answer");
  const words = output.stderr.trim().split("\n").pop() ?? "";
  return new TmuxError("refused", `tmux: ${words || `exit code ${output.exitCode}`}`);
}

/**
 * Ends the control clients on a tmux server that is leaving and does not get away: tmux 3.3a waits for ever
 * for one whose gateway was killed with output unread, and meanwhile refuses new clients. No session of such
 * a server is left, so a client of a living gateway loses nothing. `command` is how we call tmux: program,
 * then what names the server.
 */
async function endClientsOfLeavingServer(
  processes: Pick<Processes, "tree" | "signal">,
  command: readonly string[],
): Promise<void> {
  const server = command.slice(1);
  for (const { pid, argv } of await processes.tree(1)) {
    const called = argv.slice(1, 1 + server.length);
    const ours = argv.includes("-C") && argv.includes("ignore-size,no-output");
    if (ours && called.every((word, index) => word === server[index]) && called.length === server.length)
      processes.signal(pid, "SIGKILL");
  }
}

/**
 * Ends the control clients that dead gateways of `session` left: tmux 3.3a may keep one for ever whose output
 * nobody reads any more, and the agent would in time hang on it. Only for the holder of the session's gateway
 * lock and has not attached yet: then every client that attached in our way is such a one. Returns their
 * pids.
 */
export async function endStrayClients(
  deps: { tmux: Tmux; mutex: TmuxMutex; processes: Processes },
  session: string,
): Promise<number[]> {
  const { tmux, mutex, processes } = deps;
  const name = await tmux.currentName(session);
  if (name === null) return [];
  const clients = await controlClients(tmux, name);
  if (clients.length === 0) return [];
  const release = await mutex.take();
  try {
    const ended: number[] = [];
    for (const pid of clients) {
      const [client] = await processes.tree(pid);
      const argv = client?.argv ?? [];
      const ours =
        argv.includes("-C") &&
        argv.includes("ignore-size,no-output") &&
        [session, name].some((one) => argv.at(-1) === exactSession(one));
      if (ours && processes.signal(pid, "SIGKILL")) ended.push(pid);
    }
    // tmux has heard of their end when it lists them no more.
    for (let looks = 0; ended.length > 0 && looks < MOST_LOOKS; looks++) {
      const left = await controlClients(tmux, name).catch(() => []);
      if (!left.some((pid) => ended.includes(pid))) break;
    }
    return ended;
  } finally {
    release();
  }
}

/** Each is a separate process, which takes some milliseconds. */
const MOST_LOOKS = 20;

async function controlClients(tmux: Tmux, session: string): Promise<number[]> {
  const format = "#{client_pid} #{client_control_mode}";
  const clients = await tmux.run([["list-clients", "-t", exactSession(session), "-F", format]]);
  return clients.flatMap((line) => {
    const [pid, control] = line.split(" ");
    return control === "1" ? [Number(pid)] : [];
  });
}
