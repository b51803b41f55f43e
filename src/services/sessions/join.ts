import { isAbsolute } from "node:path";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { toTimestamp } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { ProcessFacts } from "../../system/processes.ts";
import { agentPane, type Tmux, type TmuxPane } from "../terminal/tmux/command.ts";
import { folderOfPane } from "../terminal/tmux/screen.ts";
import { type HeadlessWish, type NewSession, removeOwn, type SessionDeps } from "./launch.ts";
import { launchMark } from "./launch-mark.ts";
import { type LaunchTool, noSuchTool } from "./launch-tools.ts";
import { buildManifest, toRestarted } from "./manifest.ts";
import {
  checkedAgentId,
  checkedName,
  defaultAgentId,
  headlessBackend,
  localInteractive,
  newSessionId,
  refuseNameConflict,
  runningAgents,
} from "./names.ts";
import { carryNotifierOver } from "./notifier-carry-over.ts";
import { refuseOrphanName } from "./orphans.ts";
import { toKnown } from "./process-tree.ts";
import { buildRecord } from "./record.ts";
import { sessionPaths, sessionRootOf } from "./roots.ts";
import { openSessionFolder } from "./session-folder.ts";
import type { Resume } from "./tool-arguments.ts";
import { refuseExposed } from "./trust.ts";

export interface JoinRequest {
  /** The tmux session whose window 0, pane 0 the agent runs in. */
  tmuxSession: string;
  agentName: string;
  /** Default: the MD5 of the name. */
  agentId?: string | undefined;
  /** Only when the agent is this tool; default: whichever is found. */
  tool?: string | undefined;
  /** The arguments that the agent was started with; without them it can be stopped and not launched again. */
  launchArgs?: readonly string[] | undefined;
  /** Variables it was started with; null for one whose value only its person knows. */
  launchEnv?: Readonly<Record<string, string | null>> | undefined;
  /** Absolute. Default: where its pane works. */
  workdir?: string | undefined;
  /** The pane is idle, and turns of `tool` will be run and shown there; its shell ends with the first. */
  headless?: HeadlessWish | undefined;
  /** The conversation with which a headless agent begins; default: a new one. */
  resume?: Resume | undefined;
}

interface JoinDeps extends SessionDeps {
  tools: readonly LaunchTool[];
}

/**
 * Adopts an agent that already runs, or an idle pane for a headless one, without touching its window:
 * manifest, gateway folder, what its tmux session publishes, registry record, in this order. All or nothing.
 * Throws ServiceError: `invalid_request` for a bad name or tool, `not_found` when there is no such session or
 * window 0, `conflict` when the name or the session is taken, `precondition_failed` when no known tool or
 * more than one runs there, or when a pane for a headless agent is not idle.
 */
