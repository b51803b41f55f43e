import type { PermissionPolicy } from "../../protocol/acp-launch.ts";
import type { Manifest, RegistryRecord, TeamOwner } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { type Clock, toTimestamp } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Processes } from "../../system/processes.ts";
import type { Steps } from "../../system/steps.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux/command.ts";
import { checkSessionName, createLauncher, type PaneProgram } from "../terminal/tmux/launch.ts";
import { acpEnvironment, toAcpLaunch } from "./acp-tools.ts";
import { planEnvironment } from "./environment.ts";
import { awaitProcessReady, launchMark } from "./launch-mark.ts";
import type { LaunchTool } from "./launch-tools.ts";
import { buildManifest, type ManifestStore } from "./manifest.ts";
import {
  checkedAgentId,
  checkedName,
  defaultAgentId,
  headlessBackend,
  localInteractive,
  newSessionId,
  newTmuxSessionName,
  refuseNameConflict,
  runsAlready,
} from "./names.ts";
import { carryNotifierOver, type NotifierCarryOver } from "./notifier-carry-over.ts";
import { refuseOrphanName } from "./orphans.ts";
import { endSession, toKnown } from "./process-tree.ts";
import { buildRecord, type SessionAlive } from "./record.ts";
import type { Registry } from "./registry.ts";
import { type Environment, removeSession, sessionPaths, sessionRootOf } from "./roots.ts";
import { openSessionFolder } from "./session-folder.ts";
import { type Role, roleArguments, withRole } from "./tool-arguments.ts";
import { type PlannedSignals, type PlanSignals, withSignals, writeHandover } from "./tool-signals.ts";
import { refuseExposed } from "./trust.ts";

export interface LaunchRequest {
  tool: LaunchTool;
  agentName: string;
  /** Default: the MD5 of the name. */
  agentId?: string | undefined;
  /** Absolute. */
  workdir: string;
  /** The person's own arguments for the tool, after everything we add. */
  args: readonly string[];
  /** Set for the agent's program on top of the person's environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Another home of the tool, absolute. */
  home?: string | undefined;
  /** Default: `SVC-<name>-<ms>`. */
  tmuxSessionName?: string | undefined;
  /** By the tool's own flag in a terminal, else with the first prompt of each conversation. */
  role?: Role | undefined;
  /** Adds the tool's flags that skip permissions or sandboxes (ruling 19). */
  unattended?: boolean | undefined;
  /** The tool is not asked to report what it does. */
  noSignals?: boolean | undefined;
  /** No terminal program: each turn is a separate process, started by the gateway. */
  headless?: HeadlessWish | undefined;
  /** The team file that owns the agent; without one it belongs to no team. */
  team?: TeamOwner | undefined;
  /** The agent that an `up` of an earlier version, which recorded no owner, launched for `team`. */
  agentOfEarlierUp?: string | null;
  /** Cancels the launch and undoes its steps. */
  signal?: AbortSignal | undefined;
}

/** How the turns of a headless agent are run unless a request says otherwise. */
export interface HeadlessWish {
  displayStyle: string;
  displayDetail: string;
  model: string | undefined;
  reasoningLevel: number | undefined;
  /** Of an ACP agent: what is answered without a person. */
  policy?: PermissionPolicy | undefined;
}

export interface LaunchedSession {
  manifest: Manifest;
  manifestPath: string;
  sessionRoot: string;
  record: RegistryRecord;
}

/**
 * A session that began under an agent's name, and the notifier settings that it took over from the session
 * before.
 */
export interface NewSession extends LaunchedSession {
  notifier: NotifierCarryOver;
}

/** What a launch and a join need. `tmux`: the server of the agent's session. */
export interface SessionDeps {
  files: Files;
  ids: Ids;
  clock: Clock;
  processes: Processes;
  steps: Steps;
  tmux: Tmux;
  registry: Registry;
  sessionAlive: SessionAlive;
  manifests: ManifestStore;
  runtimeRoot: string;
}

export interface LaunchDeps extends SessionDeps {
  /** Whose own CLI, configuration and login the agent runs with. */
  personEnvironment: Environment;
  planSignals: PlanSignals;
}

const endGraceMs = 2000;

/**
 * Starts an agent in a new tmux session and makes it findable: program seen in the pane, manifest,
 * gateway folder, registry record, in this order. All or nothing: on any failure the program, the session and
 * the files are gone again. Throws ServiceError: `invalid_request` for a bad name, id or folder,
 * `precondition_failed` when tmux or the tool is missing, `conflict` when the agent already runs,
 * `dispatch_failed` with the end of the screen when the program did not stay.
 */
