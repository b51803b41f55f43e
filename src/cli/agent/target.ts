import { Value } from "@sinclair/typebox/value";
import type { Endpoint } from "../../protocol/endpoint.ts";
import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import { type Advise, addSentence } from "../../protocol/remedy.ts";
import { ErrorBody } from "../../protocol/wire.ts";
import type { Diagnosis } from "../../services/fleet/diagnose.ts";
import { diagnoseServed, diagnoseUnserved } from "../../services/fleet/diagnose-agent.ts";
import type { CallResult, GatewayClient } from "../../services/fleet/gateway-client.ts";
import { type GatewayLink, linkGateway } from "../../services/fleet/gateway-link.ts";
import {
  type AgentSelector,
  type FoundAgent,
  findRecord,
  findSelf,
  openRecord,
} from "../../services/sessions/find.ts";
import { gatewayIdentity } from "../../services/sessions/manifest.ts";
import { ServiceError } from "../../system/errors.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type Caller, type CliIo, type CommandCaller, UsageError } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { agentCommand, type NamedAgent, toSentence, withRemedy } from "../command-line/remedies.ts";
import { requireAnswerer } from "./questions.ts";
import { findNamed } from "./team-scope.ts";

export interface Target {
  context: CliContext;
  agent: FoundAgent;
  /** How this agent is named on a command line, for the hints we print. */
  commandPrefix: string;
  /** A remedy in the terms of the program, for this agent. */
  advise: Advise;
}

interface RecordTarget extends Omit<Target, "agent"> {
  record: RegistryRecord;
}

/** Who calls an operation, and the agent that it is about: `self` is the one in whose session this runs. */
export interface AgentCaller extends Caller {
  whom: "self" | AgentSelector;
}

export type CallOf = AgentCaller | CommandCaller;

/** The agent that `agents single --agent-name|--agent-id` or `agents self` means. */
export async function openTarget(call: CallOf): Promise<Target> {
  const { io, whom } = toCaller(call);
  const context = openCliContext(io, call.inherited);
  if (whom === "self") {
    const { files, registry, paneTmux: tmux, clock } = context;
    const agent = await findSelf({ files, registry, tmux, env: io.env, nowMs: clock.nowMs() });
    return { context, agent, ...namedIn(io, whom) };
  }
  const { record, ...named } = await findSelected(context, io, whom);
  try {
    return { context, agent: openRecord(context.files, record), ...named };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const remedy = toSentence(named.advise({ code: "stop_agent", agent_name: record.agent_name }));
    throw new ServiceError(error.reason, addSentence(error.message, remedy), { cause: error });
  }
}

/** The same for what needs no manifest, such as ending an agent whose manifest is damaged. */
export async function openRecordTarget(call: CallOf): Promise<RecordTarget> {
  const context = openCliContext(call.io, call.inherited);
  const { io, whom } = toCaller(call);
  if (whom === "self") {
    const { agent, commandPrefix, advise } = await openTarget(call);
    if (agent.record) return { context, record: agent.record, commandPrefix, advise };
    throw new ServiceError("not_found", `"${agent.manifest.agent_name}" has no record`);
  }
  return { context, ...(await findSelected(context, io, whom)) };
}

/** The caller of a command of `agents`, by its flags and words. */
export function toCaller(call: CallOf): AgentCaller {
  if (!("path" in call)) return call;
  const { io, inherited, path, whom = path.includes("self") ? "self" : readSelector(call) } = call;
  return { io, inherited, whom };
}

async function findSelected(context: CliContext, io: CliIo, selector: AgentSelector) {
  const named = async ({ agentName }: { agentName: string }) => findNamed(context, io, agentName);
  const record = "agentId" in selector ? findRecord(context, selector) : await named(selector);
  // Which one a name means in a team is in its record.
  const agent = "agentId" in selector ? selector : { agentName: record.agent_name };
  return { record, ...namedIn(io, agent) };
}

/** How the texts name the agent. */
function namedIn(io: CliIo, agent: NamedAgent): Pick<Target, "commandPrefix" | "advise"> {
  return { commandPrefix: agentCommand(agent), advise: (remedy) => io.advise(remedy, agent) };
}

function readSelector({ inherited, path }: CommandCaller): AgentSelector {
  const name = textOf(inherited["agent-name"]);
  const id = textOf(inherited["agent-id"]);
  if ((name === undefined) === (id === undefined)) {
    throw new UsageError("give exactly one of --agent-name and --agent-id", path);
  }
  return id === undefined ? { agentName: name ?? "" } : { agentId: id };
}

export type LiveLink = Extract<GatewayLink, { state: "healthy" }>;

/**
 * The agent together with its healthy gateway, whose refusals of requests say what can be done; without one
 * the command ends as unreachable and says what leads back to one.
 */
