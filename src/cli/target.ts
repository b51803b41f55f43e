import type { RegistryRecord } from "../protocol/files.ts";
import { type GatewayLink, linkGateway } from "../services/fleet/gateway-link.ts";
import {
  type AgentSelector,
  type FoundAgent,
  findRecord,
  findSelf,
  openRecord,
} from "../services/sessions/find.ts";
import { gatewayIdentity } from "../services/sessions/gateway-folder.ts";
import { ServiceError } from "../system/errors.ts";
import { type CliContext, openCliContext } from "./cli-context.ts";
import { type Invocation, UsageError } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";
import { adviseRefusals, findRecoveryAdvice } from "./recovery-advice.ts";

export interface Target {
  context: CliContext;
  agent: FoundAgent;
  /** How this agent is named on a command line, for the hints we print. */
  commandPrefix: string;
}

export interface RecordTarget extends Omit<Target, "agent"> {
  record: RegistryRecord;
}

/** The agent that `agents single --agent-name|--agent-id` or `agents self` means. */
export async function openTarget(invocation: Invocation<never> | Invocation): Promise<Target> {
  const { inherited, path, io } = invocation;
  const context = openCliContext(io, inherited);
  if (path.includes("self")) {
    const { files, registry, paneTmux: tmux, clock } = context;
    const agent = await findSelf({ files, registry, tmux, env: io.env, nowMs: clock.nowMs() });
    return { context, agent, commandPrefix: "svc-mgr agents self" };
  }
  const selector = readSelector(invocation);
  const record = findRecord(context, selector);
  const commandPrefix = commandPrefixOf(selector);
  try {
    return { context, agent: openRecord(context.files, record), commandPrefix };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const wayOut = `All that can be done is to end it: ${commandPrefix} stop`;
    throw new ServiceError(error.reason, `${error.message}. ${wayOut}`, { cause: error });
  }
}

/** The same for what needs no manifest, such as ending an agent whose manifest is damaged. */
export function openRecordTarget(invocation: Invocation<never> | Invocation): RecordTarget {
  const context = openCliContext(invocation.io, invocation.inherited);
  const selector = readSelector(invocation);
  return { context, record: findRecord(context, selector), commandPrefix: commandPrefixOf(selector) };
}

function readSelector({ inherited, path }: Invocation<never> | Invocation): AgentSelector {
  const name = textOf(inherited["agent-name"]);
  const id = textOf(inherited["agent-id"]);
  if ((name === undefined) === (id === undefined)) {
    throw new UsageError("give exactly one of --agent-name and --agent-id", path);
  }
  return id === undefined ? { agentName: name ?? "" } : { agentId: id };
}

function commandPrefixOf(selector: AgentSelector): string {
  const commandPrefix =
    "agentId" in selector ? `--agent-id ${selector.agentId}` : `--agent-name ${selector.agentName}`;
  return `svc-mgr agents single ${commandPrefix}`;
}

export type LiveLink = Extract<GatewayLink, { state: "healthy" }>;

/**
 * The agent together with its healthy gateway, whose refusals of requests say what can be done; without one the command
 * ends as unreachable and says what leads back to one.
 */
export async function openLiveTarget(
  invocation: Invocation<never> | Invocation,
): Promise<Target & { link: LiveLink }> {
  const { target, link, why } = await openMaybeLive(invocation);
  if (link !== null) return { ...target, link };
  throw new CommandFailure(exitCodes.unreachable, why, { error: "unreachable", detail: why });
}

/** The same for what can also be read without a gateway: its link is then null, and `why` says what leads back to one. */
export async function openMaybeLive(
  invocation: Invocation<never> | Invocation,
): Promise<{ target: Target; link: LiveLink; why: null } | { target: Target; link: null; why: string }> {
  const target = await openTarget(invocation);
  const { manifest, sessionRoot } = target.agent;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(target.context, { sessionRoot, attachIdentity });
  if (link.state === "healthy") {
    return {
      target,
      link: { ...link, client: adviseRefusals(link.client, target.commandPrefix) },
      why: null,
    };
  }
  const { advice } = await findRecoveryAdvice(target);
  const why = `no healthy gateway serves "${manifest.agent_name}" (${link.why}). ${advice}`;
  return { target, link: null, why };
}

function textOf(value: string | boolean | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