export async function launchAgent(deps: LaunchDeps, given: LaunchRequest): Promise<NewSession> {
  const request = withAcp(deps, given);
  const { files, ids, clock, tmux, registry, manifests } = deps;
  const plan = await planLaunch(deps, request);
  const undo: (() => unknown)[] = [];
  try {
    undo.push(() => removeOwn(files, deps.runtimeRoot, plan.sessionRoot));
    files.ensureDirectory("file:session-folder", plan.sessionRoot);
    refuseExposed(files, plan.sessionRoot, "the session folder");
    if (plan.signals) writeHandover(files, plan.sessionRoot, plan.signals.handover);

    const launcher = createLauncher({ tmux, files, ids, steps: deps.steps, folder: plan.sessionRoot });
    const launching = launcher.launch({
      session: plan.tmuxSessionName,
      sessionEnv: plan.published,
      mark: launchMark(deps.processes, {
        agentName: plan.agentName,
        origin: "launched",
        registryRoot: registry.root,
        manifestPath: plan.manifestPath,
      }),
      ...(plan.signals ? withHandover(plan, plan.signals) : waitingProgram),
      workdir: request.workdir,
    });
    const pane = await launching.catch((error: unknown) => {
      // The name of a session has a time: one that is taken is of a launch of the same agent in the same
      // millisecond.
      const isTaken = request.tmuxSessionName === undefined && isConflict(error);
      throw isTaken ? startedMeanwhile(plan, tmux) : error;
    });
    undo.push(() => undoSession(deps, plan.tmuxSessionName, pane));
    const agent = request.headless ? null : await awaitProcessReady(deps, request.tool, pane, request.signal);

    const built = buildManifest({
      createdAtUtc: toTimestamp(clock.nowMs()),
      tool: request.tool.tool,
      agentName: plan.agentName,
      agentId: plan.agentId,
      sessionId: plan.sessionId,
      generationId: ids.uuid(),
      workdir: request.workdir,
      executable: plan.command[0],
      args: plan.command.slice(1),
      home: plan.home,
      envVarNames: [...Object.keys(request.env ?? {}), ...(plan.home ? [plan.home.envVar] : [])],
      ...(request.headless
        ? { headless: { ...request.headless, ...acpOf(request), backend: plan.backend, life: ids.uuid() } }
        : {}),
      unattendedArgs: request.unattended ? request.tool.unattendedArgs : null,
      tmux: {
        sessionName: plan.tmuxSessionName,
        windowName: pane.windowName,
        windowId: pane.windowId,
        paneId: pane.paneId,
        socket: await tmux.socketPath(plan.tmuxSessionName),
      },
      agent: toKnown(deps.processes, agent),
    });
    const described = plan.signals ? withSignals(built, plan.signals.record) : built;
    const manifest = request.role ? withRole(described, request.role, "role_file") : described;
    const session = { manifest, manifestPath: plan.manifestPath, sessionRoot: plan.sessionRoot };
    if (request.headless) openSessionFolder(files, plan.sessionRoot).saveLaunchVariables(request.env ?? {});
    await manifests.write(plan.manifestPath, manifest);
    openSessionFolder(files, session.sessionRoot).seed(session.manifest);
    const { team } = request;
    const previous = registry.read(plan.agentId);
    // An agent of another owner had this name: its settings are none of this agent's.
    const isSameOwner =
      previous?.team?.file === team?.file ||
      (previous?.team === undefined && previous?.agent_id === request.agentOfEarlierUp);
    const notifier = carryNotifierOver(deps, isSameOwner ? previous : null, plan.sessionRoot);
    const record = await registry.publish(buildRecord({ ...session, nowMs: clock.nowMs(), team }));
    return { ...session, record, notifier };
  } catch (error) {
    for (const act of undo.reverse()) await tolerate(act);
    throw error;
  }
}

const isConflict = (error: unknown) => error instanceof ServiceError && error.reason === "conflict";

const startedMeanwhile = (plan: LaunchPlan, { socket }: Pick<Tmux, "socket">) =>
  runsAlready({
    agent_name: plan.agentName,
    agent_id: plan.agentId,
    terminal: { current_session_name: plan.tmuxSessionName, ...(socket === undefined ? {} : { socket }) },
  });

/** Removes a session folder that was just made, unless another user can change what lies at its path. */
export function removeOwn(files: Files, runtimeRoot: string, sessionRoot: string): void {
  if (files.exposure(sessionRoot) === null) removeSession(files, runtimeRoot, sessionRoot);
}

/** An agent that speaks ACP has no terminal, and variables of its profile. */
function withAcp({ processes }: Pick<LaunchDeps, "processes">, request: LaunchRequest): LaunchRequest {
  const { acp } = request.tool;
  if (!acp) return request;
  const plain = {
    displayStyle: "plain",
    displayDetail: "concise",
    model: undefined,
    reasoningLevel: undefined,
  };
  return {
    ...request,
    headless: request.headless ?? plain,
    env: { ...acpEnvironment(acp, (program) => processes.which(program)), ...request.env },
  };
}

function acpOf({ tool, headless, unattended = false }: LaunchRequest) {
  return tool.acp ? { acp: toAcpLaunch(tool.acp, { policy: headless?.policy ?? [], unattended }) } : {};
}

/** What the pane of a headless agent shows until its first turn. */
export const waitingProgram = {
  command: ["printf", "%s\\n", "[a headless agent: its turns are shown here]"],
  env: {},
  afterwards: "wait",
} satisfies Omit<PaneProgram, "workdir">;