export async function openLiveTarget(call: CallOf): Promise<Target & { link: LiveLink }> {
  const { target, link, why } = await openMaybeLive(call);
  if (link !== null) return { ...target, link };
  throw new CommandFailure(exitCodes.unreachable, why, { error: "unreachable", detail: why });
}

/**
 * The same for what can also be read without a gateway: its link is then null, and `why` says what leads back
 * to one.
 */
export async function openMaybeLive(
  call: CallOf,
): Promise<
  | { target: Target; link: LiveLink; why: null }
  | { target: Target; link: null; why: string; diagnosis: Diagnosis }
> {
  const target = await openTarget(call);
  const { manifest, sessionRoot } = target.agent;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(target.context, { sessionRoot, attachIdentity });
  if (link.state === "healthy") {
    return {
      target,
      link: { ...link, client: adviseRefusals(link.client, target) },
      why: null,
    };
  }
  const diagnosis = await diagnoseUnserved(target.context, target.agent);
  const why = `no healthy gateway serves "${manifest.agent_name}" (${link.why}). ${adviseUnserved(target, diagnosis)}`;
  return { target, link: null, why, diagnosis };
}

/** What leads back to a healthy gateway, behind a sentence that says that there is none. Pure. */
export function adviseUnserved({ advise }: Pick<Target, "advise">, diagnosis: Diagnosis): string {
  const { problem, detail, remedy } = diagnosis;
  const step = toSentence(advise(remedy));
  if (problem === "gateway_missing") return step;
  return `${detail.charAt(0).toUpperCase()}${detail.slice(1)}. ${step}`;
}

/** Why a gateway lets no request in, and what can be done; undefined where it lets them in. Pure. */
export function blockText(
  { agent, advise }: Pick<Target, "agent" | "advise">,
  status: GatewayStatus,
  diagnosis: Diagnosis | null = diagnoseServed(agent, status),
): string | undefined {
  const { admission_block: block } = status;
  return block && withRemedy(block.detail, diagnosis?.remedy ?? null, advise);
}

/**
 * Wraps a client so that a refused request also names the next command. The refusal itself has no code for
 * the reason, so this asks for the gateway's status.
 */
function adviseRefusals(client: GatewayClient, { agent, advise }: Target): GatewayClient {
  return {
    ...client,
    async call(name, options) {
      const response = await client.call(name, options);
      if (name !== "submitRequest" || response.kind !== "refused") return response;
      const status = await client.call("status", {});
      const found = status.kind === "ok" ? diagnoseServed(agent, status.body) : null;
      if (found === null || !Value.Check(ErrorBody, response.body)) return response;
      const detail = withRemedy(response.detail, found.remedy, advise);
      return { ...response, detail, body: { ...response.body, detail } };
    },
  };
}

function textOf(value: string | boolean | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * Throws where the caller is an agent that may not answer what the agent asks now; where it asks nothing,
 * none is refused.
 */
export async function requireMayAnswer(
  { io, inherited }: Caller,
  { agent, link }: Target & { link: LiveLink },
): Promise<void> {
  const terminal = await link.client.call("terminalState", {});
  // An agent without a terminal asks through its status.
  const asked =
    terminal.kind === "refused"
      ? bodyOf<GatewayEndpoints["status"]>(await link.client.call("status", {})).awaiting_decision
      : bodyOf<GatewayEndpoints["terminalState"]>(terminal).awaiting_decision;
  if (!asked) return;
  const { isPermission } = await import("../../services/attention/decide.ts");
  await requireAnswerer(
    { io, inherited },
    { agentId: agent.manifest.agent_id, isPermission: () => isPermission(asked) },
  );
}

/** The body of a successful call. Any other outcome ends the command with the gateway's message. */
export function bodyOf<E extends Endpoint>(
  response: CallResult<E>,
): Extract<CallResult<E>, { kind: "ok" }>["body"] {
  switch (response.kind) {
    case "ok":
      return response.body;
    case "refused":
      throw new CommandFailure(exitCodes.refused, response.detail, response.body);
    case "unreachable":
      throw new CommandFailure(exitCodes.unreachable, response.detail, {
        error: "unreachable",
        detail: response.detail,
      });
  }
}

/**
 * As `bodyOf`, for a call that must not be repeated: it may have arrived although its answer is missing.
 * `look`: the command that shows whether it did.
 */
export function acceptanceOf<E extends Endpoint>(
  response: CallResult<E>,
  look: string,
): Extract<CallResult<E>, { kind: "ok" }>["body"] {
  if (response.kind !== "unreachable" || !response.sent) return bodyOf(response);
  const detail = `whether it was accepted is not known: ${response.detail}. See: ${look}`;
  throw new CommandFailure(exitCodes.unreachable, detail, { error: "unknown", detail });
}
