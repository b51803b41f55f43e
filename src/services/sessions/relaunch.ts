import type { Manifest } from "../../protocol/files.ts";
import { ServiceError } from "../../system/errors.ts";
import { agentPane, type Tmux, type TmuxPane } from "../terminal/tmux/command.ts";
import { createLauncher, type PaneProgram } from "../terminal/tmux/launch.ts";
import { planEnvironment } from "./environment.ts";
import type { FoundAgent } from "./find.ts";
import {
  type LaunchDeps,
  type LaunchedSession,
  undoSession,
  waitingProgram,
  withHandover,
} from "./launch.ts";
import { awaitProcessReady, launchMark } from "./launch-mark.ts";
import type { LaunchTool } from "./launch-tools.ts";
import { toAgentProcess, toRelaunched, toRestarted } from "./manifest.ts";
import { newTmuxSessionName } from "./names.ts";
import { refuseOrphanName } from "./orphans.ts";
import { endProcesses, knownTree, toKnown } from "./process-tree.ts";
import { buildRecord, isRelaunchable } from "./record.ts";
import { openSessionFolder } from "./session-folder.ts";
import { type Resume, resumeArguments } from "./tool-arguments.ts";
import { type PlannedSignals, signalsDeclined, withSignals, writeHandover } from "./tool-signals.ts";

export interface RelaunchDeps extends LaunchDeps {
  tools: readonly LaunchTool[];
  /** `registered`: the socket that the registry has for the agent, at which a server may be started. */
  tmuxFor: (socket: string | undefined, registered?: string) => Tmux;
}

/** A relaunch that passed every check. */
export interface RelaunchPlan {
  tool: LaunchTool;
  program: PaneProgram;
  /**
   * Set for a headless agent, whose pane has no program until a turn: the conversation that its next turn
   * resumes, and the id of the new instance.
   */
  headless: { resume: Resume; life: string } | null;
  /** How the tool is asked to report; null for a headless agent. */
  signals: PlannedSignals | null;
  published: Record<string, string>;
  /** The agent's pane, in which the program is started again; null when it needs a new tmux session. */
  pane: TmuxPane | null;
  /** Variables that the launch set and that nobody has a value for now. */
  missingVariables: string[];
}

/** An agent that saves its session on TERM gets this long. */
const graceMs = 3000;

/**
 * Everything that can be refused is refused here, before anything was changed: `precondition_failed` for an
 * agent that was joined without its launch arguments, for a program or folder that is gone, `conflict` as
 * `refuseOrphanName`, `unsupported` for a tool that we cannot start or that cannot resume.
 */
export async function planRelaunch(
  deps: RelaunchDeps,
  agent: FoundAgent,
  resume: Resume,
): Promise<RelaunchPlan> {
  const { manifest, manifestPath } = agent;
  const { launch_plan: plan, agent_name: name } = manifest;
  const fail = (why: string) =>
    new ServiceError("precondition_failed", `"${name}" cannot be launched again: ${why}`);
  if (!isRelaunchable(manifest)) {
    throw fail("it was joined without the arguments it was started with (join it with --launch-args)");
  }
  if (agent.record?.lifecycle.relaunchable === false) throw fail("its record says so");
  const tool = deps.tools.find((one) => one.tool === manifest.tool);
  if (!tool) throw new ServiceError("unsupported", `no profile describes the tool ${manifest.tool}`);
  const executable = deps.processes.which(plan.executable);
  if (executable === null) throw fail(`${plan.executable} is gone. ${tool.installHint}`);
  if (!deps.files.stat(plan.working_directory)?.directory) throw fail(`${plan.working_directory} is gone`);

  const { env_var: homeVariable, home_path: home } = plan.home_selector;
  // The values given to the join, else those of the relaunching process.
  const variables = openSessionFolder(deps.files, agent.sessionRoot).readLaunchVariables();
  const given = { ...deps.personEnvironment, ...variables };
  const names = plan.env_var_names.filter((one) => one !== homeVariable);
  const published = { SVC_MANIFEST_PATH: manifestPath, SVC_AGENT_ID: manifest.agent_id };
  const headless = manifest.headless !== undefined;
  const inSession = manifest.tmux_session_name;
  const panes = await deps.tmuxFor(manifest.tmux.socket).panes(inSession);
  await refuseOrphanName(deps, { agentName: name, agentId: manifest.agent_id, inSession });
  const pane = agentPane(panes, manifest.tmux.primary_pane_id ?? null);
  // A headless agent resumes with its next turn, by its provider.
  const args = headless ? plan.args : [...plan.args, ...resumeArguments(manifest.tool, resume)];
  const environment = planEnvironment({
    person: deps.personEnvironment,
    extra: {
      ...Object.fromEntries(names.flatMap((one) => (given[one] === undefined ? [] : [[one, given[one]]]))),
      ...(homeVariable !== null && home !== null ? { [homeVariable]: home } : {}),
    },
    published,
  });
  const signals = headless
    ? null
    : await deps.planSignals(deps, {
        tool: manifest.tool,
        executable,
        sessionRoot: agent.sessionRoot,
        args,
        env: environment,
        declined: signalsDeclined(manifest),
      });
  return {
    tool,
    headless: headless ? { resume, life: deps.ids.uuid() } : null,
    program: {
      ...(signals ? withHandover({ command: [executable, ...args], environment }, signals) : waitingProgram),
      workdir: plan.working_directory,
    },
    signals,
    published,
    pane: pane?.dead === false ? pane : null,
    // A headless session keeps their values for its turns.
    missingVariables: headless ? [] : names.filter((one) => given[one] === undefined),
  };
}

