import type { Manifest } from "../../protocol/files.ts";
import type { ExecutionMode } from "../../protocol/gateway.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Processes } from "../../system/processes.ts";
import type { Steps } from "../../system/steps.ts";
import { runtimeSettings } from "../sessions/environment.ts";
import { toExecutionVariables } from "../sessions/execution.ts";
import { type Environment, sessionPaths } from "../sessions/roots.ts";
import type { Tmux } from "../terminal/tmux-command.ts";
import { closeWindow, openWindow } from "../terminal/tmux-window.ts";

export interface StartDeps {
  files: Files;
  ids: Ids;
  steps: Steps;
  processes: Processes;
  env: Environment;
  tmuxFor: (socket: string | undefined) => Tmux;
}

/** A gateway process that we started and that outlives us. */
export interface StartedGateway {
  pid: number;
  /** How it ended, as a clause for people; null while it runs. */
  ended(): string | null;
  /** Ends what was started, process and window. */
  abandon(): Promise<void>;
}

/** Name of the window that a gateway runs in. */
const windowName = "gateway";

/**
 * Starts `command` as the gateway of a session: as a separate process, or in a window of the agent's tmux session,
 * with what it writes to its error stream in gateway.log. Throws when it cannot be started at all.
 */
export async function startGateway(
  deps: StartDeps,
  session: { manifest: Manifest; sessionRoot: string },
  mode: ExecutionMode,
  command: readonly string[],
): Promise<StartedGateway> {
  const { gatewayLog, logRoot } = sessionPaths(session.sessionRoot);
  deps.files.ensureDirectory("file:gateway-folder", logRoot);
  // The shell of a window would make it readable to others.
  deps.files.append("file:gateway-log", gatewayLog, "");
  const env = gatewayEnvironment(deps.env, session.manifest.tmux.socket);
  const where = { workdir: session.sessionRoot, errorPath: gatewayLog };
  return mode === "detached_process"
    ? startProcess(deps, command, { ...where, env })
    : startInWindow(deps, session, command, { ...where, env });
}

interface Place {
  workdir: string;
  errorPath: string;
  env: Record<string, string>;
}

function startProcess({ processes }: StartDeps, command: readonly string[], place: Place): StartedGateway {
  const child = processes.detach("process:gateway", command, {
    env: { ...place.env, ...toExecutionVariables({ executionMode: "detached_process" }) },
    cwd: place.workdir,
    logPath: place.errorPath,
  });
  let end: string | null = null;
  void child.exited.then((code) => {
    end = `ended with exit code ${code}`;
  });
  return {
    pid: child.pid,
    ended: () => end,
    abandon: async () => void processes.signal(child.pid, "SIGTERM"),
  };
}

async function startInWindow(
  deps: StartDeps,
  { manifest, sessionRoot }: { manifest: Manifest; sessionRoot: string },
  command: readonly string[],
  place: Place,
): Promise<StartedGateway> {
  const { processes } = deps;
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const session = manifest.tmux_session_name;
  const windows = { ...deps, tmux, folder: sessionPaths(sessionRoot).gatewayRoot };
  const { handles, pid } = await openWindow(windows, session, windowName, (auxiliaryWindow) => ({
    ...place,
    command,
    env: {
      ...place.env,
      ...toExecutionVariables({ executionMode: "tmux_auxiliary_window", auxiliaryWindow }),
    },
  })).catch(async (error: unknown) => {
    throw (await tmux.hasSession(session)) ? error : sessionGone(manifest);
  });
  return {
    pid,
    ended: () => (processes.alive(pid) ? null : "ended"),
    async abandon() {
      processes.signal(pid, "SIGTERM");
      await closeWindow(tmux, session, handles);
    },
  };
}

function sessionGone({ agent_name: name, tmux_session_name: session }: Manifest): ServiceError {
  return new ServiceError(
    "unavailable",
    `tmux session ${session} of "${name}" is gone. Start the agent again with: svc-mgr agents single --agent-name ${name} relaunch`,
  );
}

/** What a gateway inherits: everything but the pane we happen to run in, and the tmux server of its agent. */
function gatewayEnvironment(env: Environment, socket: string | undefined): Record<string, string> {
  const ofThisPane = new Set([
    ...["TMUX", "TMUX_PANE", "SVC_MANIFEST_PATH", "SVC_AGENT_ID", "SVC_TMUX_SOCKET"],
    ...["SVC_GATEWAY_EXECUTION_MODE", "SVC_GATEWAY_TMUX_WINDOW_ID"],
    ...["SVC_GATEWAY_TMUX_WINDOW_INDEX", "SVC_GATEWAY_TMUX_PANE_ID"],
  ]);
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !ofThisPane.has(entry[0]),
  );
  return {
    ...Object.fromEntries(kept),
    ...(socket === undefined ? {} : { SVC_TMUX_SOCKET: socket }),
    ...runtimeSettings,
  };
}
