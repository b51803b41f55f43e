import type { AttentionAnswered, AttentionAnswerRequest, AttentionItem } from "../../protocol/attention.ts";
import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { DecisionAnswer, DecisionResult } from "../../protocol/terminal.ts";
import { chooseAnswer, movedOn, sendAnswer } from "../../services/attention/answer.ts";
import { decideAttention } from "../../services/attention/decide.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import type { GatewayClient } from "../../services/fleet/gateway-client.ts";
import { linkGateway } from "../../services/fleet/gateway-link.ts";
import { isRunning, openRecord } from "../../services/sessions/find.ts";
import { gatewayIdentity } from "../../services/sessions/manifest.ts";
import { ServiceError } from "../../system/errors.ts";
import { factsIn } from "../agent/attention-text.ts";
import { lookAtAgents } from "../agent/look-at-agents.ts";
import { requireAnswerer } from "../agent/questions.ts";
import { type AgentCaller, bodyOf, openLiveTarget, requireMayAnswer } from "../agent/target.ts";
import { toWholeName } from "../agent/team-scope.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import type { Caller } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { openPeopleMail } from "../command-line/mailbox-openers.ts";
import { warn } from "../command-line/narrate.ts";

type Named = Pick<AttentionItem, "agent_name" | "agent_id">;

/** Whether something is about the agent of a name or id; about any without one. */
export async function attentionFilter(
  { io, inherited }: Caller,
  agent: string | undefined,
): Promise<(one: Named) => boolean> {
  if (agent === undefined) return () => true;
  const who = await toWholeName(openCliContext(io, inherited), io, agent);
  return ({ agent_name, agent_id }) => agent_name === who || agent_id === who;
}

/** What waits for a person, oldest first. */
export async function listAttention(
  { io, inherited }: Caller,
  isWanted: (one: Named) => boolean,
): Promise<AttentionItem[]> {
  const context = openCliContext(io, inherited);
  const people = openPeopleMail(context, (what) => void warn(io, what));
  const [snapshots, mail] = await Promise.all([
    lookAtRunning({ io, inherited }, context, isWanted),
    people.unread(),
  ]);
  return decideAttention(io.advise, factsIn(snapshots), context.clock.nowMs(), mail).filter(isWanted);
}

/**
 * Answers a question. Throws `precondition_failed` when the agent asks another one by then, or where the
 * caller may not answer it.
 */
export async function answerQuestion(
  { io, inherited }: Caller,
  { id, ...given }: AttentionAnswerRequest & { id: string },
): Promise<AttentionAnswered> {
  const context = openCliContext(io, inherited);
  if (id.startsWith("mail-")) {
    const mail = await openPeopleMail(context, (what) => void warn(io, what)).unread();
    const item = decideAttention(io.advise, [], context.clock.nowMs(), mail).find((one) => one.id === id);
    if (item) chooseAnswer(item, { answer: given.answer });
  }
  for (const { record, attention: facts } of await lookAtRunning({ io, inherited }, context)) {
    const item =
      facts && decideAttention(io.advise, [facts], context.clock.nowMs()).find((one) => one.id === id);
    if (!item) continue;
    const isPermission = () => item.kind === "permission";
    await requireAnswerer({ io, inherited }, { agentId: item.agent_id, isPermission });
    const outcome = await sendAnswer({ item, decision: facts.decision }, given, () =>
      openClient(context, record),
    );
    if (outcome.kind !== "refused") return outcome.body;
    const { detail } = outcome.body as { detail?: unknown };
    throw new CommandFailure(exitCodes.refused, String(detail), outcome.body);
  }
  throw movedOn(id);
}

/** The gateway reads the screen after each key that moves the selection. */
const decideTimeoutMs = 30_000;

/** Chooses an option of what the agent asks now. Throws where the caller may not. */
export async function chooseOption(
  caller: AgentCaller,
  answer: Omit<DecisionAnswer, "schema_version">,
): Promise<DecisionResult> {
  const target = await openLiveTarget(caller);
  await requireMayAnswer(caller, target);
  const response = await target.link.client.call("decide", {
    body: { schema_version: 1, ...answer },
    timeoutMs: decideTimeoutMs,
  });
  return bodyOf<GatewayEndpoints["decide"]>(response);
}

/** One look at the wanted ones of the agents that run, by the same reader as `agents list`. */
async function lookAtRunning(
  { io }: Caller,
  context: CliContext,
  isWanted: (record: RegistryRecord) => boolean = () => true,
): Promise<AgentSnapshot[]> {
  const running = context.registry.list().records.filter((one) => isRunning(one) && isWanted(one));
  return lookAtAgents({ context, onWarning: (text) => void warn(io, text) }, running);
}

async function openClient(context: CliContext, record: RegistryRecord): Promise<GatewayClient> {
  const { manifest, sessionRoot } = openRecord(context.files, record);
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(context, { sessionRoot, attachIdentity });
  if (link.state === "healthy") return link.client;
  throw new ServiceError("unavailable", `no healthy gateway serves "${record.agent_name}" (${link.why})`);
}
