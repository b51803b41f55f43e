import { type TSchema, Type } from "@sinclair/typebox";
import { type Endpoint, type ErrorReplies, RefusedOrInvalid } from "./endpoint.ts";
import { gatewayEndpoints as gateway, streamEndpoints as streams } from "./endpoints.ts";
import { ErrorBody } from "./wire.ts";

/**
 * An operation of the coordinator that the gateway of one agent carries out: what it is sent, what it answers and
 * under which status is the gateway's (contract 4.4).
 */
export interface ForwardedEndpoint extends Endpoint {
  /** Path at the gateway; its parameters have the same names. */
  readonly gatewayPath: string;
  /** How long the gateway may take to begin its answer, and between two parts of one. */
  readonly timeoutMs: number;
  /** Refused with 503 for an agent without a mailbox (contract 4.4 rule 5, 7). */
  readonly needsMailbox: boolean;
}

const ofMailbox = /^\/(mail|gateway\/mail-notifier)(\/|$)/;

/** The coordinator's own refusals: unknown agent, ambiguous alias, no eligible live gateway. */
const ownRefusals = { 404: ErrorBody, 409: ErrorBody, 503: ErrorBody } as const;

const usualTimeoutMs = 5_000;
/** A context reset alone may take 15 s. */
const promptTimeoutMs = 25_000;
/** A delivery with large attachments takes its time. */
const mailTimeoutMs = 60_000;
/** A long conversation is read for the first time, or searched. */
const transcriptTimeoutMs = 30_000;
/** The gateway decides when a wait is over; an hour is the longest it takes. */
const waitTimeoutMs = 3_605_000;

function forward(path: string, endpoint: Endpoint, timeoutMs = usualTimeoutMs): ForwardedEndpoint {
  return {
    ...endpoint,
    path: `/svc/agents/:agent_ref${path}`,
    gatewayPath: endpoint.path,
    errors: withOwn(endpoint),
    timeoutMs,
    needsMailbox: ofMailbox.test(path),
  };
}

function withOwn({ errors, body }: Endpoint): ErrorReplies {
  const merged: Record<number, TSchema> = { ...(body === null ? {} : { 422: RefusedOrInvalid }), ...errors };
  for (const [status, schema] of Object.entries(ownRefusals)) {
    const theirs = errors[Number(status)];
    merged[Number(status)] =
      theirs === undefined || theirs === schema ? schema : Type.Union([theirs, schema]);
  }
  return merged;
}

/** Every forwarded operation; handlers, OpenAPI document and contract tests follow from this table. */
export const forwardedEndpoints = {
  agentControlPrompt: forward("/gateway/control/prompt", gateway.controlPrompt, promptTimeoutMs),
  agentSendKeys: forward("/gateway/control/send-keys", gateway.sendKeys),
  agentReconcile: forward("/gateway/control/reconcile", gateway.reconcile),
  agentHeadlessState: forward("/gateway/control/headless/state", gateway.headlessState),
  agentNextPromptSession: forward("/gateway/control/headless/next-prompt-session", gateway.nextPromptSession),
  agentTerminalState: forward("/gateway/tui/state", gateway.terminalState),
  agentTerminalHistory: forward("/gateway/tui/history", gateway.terminalHistory),
  agentNotePrompt: forward("/gateway/tui/note-prompt", gateway.notePrompt),
  agentExplain: forward("/gateway/tui/explain", gateway.explain),
  agentWait: forward("/gateway/tui/wait", gateway.wait, waitTimeoutMs),
  agentDecide: forward("/gateway/tui/decide", gateway.decide, promptTimeoutMs),
  agentTranscript: forward("/gateway/transcript", gateway.transcript, transcriptTimeoutMs),
  agentTranscriptTurn: forward("/gateway/transcript/:turn_id", gateway.transcriptTurn, transcriptTimeoutMs),
  agentSubmitGatewayRequest: forward("/gateway/requests", gateway.submitRequest),
  agentListGatewayRequests: forward("/gateway/requests", gateway.listRequests),
  agentReadGatewayRequest: forward("/gateway/requests/:request_id", gateway.readRequest),
  agentCreateReminders: forward("/gateway/reminders", gateway.createReminders),
  agentListReminders: forward("/gateway/reminders", gateway.listReminders),
  agentReadReminder: forward("/gateway/reminders/:reminder_id", gateway.readReminder),
  agentUpdateReminder: forward("/gateway/reminders/:reminder_id", gateway.updateReminder),
  agentDeleteReminder: forward("/gateway/reminders/:reminder_id", gateway.deleteReminder),
  agentReadNotifier: forward("/gateway/mail-notifier", gateway.readNotifier),
  agentUpdateNotifier: forward("/gateway/mail-notifier", gateway.updateNotifier),
  agentDisableNotifier: forward("/gateway/mail-notifier", gateway.disableNotifier),
  agentNotifierAudit: forward("/gateway/mail-notifier/audit", gateway.notifierAudit),
  agentMailStatus: forward("/mail/status", gateway.mailStatus),
  agentMailList: forward("/mail/list", gateway.mailList, mailTimeoutMs),
  agentMailPeek: forward("/mail/peek", gateway.mailPeek),
  agentMailRead: forward("/mail/read", gateway.mailRead),
  agentMailSend: forward("/mail/send", gateway.mailSend, mailTimeoutMs),
  agentMailPost: forward("/mail/post", gateway.mailPost, mailTimeoutMs),
  agentMailReply: forward("/mail/reply", gateway.mailReply, mailTimeoutMs),
  agentMailMark: forward("/mail/mark", gateway.mailMark),
  agentMailMove: forward("/mail/move", gateway.mailMove),
  agentMailArchive: forward("/mail/archive", gateway.mailArchive),
} as const satisfies Readonly<Record<string, ForwardedEndpoint>>;

/** The same of an answer that does not end by itself: silence of 60 s ends it, a gateway is never silent for long. */
export const forwardedStreams = {
  agentGatewayEvents: forward("/gateway/events", streams.events, 60_000),
} as const satisfies Readonly<Record<string, ForwardedEndpoint>>;
