import { join } from "node:path";
import type { Manifest } from "../../protocol/files.ts";
import type { ExecutionMode } from "../../protocol/gateway.ts";
import type { TrackingTimings } from "../../protocol/terminal.ts";
import { sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import type { Steps } from "../../system/steps.ts";
import { backendFacts } from "../agent/backends.ts";
import { environmentWithout, runtimeSettings, toExecutionVariables } from "../sessions/environment.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { gatewayIdentity } from "../sessions/manifest.ts";
import { type Environment, sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { closeWindow, openWindow } from "../terminal/tmux/window.ts";
import { sessionGone } from "./diagnose-agent.ts";
import { type GatewayLink, linkGateway } from "./gateway-link.ts";
import { type ClaimDeps, clearClaims, settleClaims } from "./liveness.ts";

export interface AttachDeps extends ClaimDeps, StartDeps {
  locks: Locks;
  /** The command that starts this program as a gateway; the session root and the options are appended. */
  serveCommand: readonly string[];
}

/** What becomes of the requests that were accepted for an earlier instance of the agent. */
export type Reconciliation = "drop" | "keep";

/** Options for the gateway; an omitted one is taken from the session's desired-config.json. */
interface AttachWish {
  host?: string | undefined;
  port?: number | undefined;
  allowUnauthenticated?: boolean | undefined;
  /** Ask for no token from now on, although the session asked for one before. */
  noToken?: boolean | undefined;
  /** Web pages that may call; not kept for later starts. */
  allowOrigins?: readonly string[] | undefined;
  executionMode?: ExecutionMode | undefined;
  timings?: Partial<TrackingTimings> | undefined;
  /**
   * Where mail may take attachments from, besides the working directory; applied to a gateway that runs too.
   */
  attachmentRoots?: readonly string[] | undefined;
  /** Base address of the collector that gets traces, or `none`; for a gateway that starts. */
  otlpEndpoint?: string | undefined;
  /** Work with the agent's present instance (ruling 5). */
  reconcile?: Reconciliation | undefined;
}

export interface Attached {
  link: Extract<GatewayLink, { state: "healthy" }>;
  /**
   * False when a healthy gateway was there already; the wishes were then not applied, except to reconcile.
   */
  started: boolean;
}

type Session = Pick<FoundAgent, "manifest" | "sessionRoot">;

const readyWithinMs = 10_000;
const pollIntervalMs = 20;
const logRows = 15;

/**
 * Makes sure that a healthy gateway serves this agent. A healthy one is left as it is; otherwise starts one
 * that outlives this process, and keeps its options for later starts. Idempotent, also when called twice at
 * once. Throws `unsupported` for a backend that no gateway serves, and `unavailable` with the gateway's
 * message when it ends or is not healthy within 10 s (it is then gone again), or when one that was there does
 * not reconcile. Source: contract 4.4 rule 7.
 */
export async function attachGateway(deps: AttachDeps, agent: Session, wish: AttachWish): Promise<Attached> {
  const { manifest, sessionRoot } = agent;
  const { refusal } = backendFacts(manifest.backend);
  if (refusal !== null) {
    throw new ServiceError(
      "unsupported",
      `no gateway attaches to "${manifest.agent_name}" (${manifest.backend}): ${refusal}`,
    );
  }
  const { gatewayRoot } = sessionPaths(sessionRoot);
  deps.files.ensureDirectory("file:gateway-folder", gatewayRoot);
  const { attachmentRoots, otlpEndpoint } = wish;
  if (attachmentRoots !== undefined || otlpEndpoint !== undefined)
    openSessionFolder(deps.files, sessionRoot).saveWish({ attachmentRoots, otlpEndpoint });
  return deps.locks.hold(
    join(gatewayRoot, "attach.lock"),
    async () => {
      const link = await linkOf(deps, agent);
      await settleClaims(deps, agent, link);
      if (link.state === "healthy") {
        const settled = wish.reconcile ? await reconcile(deps, agent, link, wish.reconcile) : link;
        return { link: settled, started: false };
      }
      return { link: await start(deps, agent, wish), started: true };
    },
    { timeoutMs: 2 * readyWithinMs },
  );
}

const linkOf = (deps: AttachDeps, { manifest, sessionRoot }: Session) =>
  linkGateway(deps, { sessionRoot, attachIdentity: gatewayIdentity(manifest).attachIdentity });

/** Reads the link again afterwards: the earlier one still shows a closed queue. */
async function reconcile(
  deps: AttachDeps,
  agent: Session,
  { client }: Attached["link"],
  how: Reconciliation,
): Promise<Attached["link"]> {
  const response = await client.call(how === "keep" ? "keepRequests" : "reconcile", {});
  if (response.kind !== "ok") {
    throw new ServiceError("unavailable", `the gateway was not reconciled: ${response.detail}`);
  }
  const link = await linkOf(deps, agent);
  if (link.state === "healthy") return link;
  throw new ServiceError("unavailable", `the gateway was reconciled and is gone again: ${link.why}`);
}

async function start(deps: AttachDeps, agent: Session, wish: AttachWish): Promise<Attached["link"]> {
  const { files } = deps;
  const { gatewayLog } = sessionPaths(agent.sessionRoot);
  const executionMode =
    wish.executionMode ??
    openSessionFolder(files, agent.sessionRoot).readDesiredConfig().desired_execution_mode;
  const before = files.read(gatewayLog)?.length ?? 0;
  const command = [...deps.serveCommand, "--session-root", agent.sessionRoot, ...toArguments(wish)];
  const gateway = await startGateway(deps, agent, executionMode, command);
  const outcome = await becomesHealthy(deps, agent, gateway);
  if (typeof outcome !== "string") {
    openSessionFolder(files, agent.sessionRoot).saveWish({ ...wish, executionMode });
    return outcome;
  }
  if (gateway.ended() === null) await gateway.abandon();
  await clearClaims(deps, agent, gateway.pid);
  const said = (files.read(gatewayLog) ?? "").slice(before).trimEnd().split("\n").slice(-logRows).join("\n");
  throw new ServiceError("unavailable", `the gateway ${outcome}${said ? `:\n${said}` : ""}`);
}

/** What the gateway's own flags say; everything else it reads in the session itself. */
function toArguments(wish: AttachWish): string[] {
  const timings = Object.entries(wish.timings ?? {});
  return [
    ...(wish.host === undefined ? [] : ["--host", wish.host]),
    ...(wish.port === undefined ? [] : ["--port", String(wish.port)]),
    ...(wish.allowUnauthenticated ? ["--allow-unauthenticated"] : []),
    ...(wish.noToken ? ["--no-token"] : []),
    ...(wish.allowOrigins ?? []).flatMap((origin) => ["--allow-origin", origin]),
    ...timings.flatMap(([timing, value]) => [`--tui-${timing.replaceAll("_", "-")}`, String(value)]),
    ...(wish.reconcile ? [wish.reconcile === "keep" ? "--keep-requests" : "--reconcile"] : []),
  ];
}

/** The link once the started process answers, or a clause that says why it never did. */
async function becomesHealthy(
  deps: AttachDeps,
  agent: Session,
  gateway: StartedGateway,
): Promise<Attached["link"] | string> {
  const { clock } = deps;
  const deadlineMs = clock.monotonicMs() + readyWithinMs;
  for (;;) {
    const link = await linkOf(deps, agent);
    if (link.state === "healthy") return link;
    const ended = gateway.ended();
    if (ended !== null) return ended;
    if (clock.monotonicMs() >= deadlineMs) return `was not healthy within 10 s (${link.why})`;
    await sleep(clock, pollIntervalMs);
  }
}

interface StartDeps {
  files: Files;
  ids: Ids;
  steps: Steps;
  processes: Processes;
  env: Environment;
  tmuxFor: (socket: string | undefined) => Tmux;
}

/** A gateway process that we started and that outlives us. */
interface StartedGateway {
  pid: number;
  /** How it ended, as a clause for people; null while it runs. */
  ended(): string | null;
  /** Ends what was started, process and window. */
  abandon(): Promise<void>;
}

/** Name of the window that a gateway runs in. */
const windowName = "gateway";

/**
 * Starts `command` as the gateway of a session, as a separate process or in a window of the agent's tmux
 * session. Its error stream goes to gateway.log. Throws when it cannot be started at all.
 */
async function startGateway(
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
    throw (await tmux.hasSession(session)) ? error : sessionGone({ manifest, record: null });
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

/** What a gateway inherits: everything but the pane we happen to run in, and the tmux server of its agent. */
function gatewayEnvironment(env: Environment, socket: string | undefined): Record<string, string> {
  const ofThisPane = [
    "TMUX",
    "TMUX_PANE",
    "SVC_MANIFEST_PATH",
    "SVC_AGENT_ID",
    "SVC_TMUX_SOCKET",
    "SVC_GATEWAY_EXECUTION_MODE",
    "SVC_GATEWAY_TMUX_WINDOW_ID",
    "SVC_GATEWAY_TMUX_WINDOW_INDEX",
    "SVC_GATEWAY_TMUX_PANE_ID",
  ];
  return {
    ...environmentWithout(env, ofThisPane),
    ...(socket === undefined ? {} : { SVC_TMUX_SOCKET: socket }),
    ...runtimeSettings,
  };
}
