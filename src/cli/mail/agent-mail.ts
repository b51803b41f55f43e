import type { BodyOf, ResponseOf } from "../../protocol/endpoint.ts";
import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import type { MailboxBinding } from "../../protocol/files.ts";
import type { AttachmentInput, MailResolveLive } from "../../protocol/mail.ts";
import { defaultTimings } from "../../protocol/terminal.ts";
import { submitAtOnce } from "../../services/agent/agent.ts";
import type { CallResult, GatewayClient } from "../../services/fleet/gateway-client.ts";
import { type GatewayLink, linkGateway } from "../../services/fleet/gateway-link.ts";
import { createMailBinding, isOutOfReach, type MailBinding } from "../../services/mail/binding.ts";
import { createMailFacade, type MailFacade } from "../../services/mail/facade.ts";
import {
  type AskedOperation,
  type AskedStatus,
  renderMailPrompt,
  toAskedStatus,
  verificationPaths,
} from "../../services/mail/fallback.ts";
import { toResolveLive } from "../../services/mail/resolve-live.ts";
import type { FoundAgent } from "../../services/sessions/find.ts";
import { gatewayIdentity } from "../../services/sessions/manifest.ts";
import { localInteractive } from "../../services/sessions/names.ts";
import { sessionPaths } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { profileFor } from "../../services/terminal/profiles/profile.ts";
import { timestampNow } from "../../system/clock.ts";
import { idStamp } from "../../system/ids.ts";
import { bodyOf, type Target } from "../agent/target.ts";
import { type CliContext, readProfiles } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { mailboxOpeners } from "../command-line/mailbox-openers.ts";
import { selfCommand } from "../command-line/version.ts";
import { loadGatewayExtensions } from "../extensions.ts";
import { createGatewayAgent } from "../gateway/gateway-agent.ts";
import { isLoopback } from "../gateway/gateway-flags.ts";
import type { MailTarget } from "./agent-mailbox.ts";

const endpointOf = {
  status: "mailStatus",
  list: "mailList",
  peek: "mailPeek",
  read: "mailRead",
  send: "mailSend",
  post: "mailPost",
  reply: "mailReply",
  mark: "mailMark",
  move: "mailMove",
  archive: "mailArchive",
} as const satisfies Record<keyof MailFacade, keyof GatewayEndpoints>;

type MailVerb = keyof typeof endpointOf;
type MailEndpoint<V extends MailVerb> = GatewayEndpoints[(typeof endpointOf)[V]];
type MailRequest<V extends MailVerb> = BodyOf<MailEndpoint<V>>;

/**
 * How a mail operation was carried out (contract 4.5). `verified`: the mailbox was read again and shows the
 * change.
 */
interface Execution<V extends MailVerb> {
  operation: V;
  authoritative: true;
  status: "verified";
  execution_path: "gateway_backed" | "manager_direct";
}
type MailDone<V extends MailVerb> = Omit<ResponseOf<MailEndpoint<V>>, "operation"> & Execution<V>;

/** A delivery with large attachments takes its time. */
const callTimeoutMs = 60_000;
/** What may be asked a second time although the first answer was lost. */
const harmless = new Set<MailVerb>(["status", "list", "peek"]);

/**
 * One mail operation: through the agent's gateway where one serves mail, else in the mailbox
 * directly. Never both when the first may have had an effect.
 */
export async function performMail<V extends MailVerb>(
  target: MailTarget,
  verb: V,
  request: MailRequest<V>,
): Promise<{ done: MailDone<V> }> {
  const answered = opensItself(target, request) ? null : await askGateway(target, verb, request);
  if (answered) return { done: executed(answered, verb, "gateway_backed") };
  const payload = await inMailbox(target, (binding) => {
    const facade = createMailFacade({ bound: binding.bound, served: true });
    const act = facade[verb] as (request: unknown) => Promise<ResponseOf<MailEndpoint<V>>>;
    return act(request);
  });
  return { done: executed(payload, verb, "manager_direct") };
}

/**
 * Whether a file is to be attached that the gateway does not take: this process has the rights of the user
 * who typed the command, and opens it itself.
 */