interface LaunchPlan {
  backend: string;
  agentName: string;
  agentId: string;
  sessionId: string;
  sessionRoot: string;
  manifestPath: string;
  tmuxSessionName: string;
  command: [string, ...string[]];
  home: { envVar: string; path: string } | null;
  published: Record<string, string>;
  environment: Record<string, string>;
  /** Null for a headless agent. */
  signals: PlannedSignals | null;
}

interface CheckedLaunch {
  agentName: string;
  agentId: string;
  executable: string;
  home: { envVar: string; path: string } | null;
  role: string[];
}

/**
 * The checks of a launch that do not depend on its name: for a caller that first ends the agent that has the
 * name. Changes nothing. Throws as `launchAgent`.
 */
export async function checkLaunch(
  { files, processes, tmux }: Pick<LaunchDeps, "files" | "processes" | "tmux">,
  given: LaunchRequest,
): Promise<CheckedLaunch> {
  const request = withAcp({ processes }, given);
  const { tool } = request;
  const agentName = checkedName(request.agentName);
  const agentId = checkedAgentId(request.agentId ?? defaultAgentId(agentName));
  if (request.tmuxSessionName !== undefined) checkSessionName(request.tmuxSessionName);
  if (!files.stat(request.workdir)?.directory) {
    throw new ServiceError("invalid_request", `the working directory ${request.workdir} does not exist`);
  }
  if ((await tmux.version()) === null) {
    const remedy: Remedy = { code: "install_tmux" };
    throw new ServiceError("precondition_failed", "tmux is not installed", { data: { remedy } });
  }
  const [program] = tool.command;
  const executable = processes.which(program);
  if (executable === null) {
    throw new ServiceError(
      "precondition_failed",
      `${tool.tool}: "${program}" is not on PATH. ${tool.installHint}`,
    );
  }
  if (request.headless && !tool.headless) {
    throw new ServiceError("unsupported", `${tool.tool} has no headless form that we drive`);
  }
  if (request.unattended && tool.unattendedArgs === null) {
    throw new ServiceError("unsupported", `${tool.tool} has no flags for unattended work`);
  }
  const home = plannedHome(request);
  const role = request.role && !request.headless ? roleArguments(tool.tool, request.role) : [];
  return { agentName, agentId, executable, home, role };
}

/** Everything that can be refused is refused here, before anything was changed. */
async function planLaunch(deps: LaunchDeps, request: LaunchRequest): Promise<LaunchPlan> {
  const { ids, clock } = deps;
  const { tool } = request;
  const { agentName, agentId, executable, home, role } = await checkLaunch(deps, request);
  const [, ...first] = tool.command;
  await refuseNameConflict(deps, agentName, agentId);
  await refuseOrphanName(deps, { agentName, agentId, inSession: null });

  const nowMs = clock.nowMs();
  const backend = request.headless ? headlessBackend(tool) : localInteractive;
  const sessionId = newSessionId(backend, nowMs, ids);
  const sessionRoot = sessionRootOf(deps.runtimeRoot, backend, sessionId);
  const manifestPath = sessionPaths(sessionRoot).manifest;
  const published = { SVC_MANIFEST_PATH: manifestPath, SVC_AGENT_ID: agentId };
  const unattended = request.unattended ? (tool.unattendedArgs ?? []) : [];
  const args = [...unattended, ...role, ...request.args];
  const environment = planEnvironment({
    person: deps.personEnvironment,
    extra: { ...request.env, ...(home ? { [home.envVar]: home.path } : {}) },
    published,
  });
  const signals = request.headless
    ? null
    : await deps.planSignals(deps, {
        tool: tool.tool,
        executable,
        sessionRoot,
        args,
        env: environment,
        declined: request.noSignals === true,
      });
  return {
    backend,
    agentName,
    agentId,
    sessionId,
    sessionRoot,
    manifestPath,
    tmuxSessionName: request.tmuxSessionName ?? newTmuxSessionName(agentName, nowMs),
    command: [executable, ...first, ...args],
    home,
    published,
    environment,
    signals,
  };
}

/**
 * The program of a launch with the arguments by which it reports. They are not part of the manifest's `args`:
 * each start makes them again.
 */
export function withHandover(
  program: { command: readonly [string, ...string[]]; environment: Record<string, string> },
  { handover }: PlannedSignals,
): Pick<PaneProgram, "command" | "env"> {
  const [executable, ...args] = program.command;
  return {
    command: [executable, ...handover.args, ...args],
    env: { ...program.environment, ...handover.env },
  };
}

function plannedHome(request: LaunchRequest): { envVar: string; path: string } | null {
  if (request.home === undefined) return null;
  const envVar = request.tool.homeVariable;
  if (envVar === null) {
    throw new ServiceError("unsupported", `${request.tool.tool} has no variable that selects another home`);
  }
  return { envVar, path: request.home };
}

/** Undoes a launch: the processes of its pane, then its session. */
export async function undoSession(deps: LaunchDeps, session: string, pane: TmuxPane): Promise<void> {
  await endSession(deps, "launch.undo", session, pane, endGraceMs);
}

/** Undoing goes on past a step that fails: what made the launch fail is what the caller must hear. */
async function tolerate(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch {}
}
