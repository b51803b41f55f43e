import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { headlessInstanceId } from "../headless/connectivity.ts";
import { stopTurns } from "../headless/settle-turn.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { lastConversation } from "../sessions/conversations.ts";
import type { FoundAgent } from "../sessions/find.ts";
import type { LaunchedSession } from "../sessions/launch.ts";
import { gatewayIdentity } from "../sessions/manifest.ts";
import {
  beginInstance,
  planRelaunch,
  type RelaunchDeps,
  type RelaunchPlan,
  relaunchSession,
} from "../sessions/relaunch.ts";
import type { Environment } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import { canResume, type Resume } from "../sessions/tool-arguments.ts";
import { instanceId, type TmuxPane } from "../terminal/tmux/command.ts";
import { type AttachDeps, type Attached, attachGateway, type Reconciliation } from "./attach-gateway.ts";
import { claimOf, linkedStatus, linkGateway } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";
import { endLeftProgram, stopGateway } from "./stop-agent.ts";

interface Relaunched {
  session: LaunchedSession;
  /** False for an agent that got a new tmux session. */
  inPlace: boolean;
  /** Null when none runs. */
  attached: Attached | null;
  missingVariables: string[];
}

const seenWithinMs = 10_000;
const pollIntervalMs = 50;

/**
 * Starts a stopped or running agent again (see `planRelaunch`, `relaunchSession`). A running one keeps its
 * gateway, a stopped one gets one when `gateway`, and so does one whose gateway died. It is a new instance:
 * what was accepted before waits for an operator, and `reconcile` is the operator's word, for which a gateway
 * is started when none runs (ruling 5). Where nothing waits, the relaunch itself is that word.
 * `needsVariables`: as `planAgentRelaunch`. Throws as these do, `conflict` when a former gateway cannot be ended, `unavailable` when the gateway does not see the new instance.
 */
export async function relaunchAgent(
  deps: RelaunchDeps & AttachDeps,
  agent: FoundAgent,
  wish: {
    resume: Resume;
    reconcile: Reconciliation | null;
    gateway: boolean;
    needsVariables?: boolean;
  },
): Promise<Relaunched> {
  const plan = await planAgentRelaunch(deps, agent, wish);
  const { missingVariables } = plan;
  const inPlace = plan.pane !== null;
  if (!inPlace) await clearRemains(deps, agent);
  if (plan.headless) await endFormerInstance(deps, agent, plan);
  const { session, pane } = await relaunchSession(deps, agent, plan);
  const done = { session, inPlace, missingVariables };
  const link = inPlace ? await linkOf(deps, session) : null;
  const serves = link?.state === "healthy";
  // One that was detached was not wanted; one that died is missed.
  const needs =
    link === null ||
    (link.state === "stale" && !recordedProcessLives(deps.processes, claimOf(link.instance)));
  if (!serves && !(wish.reconcile || (wish.gateway && needs))) {
    // The next gateway of this instance takes the relaunch for the operator's word.
    if (await isQueueEmpty(deps, session)) {
      const reconciledInstanceId = instanceOf(session, pane);
      openSessionFolder(deps.files, session.sessionRoot).saveWish({ reconciledInstanceId });
    }
    return { ...done, attached: null };
  }
  const seen = serves ? await awaitSeen(deps, session, pane, { unlessGone: false }) : null;
  const isEmpty = async () => (seen ? showsEmptyQueue(seen) : await isQueueEmpty(deps, session));
  const reconcile = wish.reconcile ?? ((await isEmpty()) ? "drop" : undefined);
  return { ...done, attached: await attachGateway(deps, session, { reconcile }) };
}

/**
 * As `planRelaunch`. `needsVariables`: refused when a variable of its launch has no value here. Changes
 * nothing.
 */
export async function planAgentRelaunch(
  deps: RelaunchDeps,
  agent: FoundAgent,
  { resume, needsVariables }: { resume: Resume; needsVariables?: boolean },
): Promise<RelaunchPlan> {
  const plan = await planRelaunch(deps, agent, resume);
  const { missingVariables } = plan;
  if (!needsVariables || missingVariables.length === 0) return plan;
  const name = agent.manifest.agent_name;
  throw new ServiceError(
    "precondition_failed",
    `"${name}" was started with ${missingVariables.join(", ")}, for which there is no value here; a relaunch from your terminal has them`,
    { data: { remedy: { code: "relaunch_agent", agent_name: name } satisfies Remedy } },
  );
}

/** With which conversation an agent goes on, or why with a new one, as a clause. */
type OwnConversation = { id: string; why: null } | { id: null; why: string };