function opensItself({ context, agent }: MailTarget, request: object | undefined): boolean {
  const { attachments = [] } = (request ?? {}) as { attachments?: readonly AttachmentInput[] | null };
  if (agent === null || attachments === null || attachments.length === 0) return false;
  const roots = openSessionFolder(context.files, agent.sessionRoot).attachmentRoots(agent.manifest);
  return attachments.some(({ path }) => !context.files.isBelow(path, roots));
}

/**
 * The same; where neither a gateway nor the mailbox can be reached, the agent itself is asked in its live
 * terminal (contract 4.5).
 */
export async function performOrAsk<V extends AskedOperation>(
  target: MailTarget,
  verb: V,
  request: MailRequest<V>,
  io: Pick<CliIo, "interrupted">,
): Promise<{ done: MailDone<V> } | { asked: MailAsked }> {
  try {
    return await performMail(target, verb, request);
  } catch (error) {
    const { context, agent, commandPrefix } = target;
    if (!agent || !isOutOfReach(error)) throw error;
    const asked = await askInTerminal(
      { context, agent, commandPrefix },
      target.readBinding(),
      { operation: verb, request: request as object },
      io.interrupted(),
    );
    if (asked === null) throw error;
    return { asked };
  }
}

/**
 * Where the agent's mailbox is and which healthy gateway serves it. Throws when the mailbox cannot be acted
 * on.
 */
export async function resolveLive(target: MailTarget & { agent: FoundAgent }): Promise<MailResolveLive> {
  const { context, agent } = target;
  return inMailbox(target, async (binding) => {
    binding.bound();
    const link = await linkTo(context, agent);
    return toResolveLive(
      target.readBinding(),
      link.state === "healthy"
        ? { instance: link.instance, statePath: sessionPaths(agent.sessionRoot).state }
        : null,
    );
  });
}

function linkTo(context: CliContext, { manifest, sessionRoot }: FoundAgent): Promise<GatewayLink> {
  return linkGateway(context, { sessionRoot, attachIdentity: gatewayIdentity(manifest).attachIdentity });
}

/** `work` with the mailbox that is bound now. */
export async function inMailbox<T>(
  { context, readBinding, warn }: MailTarget,
  work: (binding: MailBinding) => Promise<T>,
): Promise<T> {
  const binding = createMailBinding({
    readBinding,
    openers: mailboxOpeners(context, warn),
    clock: context.clock,
  });
  try {
    return await work(binding);
  } finally {
    binding.close();
  }
}

function executed<V extends MailVerb>(
  payload: ResponseOf<MailEndpoint<V>>,
  operation: V,
  executionPath: Execution<V>["execution_path"],
): MailDone<V> {
  const execution: Execution<V> = {
    operation,
    authoritative: true,
    status: "verified",
    execution_path: executionPath,
  };
  return { ...payload, ...execution };
}

/** Null when no gateway answers or the one that does serves no mail. */
async function askGateway<V extends MailVerb>(
  target: MailTarget,
  verb: V,
  request: MailRequest<V>,
): Promise<ResponseOf<MailEndpoint<V>> | null> {
  if (target.agent === null) return null;
  const link = await linkTo(target.context, target.agent);
  if (link.state !== "healthy" || !isLoopback(link.instance.host)) return null;
  const call = link.client.call as (
    name: keyof GatewayEndpoints,
    options: { body: unknown; timeoutMs: number },
  ) => ReturnType<GatewayClient["call"]>;
  const response = (await call(endpointOf[verb], { body: request, timeoutMs: callTimeoutMs })) as CallResult<
    MailEndpoint<V>
  >;
  if (response.kind !== "unreachable") return bodyOf(response);
  if (harmless.has(verb)) return null;
  throw new CommandFailure(
    exitCodes.unreachable,
    `the gateway's answer to "${verb}" was lost (${response.detail}); it may have been carried out. Look with: mail list`,
    { error: "unreachable", detail: response.detail },
  );
}

