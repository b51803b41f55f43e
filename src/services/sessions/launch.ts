import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import { type Clock, sleep, toTimestamp } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Processes, ProcessFacts } from "../../system/processes.ts";
import type { Steps } from "../../system/steps.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux-command.ts";
import { createLauncher } from "../terminal/tmux-launch.ts";
import { paneTail } from "../terminal/tmux-screen.ts";
import { planEnvironment } from "./environment.ts";
import { seedGatewayFolder } from "./gateway-folder.ts";
import type { LaunchTool } from "./launch-tools.ts";
import { buildManifest, type ManifestStore } from "./manifest.ts";
import {
  checkedAgentId,
  checkedName,
  defaultAgentId,
  localInteractive,
  newSessionId,
  newTmuxSessionName,
} from "./names.ts";
import { endTree } from "./process-tree.ts";
import { buildRecord, isFresh } from "./record.ts";
import type { Registry } from "./registry.ts";
import { type Environment, sessionPaths, sessionRootOf } from "./roots.ts";
import type { SessionAlive } from "./session-alive.ts";

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
  /** Adds the tool's flags that skip permissions or sandboxes (ruling 19). */
  unattended?: boolean | undefined;
  /** Gives the launch up; what was begun is undone. */
  signal?: AbortSignal | undefined;
}

export interface LaunchedSession {
  manifest: Manifest;
  manifestPath: string;
  sessionRoot: string;
  record: RegistryRecord;
}

export interface LaunchDeps {
  files: Files;
  ids: Ids;
  clock: Clock;
  processes: Processes;
  steps: Steps;
  /** The tmux server that the agent will live in. */
  tmux: Tmux;
  registry: Registry;
  sessionAlive: SessionAlive;
  manifests: ManifestStore;
  runtimeRoot: string;
  /** Whose own CLI, configuration and login the agent runs with. */
  personEnvironment: Environment;
}

/** How long the tool's program may take to occupy the pane. */
const occupyMs = 10_000;
const lookEveryMs = 25;
const endGraceMs = 2000;
const tailRows = 20;

/**
 * Starts an agent in a tmux session of its own and makes it findable: program seen in the pane, manifest,
 * gateway folder, registry record, in this order. All or nothing: on any failure the program, the session and
 * the files are gone again. Throws ServiceError: `invalid_request` for a bad name, id or folder,
 * `precondition_failed` when tmux or the tool is missing, `conflict` when the agent already runs,
 * `dispatch_failed` with the end of the screen when the program did not stay.
 */
export async function launchAgent(deps: LaunchDeps, request: LaunchRequest): Promise<LaunchedSession> {
  const { files, ids, clock, tmux, registry, manifests } = deps;
  const plan = await planLaunch(deps, request);
  const undo: (() => unknown)[] = [];
  try {
    undo.push(() => files.remove("file:session-remove", plan.sessionRoot));
    files.ensureDirectory("file:session-folder", plan.sessionRoot);

    const launcher = createLauncher({ tmux, files, ids, steps: deps.steps, folder: plan.sessionRoot });
    const pane = await launcher.launch({
      session: plan.tmuxSessionName,
      sessionEnv: plan.published,
      command: plan.command,
      workdir: request.workdir,
      env: plan.environment,
    });
    undo.push(() => endSession(deps, plan.tmuxSessionName, pane));
    const agent = await occupied(deps, request, pane);

    const manifest = buildManifest({
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
      unattendedArgs: request.unattended ? request.tool.unattendedArgs : null,
      tmux: {
        sessionName: plan.tmuxSessionName,
        windowName: pane.windowName,
        windowId: pane.windowId,
        paneId: pane.paneId,
        socket: tmux.socket ?? null,
      },
      agentPid: agent.pid,
    });
    const session = { manifest, manifestPath: plan.manifestPath, sessionRoot: plan.sessionRoot };
    await manifests.write(plan.manifestPath, manifest);
    seedGatewayFolder(files, session);
    const record = await registry.publish(buildRecord({ ...session, nowMs: clock.nowMs() }));
    return { ...session, record };
  } catch (error) {
    for (const act of undo.reverse()) await tolerate(act);
    throw error;
  }
}

interface LaunchPlan {
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
}