export async function joinAgent(deps: JoinDeps, given: JoinRequest): Promise<NewSession> {
  const { files, ids, clock, tmux, registry, manifests } = deps;
  const request = { ...given, tmuxSession: await tmux.recordedName(given.tmuxSession) };
  const agentName = checkedName(request.agentName);
  const agentId = checkedAgentId(request.agentId ?? defaultAgentId(agentName));
  const pane = await findPane(tmux, request.tmuxSession);
  await refuseNameConflict(deps, agentName, agentId);
  await refuseOrphanName(deps, { agentName, agentId, inSession: request.tmuxSession });
  await refuseManaged(deps, request.tmuxSession);
  const tree = await deps.processes.tree(pane.panePid);
  const { headless } = request;
  const { tool, process } = headless
    ? { tool: headlessTool(deps.tools, request.tool), process: null }
    : chooseAgent(tree, deps.tools, request.tool ?? null, request.tmuxSession);
  if (headless) refuseBusyPane(tree, deps.processes.selfPid(), request.tmuxSession);
  const backend = headless ? headlessBackend(tool) : localInteractive;
  const sessionId = newSessionId(backend, clock.nowMs(), ids);
  const sessionRoot = sessionRootOf(deps.runtimeRoot, backend, sessionId);
  const manifestPath = sessionPaths(sessionRoot).manifest;
  const [program, ...first] = tool.command;
  const built: Manifest = buildManifest({
    createdAtUtc: toTimestamp(clock.nowMs()),
    tool: tool.tool,
    agentName,
    agentId,
    sessionId,
    generationId: ids.uuid(),
    workdir: request.workdir ?? (await folderOfPane(tmux, pane.paneId)),
    executable: deps.processes.which(program) ?? program,
    args: [...first, ...(request.launchArgs ?? [])],
    home: null,
    envVarNames: Object.keys(request.launchEnv ?? {}),
    unattendedArgs: null,
    tmux: {
      sessionName: request.tmuxSession,
      windowName: pane.windowName,
      windowId: pane.windowId,
      paneId: pane.paneId,
      socket: await tmux.socketPath(request.tmuxSession),
    },
    agent: toKnown(deps.processes, process),
    ...(headless ? { headless: { ...headless, backend, life: ids.uuid() } } : {}),
    joined: { posture: postureOf(request) },
  });
  const { resume } = request;
  const manifest = headless && resume ? toRestarted(built, { resume, life: ids.uuid() }) : built;
  const session = { manifest, manifestPath, sessionRoot };
  try {
    files.ensureDirectory("file:session-folder", sessionRoot);
    refuseExposed(files, sessionRoot, "the session folder");
    openSessionFolder(files, sessionRoot).saveLaunchVariables(valuesOf(request.launchEnv));
    await manifests.write(manifestPath, manifest);
    openSessionFolder(files, session.sessionRoot).seed(session.manifest);
    await tmux.setEnvironment("join.environment", request.tmuxSession, {
      SVC_MANIFEST_PATH: manifestPath,
      SVC_AGENT_ID: agentId,
    });
    await tmux.setMark(
      "join.mark",
      request.tmuxSession,
      launchMark(deps.processes, {
        agentName,
        origin: "joined",
        registryRoot: registry.root,
        manifestPath,
      }),
    );
    const notifier = carryNotifierOver(deps, registry.read(agentId), sessionRoot);
    const record = await registry.publish(buildRecord({ ...session, nowMs: clock.nowMs() }));
    return { ...session, record, notifier };
  } catch (error) {
    removeOwn(files, deps.runtimeRoot, sessionRoot);
    await forgetSession(tmux, manifest).catch(() => {});
    throw error;
  }
}

function valuesOf(variables: JoinRequest["launchEnv"]): Record<string, string> {
  const given = Object.entries(variables ?? {});
  return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== null));
}

function postureOf({ headless, launchArgs }: JoinRequest) {
  if (headless) return "headless_launch_options";
  return launchArgs === undefined ? "unavailable" : "tui_launch_options";
}

/** Takes back what adopting an agent made its tmux session publish. */
export async function forgetSession(tmux: Tmux, manifest: Manifest): Promise<void> {
  const session = manifest.tmux_session_name;
  if (!(await tmux.hasSession(session))) return;
  await tmux.setEnvironment("join.forget", session, { SVC_MANIFEST_PATH: null, SVC_AGENT_ID: null });
  await tmux.setMark("join.unmark", session, null);
}

async function findPane(tmux: Tmux, session: string): Promise<TmuxPane> {
  const panes = await tmux.panes(session);
  const pane = agentPane(panes, null);
  if (pane) return pane;
  const [first] = panes;
  if (!first)
    throw new ServiceError("not_found", `there is no tmux session ${session}; \`tmux ls\` shows all`);
  throw new ServiceError(
    "not_found",
    `session ${session} has no window 0, where an agent must run. Move its window there with: tmux move-window -s '=${session}:${first.windowIndex}' -t '=${session}:0'`,
  );
}

/**
 * The record of the running agent of a tmux session, or null. An earlier record may name the server in
 * another way; then the session's own variables decide.
 */