/** What is reported of a mail operation that the agent itself was asked to do (contract 4.5). */
export interface MailAsked {
  schema_version: 1;
  transport: string;
  principal_id: string;
  address: string;
  bindings_version: string;
  operation: AskedOperation;
  authoritative: false;
  status: AskedStatus;
  execution_path: "tui_submission";
  request_id: string;
  verification_required: true;
  verification_paths: string[];
  detail: string;
  submitted_at_utc?: string;
}

/** How long the agent may take to be ready for a turn before it counts as busy. */
const readyMs = 8000;
const firstLookMs = 3000;

/**
 * Asks the agent in its terminal to do what nobody could do in its mailbox. Null when no terminal of it is
 * live, so that nothing was typed. What its screen shows afterwards is no proof and is not looked at.
 */
async function askInTerminal(
  target: Omit<Target, "advise">,
  binding: MailboxBinding,
  wish: { operation: AskedOperation; request: object },
  interrupted: AbortSignal,
): Promise<MailAsked | null> {
  const { clock, ids } = target.context;
  const requestId = `mailreq-${idStamp(clock.nowMs())}-${ids.hex(5)}`;
  const prompt = renderMailPrompt({ requestId, address: binding.address, ...wish });
  const asked = await submitAlone(target, prompt, interrupted);
  if (asked === null) return null;
  const { message_refs: refs = [] } = wish.request as { message_refs?: string[] };
  return {
    schema_version: 1,
    transport: binding.transport,
    principal_id: binding.principal_id,
    address: binding.address,
    bindings_version: binding.bindings_version,
    operation: wish.operation,
    authoritative: false,
    status: asked.status,
    execution_path: "tui_submission",
    request_id: requestId,
    verification_required: true,
    verification_paths: verificationPaths(wish.operation, target.commandPrefix, refs),
    detail: asked.detail,
    ...(asked.status === "submitted" ? { submitted_at_utc: timestampNow(clock) } : {}),
  };
}

/** Types into the agent's terminal as its gateway would, and in the place of one: never beside it. */
async function submitAlone(
  { context, agent: { manifest, sessionRoot } }: Pick<Target, "context" | "agent">,
  prompt: string,
  interrupted: AbortSignal,
): Promise<{ status: AskedStatus; detail: string } | null> {
  if (manifest.backend !== localInteractive) return null;
  if (!(await context.tmuxFor(manifest.tmux.socket).hasSession(manifest.tmux_session_name))) return null;
  const { runRoot, gatewayLock } = sessionPaths(sessionRoot);
  context.files.ensureDirectory("file:gateway-folder", runRoot);
  const lock = context.locks.tryTake(gatewayLock);
  if (!lock) return { status: "busy", detail: "another process drives the agent's terminal" };
  const createExtensions = await loadGatewayExtensions();
  const driven = createGatewayAgent({
    system: context.system,
    manifest,
    sessionRoot,
    env: context.env,
    profile: profileFor(manifest.tool, readProfiles(context.system, context.env)),
    timings: defaultTimings,
    log: { line: () => {} },
    events: { append: () => {} },
    bridgeCommand: [...selfCommand(), "turn-bridge"],
    extensions: createExtensions().flatMap(({ agent }) => agent ?? []),
  });
  try {
    driven.start();
    await driven.firstLook(firstLookMs);
    if (!driven.agent.connectivity().connected) return null;
    await driven.agent.terminal?.waitFor("ready", { timeoutMs: readyMs, signal: interrupted });
    if (interrupted.aborted)
      return { status: "interrupted", detail: "interrupted before anything was typed" };
    const submission = submitAtOnce(driven.agent, { prompt, policy: "turn_boundary", onEvidence: () => {} });
    const outcome = await Promise.race([submission, aborted(interrupted)]);
    if (outcome !== null) return toAskedStatus(outcome);
    // Let the submission finish: half a prompt in the composer would be worse than none.
    const isTyped = (await submission).outcome !== "refused";
    return { status: "interrupted", detail: isTyped ? "interrupted while it was typed" : "interrupted" };
  } finally {
    await driven.stop();
    lock.release();
  }
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
}