/** Everything that can be refused is refused here, before anything was changed. */
async function planLaunch(deps: LaunchDeps, request: LaunchRequest): Promise<LaunchPlan> {
  const { files, ids, clock, processes, tmux } = deps;
  const { tool } = request;
  const agentName = checkedName(request.agentName);
  const agentId = checkedAgentId(request.agentId ?? defaultAgentId(agentName));
  if (!files.stat(request.workdir)?.directory) {
    throw new ServiceError("invalid_request", `the working directory ${request.workdir} does not exist`);
  }
  if ((await tmux.version()) === null) {
    throw new ServiceError(
      "precondition_failed",
      "tmux is not installed; `svc-mgr doctor` says how to get it",
    );
  }
  const [program, ...first] = tool.command;
  const executable = processes.which(program);
  if (executable === null) {
    throw new ServiceError(
      "precondition_failed",
      `${tool.tool}: "${program}" is not on PATH. ${tool.installHint}`,
    );
  }
  if (request.unattended && tool.unattendedArgs === null) {
    throw new ServiceError("unsupported", `${tool.tool} has no flags for unattended work`);
  }
  const home = plannedHome(request);
  await refuseTakenName(deps, agentName, agentId);

  const nowMs = clock.nowMs();
  const sessionId = newSessionId(localInteractive, nowMs, ids);
  const sessionRoot = sessionRootOf(deps.runtimeRoot, localInteractive, sessionId);
  const manifestPath = sessionPaths(sessionRoot).manifest;
  const published = { SVC_MANIFEST_PATH: manifestPath, SVC_AGENT_ID: agentId };
  const unattended = request.unattended ? (tool.unattendedArgs ?? []) : [];
  return {
    agentName,
    agentId,
    sessionId,
    sessionRoot,
    manifestPath,
    tmuxSessionName: newTmuxSessionName(agentName, nowMs),
    command: [executable, ...first, ...unattended, ...request.args],
    home,
    published,
    environment: planEnvironment({
      person: deps.personEnvironment,
      extra: { ...request.env, ...(home ? { [home.envVar]: home.path } : {}) },
      published,
    }),
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

async function refuseTakenName(deps: LaunchDeps, agentName: string, agentId: string): Promise<void> {
  const rivals = deps.registry
    .list()
    .records.filter((one) => one.agent_name === agentName || one.agent_id === agentId)
    .filter((one) => isFresh(one, deps.clock.nowMs()));
  for (const rival of rivals) {
    if (!(await deps.sessionAlive(rival))) continue;
    const session = rival.terminal.current_session_name;
    throw new ServiceError(
      "conflict",
      `agent "${rival.agent_name}" already runs in tmux session ${session}. Look at it with \`tmux attach -t =${session}\` or end it with \`svc-mgr agents single --agent-name ${rival.agent_name} stop\``,
      { data: { agent_ids: [rival.agent_id] } },
    );
  }
}

/** The tool's process once it is in the pane. Throws with the end of the screen when it ended or never came. */
async function occupied(deps: LaunchDeps, request: LaunchRequest, pane: TmuxPane): Promise<ProcessFacts> {
  const { clock, processes } = deps;
  const { tool, signal } = request;
  const deadlineMs = clock.monotonicMs() + occupyMs;
  for (;;) {
    if (signal?.aborted) throw new ServiceError("dispatch_failed", "the launch was interrupted and undone");
    const tree = await processes.tree(pane.panePid);
    const found = tree.find(tool.occupies);
    if (found) return found;
    const ended = tree[0] === undefined || isLoginShell(tree[0]);
    if (ended || clock.monotonicMs() >= deadlineMs) {
      const tail = await paneTail(deps.tmux, pane.paneId, tailRows).catch(messageOf);
      const what = ended ? "ended at once" : `was not seen within ${occupyMs / 1000} s`;
      throw new ServiceError("dispatch_failed", `${tool.tool} ${what}. Its screen ended with:\n${tail}`);
    }
    await sleep(clock, lookEveryMs);
  }
}

/** What the launch script of the terminal becomes when the program has ended. */
function isLoginShell({ argv }: ProcessFacts): boolean {
  return argv.length === 2 && argv[1] === "-l";
}

async function endSession(deps: LaunchDeps, session: string, pane: TmuxPane): Promise<void> {
  await endTree(deps, pane.panePid, endGraceMs);
  await deps.tmux.killSession("launch.undo", session);
}

/** Undoing goes on past a step that fails: what made the launch fail is what the caller must hear. */
async function tolerate(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch {}
}