export async function managedIn(
  deps: Pick<JoinDeps, "registry" | "sessionAlive" | "clock" | "tmux">,
  session: string,
): Promise<RegistryRecord | null> {
  const environment = await deps.tmux.environment(session);
  if (environment === null) return null;
  const published = environment["SVC_AGENT_ID"];
  const socket = await deps.tmux.socketPath(session);
  const [record] = await runningAgents(
    deps,
    ({ terminal, agent_id: agentId }) =>
      terminal.current_session_name === session &&
      (isAbsolute(terminal.socket ?? "") ? terminal.socket === socket : agentId === published),
  );
  return record ?? null;
}

async function refuseManaged(deps: JoinDeps, session: string): Promise<void> {
  const other = await managedIn(deps, session);
  if (!other) return;
  const remedy: Remedy = { code: "attach_gateway", agent_name: other.agent_name };
  throw new ServiceError(
    "conflict",
    `the agent in tmux session ${session} is "${other.agent_name}" already; a gateway for it needs no join`,
    { data: { agent_ids: [other.agent_id], remedy } },
  );
}

/**
 * The tool that runs among the processes of a pane, and the topmost process of it. Pure. Throws
 * `precondition_failed` when it is none or not one, `invalid_request` for a tool that nobody knows.
 */
export function chooseAgent(
  tree: readonly ProcessFacts[],
  tools: readonly LaunchTool[],
  wanted: string | null,
  session: string,
): { tool: LaunchTool; process: ProcessFacts } {
  const found = tools.flatMap((tool) => {
    const process = tree.find(tool.occupies);
    return process ? [{ tool, process }] : [];
  });
  const names = found.map(({ tool }) => tool.tool);
  if (wanted !== null && !tools.some(({ tool }) => tool === wanted)) {
    throw noSuchTool(tools, wanted);
  }
  const matching = wanted === null ? found : found.filter(({ tool }) => tool.tool === wanted);
  const [only] = matching;
  if (only && matching.length === 1) return only;
  const where = `window 0 of tmux session ${session}`;
  if (matching.length > 1) {
    throw new ServiceError(
      "precondition_failed",
      `more than one agent runs in ${where}: ${names.join(", ")}. Say which with --tool`,
    );
  }
  const running = tree.map(({ command }) => command).join(", ") || "nothing";
  throw new ServiceError(
    "precondition_failed",
    wanted === null
      ? `no known agent runs in ${where}; there is: ${running}`
      : `${wanted} does not run in ${where}; there is: ${names.length > 0 ? names.join(", ") : running}`,
  );
}

/** The tool whose turns a headless agent runs: no process shows it. Pure. Throws `invalid_request`. */
function headlessTool(tools: readonly LaunchTool[], wanted: string | undefined): LaunchTool {
  const names = tools.filter(({ headless }) => headless).map(({ tool }) => tool);
  const tool = tools.find((one) => one.headless && one.tool === wanted);
  if (tool) return tool;
  throw new ServiceError(
    "invalid_request",
    wanted === undefined
      ? "a headless agent needs its tool: --tool"
      : `"${wanted}" has no headless form that we drive; known are: ${names.join(", ")}`,
  );
}

const shells = /^-?(sh|bash|zsh|fish|dash|ash|ksh|tcsh|csh|nu)$/;

/** Nothing may run in the pane but shells and the joining process. Pure. Throws `precondition_failed`. */
function refuseBusyPane(tree: readonly ProcessFacts[], selfPid: number, session: string): void {
  const ours = new Set<number>();
  for (let at = tree.find(({ pid }) => pid === selfPid); at; ) {
    ours.add(at.pid);
    const { parentPid } = at;
    at = tree.find(({ pid }) => pid === parentPid);
  }
  const busy = tree.filter(
    ({ pid, parentPid, command }) => !ours.has(pid) && parentPid !== selfPid && !shells.test(command),
  );
  if (busy.length === 0) return;
  throw new ServiceError(
    "precondition_failed",
    `window 0 of tmux session ${session} is not idle; there is: ${busy.map(({ command }) => command).join(", ")}`,
  );
}
