import { join } from "node:path";
import type { StoredRequest } from "../../db/gateway/request-store.ts";
import type { Attached, Reconciliation } from "../../services/fleet/attach-gateway.ts";
import { findConversation, planAgentRelaunch, relaunchAgent } from "../../services/fleet/relaunch-agent.ts";
import { environmentWithout } from "../../services/sessions/environment.ts";
import type { LaunchedSession } from "../../services/sessions/launch.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import type { Resume } from "../../services/sessions/tool-arguments.ts";
import { readWaitingPrompts } from "../../services/status/project.ts";
import { agentPane } from "../../services/terminal/tmux/command.ts";
import { sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import { type AgentCaller, openTarget, type Target } from "../agent/target.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { narrate, warn } from "../command-line/narrate.ts";
import { loadSignals } from "../extensions.ts";

interface RelaunchInput {
  /** `own`: the one that this very agent had last, where its tool can go on with it; else a new one. */
  conversation: Resume | "own";
  /** What becomes of the prompts that wait for the instance before; null leaves that to a person. */
  waiting: Reconciliation | null;
  /** An agent that was stopped gets a gateway. */
  isServed: boolean;
  /** Values of variables of its launch that this process lacks. */
  env?: Readonly<Record<string, string>>;
  /** Refuses an agent while a variable of its launch has no value. */
  needsVariables?: boolean;
  /** First waits until the calling process has left the agent's pane. */
  isAfterCaller?: boolean;
}

/** With which conversation an agent went on. `why`: why with a new one, as a clause; null where asked for. */
export type Conversation = { mode: "continued"; id: string | null } | { mode: "new"; why: string | null };

/** An agent whose program was started again, or is about to be. */
export type RelaunchedAgent = { context: CliContext; conversation: Conversation } & (
  | { outcome: "handed_over"; agentName: string; agentId: string; logPath: string }
  | {
      outcome: "relaunched";
      session: LaunchedSession;
      /** False for an agent that got a new tmux session. */
      inPlace: boolean;
      /** Null when no gateway serves it. */
      attached: Attached | null;
      missingVariables: string[];
      /** Prompts of the instance before; `fate` null: they wait for a person. */
      waiting: { requestIds: string[]; fate: Reconciliation | null };
    }
);

/** Starts the agent's program again: in its pane while it runs, in a new tmux session when it was stopped. */
export async function relaunchNamed(caller: AgentCaller, input: RelaunchInput): Promise<RelaunchedAgent> {
  const { io } = caller;
  const target = await openTarget(caller);
  const { context, agent } = target;
  const { resume, conversation } = chooseConversation(target, input.conversation);
  if (await runsInside(target)) {
    if (!input.isAfterCaller) return { context, conversation, ...leaveToAnother(target, resume, input) };
    await callerLeft(target);
  }
  const requestIds = waitingOf(target).map((one) => one.requestId);
  await narrate(io, `launching ${agent.manifest.agent_name} again`);
  const launching = await launchingIn(context, input.env);
  const { session, attached, inPlace, missingVariables } = await relaunchAgent(launching, agent, {
    resume,
    reconcile: input.waiting,
    gateway: input.isServed,
    needsVariables: input.needsVariables ?? false,
  });
  if (missingVariables.length > 0) {
    await warn(io, `started without a value for: ${missingVariables.join(", ")}`);
  }
  const waiting = { requestIds, fate: input.waiting };
  return {
    context,
    outcome: "relaunched",
    session,
    attached,
    inPlace,
    missingVariables,
    conversation,
    waiting,
  };
}

/** With which conversation it would start again. Throws as `relaunchNamed` does before anything changes. */
export async function checkRelaunch(
  caller: AgentCaller,
  { conversation: wanted, needsVariables }: Pick<RelaunchInput, "conversation" | "needsVariables">,
): Promise<Conversation> {
  const target = await openTarget(caller);
  const { resume, conversation } = chooseConversation(target, wanted);
  const launching = await launchingIn(target.context, {});
  await planAgentRelaunch(launching, target.agent, { resume, needsVariables: needsVariables ?? false });
  return conversation;
}

const launchingIn = async (context: CliContext, env: RelaunchInput["env"]) => ({
  ...context,
  personEnvironment: { ...context.personEnvironment, ...env },
  planSignals: await loadSignals(),
});

/** An agent whose prompts wait, oldest first. */
export interface WaitingAgent {
  agentName: string;
  prompts: StoredRequest[];
}

/** What waits for the present instance of an agent, whether a gateway serves it or not. */
export async function readWaiting(caller: AgentCaller): Promise<WaitingAgent> {
  const target = await openTarget(caller);
  return { agentName: target.agent.manifest.agent_name, prompts: waitingOf(target) };
}

function waitingOf({ context, agent }: Target): StoredRequest[] {
  return readWaitingPrompts(context.files, sessionPaths(agent.sessionRoot).queue);
}

function chooseConversation(
  { context, agent }: Target,
  wanted: RelaunchInput["conversation"],
): { resume: Resume; conversation: Conversation } {
  if (wanted === "own") {
    const { id, why } = findConversation(context, agent);
    return id === null
      ? { resume: { mode: "new" }, conversation: { mode: "new", why } }
      : { resume: { mode: "exact", id }, conversation: { mode: "continued", id } };
  }
  if (wanted.mode === "new") return { resume: wanted, conversation: { mode: "new", why: null } };
  const id = wanted.mode === "exact" ? wanted.id : null;
  return { resume: wanted, conversation: { mode: "continued", id } };
}

/** Whether we would end ourselves by ending what runs in the agent's pane. */
async function runsInside({ context, agent }: Target): Promise<boolean> {
  const { tmux, tmux_session_name: session } = agent.manifest;
  const pane = agentPane(await context.tmuxFor(tmux.socket).panes(session), tmux.primary_pane_id ?? null);
  const tree = pane ? await context.processes.tree(pane.panePid) : [];
  return tree.some(({ pid }) => pid === context.processes.selfPid());
}

/** Hands the work to a separate process, which outlives the agent that called us. */
function leaveToAnother({ context, agent }: Target, resume: Resume, { waiting }: RelaunchInput) {
  const { logRoot } = sessionPaths(agent.sessionRoot);
  const logPath = join(logRoot, "relaunch.log");
  const { agent_id: agentId, agent_name: agentName } = agent.manifest;
  context.files.ensureDirectory("file:gateway-folder", logRoot);
  context.processes.detach(
    "process:relaunch",
    [
      ...context.managerCommand,
      "agents",
      "single",
      "--agent-id",
      agentId,
      "relaunch",
      "--after-caller",
      "--chat-session-mode",
      resume.mode,
      ...(resume.mode === "exact" ? ["--chat-session-id", resume.id] : []),
      ...(waiting === null ? [] : [waiting === "keep" ? "--keep-requests" : "--reconcile"]),
    ],
    { env: environmentWithout(context.env, []), cwd: agent.sessionRoot, logPath },
  );
  return { outcome: "handed_over" as const, agentName, agentId, logPath };
}

const leaveWithinMs = 10_000;
const pollIntervalMs = 50;

async function callerLeft(target: Target): Promise<void> {
  const { clock } = target.context;
  const deadlineMs = clock.monotonicMs() + leaveWithinMs;
  while (await runsInside(target)) {
    if (clock.monotonicMs() >= deadlineMs) {
      throw new ServiceError("conflict", "timed out waiting for the caller to exit");
    }
    await sleep(clock, pollIntervalMs);
  }
}
