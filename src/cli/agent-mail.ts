import type { BodyOf, ReplyOf } from "../protocol/endpoint.ts";
import type { GatewayEndpoints } from "../protocol/endpoints.ts";
import type { AttachmentInput, MailResolveLive } from "../protocol/mail.ts";
import type { GatewayClient, Reply } from "../services/fleet/gateway-client.ts";
import { type GatewayLink, linkGateway } from "../services/fleet/gateway-link.ts";
import { createMailBinding, isOutOfReach, type MailBinding } from "../services/mail/binding.ts";
import { createMailFacade, type MailFacade } from "../services/mail/facade.ts";
import type { AskedOperation } from "../services/mail/fallback.ts";
import { toResolveLive } from "../services/mail/resolve-live.ts";
import { attachmentRoots } from "../services/sessions/desired-config.ts";
import type { FoundAgent } from "../services/sessions/find.ts";
import { gatewayIdentity } from "../services/sessions/gateway-folder.ts";
import { sessionPaths } from "../services/sessions/roots.ts";
import type { CliContext } from "./cli-context.ts";
import type { CliIo } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";
import { bodyOf } from "./gateway-call.ts";
import { isLoopback } from "./listener-flags.ts";
import { askInTerminal, type MailAsked } from "./mail-by-terminal.ts";
import type { MailTarget } from "./mail-target.ts";
import { mailboxOpeners } from "./mailbox-openers.ts";

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

export type MailVerb = keyof typeof endpointOf;
type MailEndpoint<V extends MailVerb> = GatewayEndpoints[(typeof endpointOf)[V]];
export type MailRequest<V extends MailVerb> = BodyOf<MailEndpoint<V>>;

/** How a mail operation was carried out (contract 4.5). What was read back from the mailbox is verified. */
interface Execution<V extends MailVerb> {
  operation: V;
  authoritative: true;
  status: "verified";
  execution_path: "gateway_backed" | "manager_direct";
}
export type MailDone<V extends MailVerb> = Omit<ReplyOf<MailEndpoint<V>>, "operation"> & Execution<V>;

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
    const act = facade[verb] as (request: unknown) => Promise<ReplyOf<MailEndpoint<V>>>;
    return act(request);
  });
  return { done: executed(payload, verb, "manager_direct") };
}

/**
 * Whether a file is to be attached that the gateway does not take: this process has the rights of the user who typed the
 * command, and opens it itself.
 */
function opensItself({ context, agent }: MailTarget, request: object | undefined): boolean {
  const { attachments = [] } = (request ?? {}) as { attachments?: readonly AttachmentInput[] | null };
  if (agent === null || attachments === null || attachments.length === 0) return false;
  const roots = attachmentRoots(context.files, agent);
  return attachments.some(({ path }) => !context.files.isBelow(path, roots));
}

/**
 * The same; where neither a gateway nor the mailbox can be reached, the agent itself is asked in its live terminal
 * (contract 4.5).
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

/** Where the agent's mailbox is and which healthy gateway serves it. Throws when the mailbox cannot be acted on. */
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
  payload: ReplyOf<MailEndpoint<V>>,
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
): Promise<ReplyOf<MailEndpoint<V>> | null> {
  if (target.agent === null) return null;
  const link = await linkTo(target.context, target.agent);
  if (link.state !== "healthy" || !isLoopback(link.instance.host)) return null;
  const call = link.client.call as (
    name: keyof GatewayEndpoints,
    options: { body: unknown; timeoutMs: number },
  ) => ReturnType<GatewayClient["call"]>;
  const reply = (await call(endpointOf[verb], { body: request, timeoutMs: callTimeoutMs })) as Reply<
    MailEndpoint<V>
  >;
  if (reply.kind !== "unreachable") return bodyOf(reply);
  if (harmless.has(verb)) return null;
  throw new CommandFailure(
    exitCodes.unreachable,
    `the gateway's answer to "${verb}" was lost (${reply.detail}); it may have been carried out. Look with: mail list`,
    { error: "unreachable", detail: reply.detail },
  );
}