/**
 * Writes the new instance of a headless agent into the manifest; from then on its gateway sees another
 * instance.
 */
export function beginInstance(deps: RelaunchDeps, agent: FoundAgent, plan: RelaunchPlan): Promise<Manifest> {
  return deps.manifests.update(agent.manifestPath, (now) => restarted(now, plan));
}

/**
 * Starts the agent of a plan again. In place: its processes end, the program starts in the same pane, the
 * record says `relaunching` meanwhile; when it does not stay, pane and record are the agent's still.
 * Otherwise: a new tmux session and generation with the same session root; when it does not stay, session,
 * manifest and record are as they were. Throws `dispatch_failed` with the end of the screen.
 */
export async function relaunchSession(
  deps: RelaunchDeps,
  agent: FoundAgent,
  plan: RelaunchPlan,
): Promise<{ session: LaunchedSession; pane: TmuxPane }> {
  const tmux = deps.tmuxFor(agent.manifest.tmux.socket, agent.record?.terminal.socket);
  const launcher = createLauncher({ ...deps, tmux, folder: agent.sessionRoot });
  if (plan.signals) writeHandover(deps.files, agent.sessionRoot, plan.signals.handover);
  return plan.pane
    ? relaunchInPlace({ ...deps, tmux }, agent, plan, plan.pane, launcher)
    : relaunchElsewhere({ ...deps, tmux }, agent, plan, launcher);
}

type Launcher = ReturnType<typeof createLauncher>;

async function relaunchInPlace(
  deps: RelaunchDeps,
  agent: FoundAgent,
  plan: RelaunchPlan,
  pane: TmuxPane,
  launcher: Launcher,
): Promise<{ session: LaunchedSession; pane: TmuxPane }> {
  const { registry, clock, manifests } = deps;
  const { manifestPath, sessionRoot } = agent;
  const socket = await deps.tmux.socketPath(agent.manifest.tmux_session_name);
  const manifest = withSocket(agent.manifest, socket);
  const team = agent.record?.team;
  const fresh = buildRecord({ manifest, manifestPath, sessionRoot, nowMs: clock.nowMs(), team });
  const record = { ...fresh, ...(agent.record?.gateway ? { gateway: agent.record.gateway } : {}) };
  await registry.publish({ ...record, lifecycle: { ...record.lifecycle, state: "relaunching" } });
  try {
    // Some outlive their terminal; and a program that gets a signal first saves its work.
    const [, ...below] = await knownTree(deps.processes, pane.panePid);
    await endProcesses(deps, below, graceMs);
    // A stop that was cut short left it so. What a person set in a session of theirs is theirs.
    if (manifest.agent_launch_authority.session_origin !== "joined_tmux") {
      await deps.tmux.keepPane("relaunch.pane", pane.paneId, false);
    }
    const started = await launcher.respawn(pane.paneId, plan.program);
    const program = plan.headless ? null : await awaitProcessReady(deps, plan.tool, started);
    const changed = await manifests.update(manifestPath, (now) => ({
      ...withSocket(restarted(now, plan), socket),
      runtime: { ...now.runtime, ...toAgentProcess(toKnown(deps.processes, program)) },
    }));
    return { session: { manifest: changed, manifestPath, sessionRoot, record }, pane: started };
  } finally {
    await registry.publish(record);
  }
}

async function relaunchElsewhere(
  deps: RelaunchDeps,
  agent: FoundAgent,
  plan: RelaunchPlan,
  launcher: Launcher,
): Promise<{ session: LaunchedSession; pane: TmuxPane }> {
  const { registry, clock, manifests, ids, tmux } = deps;
  const { manifest: before, manifestPath, sessionRoot } = agent;
  const sessionName = newTmuxSessionName(before.agent_name, clock.nowMs());
  const pane = await launcher.launch({
    ...plan.program,
    session: sessionName,
    sessionEnv: plan.published,
    mark: launchMark(deps.processes, {
      agentName: before.agent_name,
      origin: "launched",
      registryRoot: registry.root,
      manifestPath,
    }),
  });
  try {
    const program = plan.headless ? null : await awaitProcessReady(deps, plan.tool, pane);
    const { windowName, windowId, paneId } = pane;
    const socket = await tmux.socketPath(sessionName);
    const manifest = await manifests.update(manifestPath, (now) =>
      toRelaunched(restarted(now, plan), {
        tmux: { sessionName, windowName, windowId, paneId, socket },
        agent: toKnown(deps.processes, program),
        generationId: ids.uuid(),
      }),
    );
    const session = { manifest, manifestPath, sessionRoot };
    const record = await registry.publish(
      buildRecord({ ...session, nowMs: clock.nowMs(), team: agent.record?.team }),
    );
    return { session: { ...session, record }, pane };
  } catch (error) {
    await undoSession(deps, sessionName, pane).catch(() => {});
    await manifests.write(manifestPath, before);
    throw error;
  }
}

/** Earlier manifests may hold a name of the server, or nothing. */
function withSocket(manifest: Manifest, socket: string): Manifest {
  return { ...manifest, tmux: { ...manifest.tmux, socket } };
}

/** The manifest of a relaunched agent; a headless one gets a new instance id and no pinned conversation. */
function restarted(manifest: Manifest, { headless, signals }: RelaunchPlan): Manifest {
  const begun = headless ? toRestarted(manifest, headless) : manifest;
  return signals ? withSignals(begun, signals.record) : begun;
}