/** The conversation that this very session had last. Source: decision 137. */
export function findConversation(
  { files, env }: { files: Files; env: Environment },
  { manifest, sessionRoot }: Pick<FoundAgent, "manifest" | "sessionRoot">,
): OwnConversation {
  const { tool, launch_plan: plan } = manifest;
  const headless = manifest.headless !== undefined;
  if (!headless && !canResume(tool)) return { id: null, why: `${tool} is not known to go on with one` };
  const id = headless
    ? lastHeadlessConversation(files, sessionRoot)
    : lastConversation(files, sessionRoot, { tool, env, home: plan.home_selector.home_path });
  return id === null ? { id, why: "it has had none that is still there" } : { id, why: null };
}

function lastHeadlessConversation(files: Files, sessionRoot: string): string | null {
  const turns = createTurnDirectories({ files, sessionRoot }).list(turnsLookedAt);
  return turns.map((turn) => turn.result()?.session_id ?? null).find((id) => id !== null) ?? null;
}

/** Of the newest turns. */
const turnsLookedAt = 20;

async function isQueueEmpty(deps: AttachDeps, session: Served): Promise<boolean> {
  const link = await linkOf(deps, session);
  return showsEmptyQueue(linkedStatus(deps, session, link));
}

/**
 * Whether no request of the former instance is left to fail; a queue that cannot be read may hold some. One
 * whose agent is away or new was read. Pure.
 */
export function showsEmptyQueue({
  queue_depth: depth,
  admission_block: block,
}: Pick<GatewayStatus, "queue_depth" | "admission_block">): boolean {
  const ofAgent = block?.reason === "reconciliation_required" || block?.reason === "agent_unavailable";
  return depth === 0 && (block === undefined || ofAgent);
}

/**
 * A gateway knows its session by name, and one of an earlier instance holds the queue; a session of ours may
 * be empty.
 */
async function clearRemains(deps: RelaunchDeps & AttachDeps, agent: FoundAgent): Promise<void> {
  const { manifest } = agent;
  const stop = await stopGateway(deps, agent);
  if (stop.outcome === "unproven") {
    throw new ServiceError("conflict", `process ${stop.pid} may still be its gateway: ${stop.why}`);
  }
  const { surviving } = await endLeftProgram(deps, manifest);
  if (surviving.length > 0) {
    throw new ServiceError("conflict", `its former process ${surviving.join(", ")} does not end`);
  }
  if (manifest.agent_launch_authority.session_origin === "joined_tmux") return;
  await deps.tmuxFor(manifest.tmux.socket).killSession("relaunch.remains", manifest.tmux_session_name);
}

/**
 * Ends the turns of a headless agent. Its gateway first sees the new instance, for which it begins nothing:
 * otherwise the end of a turn would hand the next prompt to a pane that is about to be taken. Cut short at
 * any point it leaves a queue that is closed, and an agent that can be relaunched.
 */
async function endFormerInstance(deps: RelaunchDeps & AttachDeps, agent: FoundAgent, plan: RelaunchPlan) {
  const { sessionRoot } = agent;
  // Without a pane there is no gateway any more.
  if (plan.pane) {
    const manifest = await beginInstance(deps, agent, plan);
    await awaitSeen(deps, { manifest, sessionRoot }, plan.pane, { unlessGone: true });
  }
  await stopTurns(deps, sessionRoot);
}

const instanceOf = ({ manifest }: Served, pane: TmuxPane): string =>
  manifest.headless ? headlessInstanceId(pane, manifest) : instanceId(pane);

type Served = Pick<LaunchedSession, "manifest" | "sessionRoot">;

const linkOf = (deps: AttachDeps, { manifest, sessionRoot }: Served) =>
  linkGateway(deps, { sessionRoot, attachIdentity: gatewayIdentity(manifest).attachIdentity });

/**
 * Reconciling before the gateway has seen the new instance would agree to the old one. It also has to see the
 * program, which it may do a moment after us: the answer says whether the queue takes requests. A program
 * that has ended by then is not waited for longer. `unlessGone`: a gateway that does not answer is not waited
 * for, and null is returned.
 */
async function awaitSeen(
  deps: AttachDeps,
  session: Served,
  pane: TmuxPane,
  { unlessGone }: { unlessGone: boolean },
): Promise<GatewayStatus | null> {
  const wanted = instanceOf(session, pane);
  const deadlineMs = deps.clock.monotonicMs() + seenWithinMs;
  for (;;) {
    const link = await linkOf(deps, session);
    const isSeen = link.state === "healthy" && link.status.managed_agent_instance_id === wanted;
    if (isSeen && link.status.admission_block?.reason !== "agent_unavailable") return link.status;
    if (link.state !== "healthy" && unlessGone) return null;
    if (deps.clock.monotonicMs() >= deadlineMs) {
      if (isSeen) return link.status;
      const why = link.state === "healthy" ? "it still knows the old one" : link.why;
      throw new ServiceError("unavailable", `the gateway does not see the new instance: ${why}`);
    }
    await sleep(deps.clock, pollIntervalMs);
  }
}
