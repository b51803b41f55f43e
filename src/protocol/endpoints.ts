import { type TSchema, Type } from "@sinclair/typebox";
import { aguiEndpoints, aguiStreamEndpoints } from "./agui.ts";
import { ScreenEvent, screenEventKinds } from "./console.ts";
import { consoleEndpoints, ownAgentEndpoints, terminalFrames, typingEndpoints } from "./console-endpoints.ts";
import { coreEndpoints } from "./core-endpoints.ts";
import { type Endpoint, type ErrorResponses, endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { eventKinds, eventNames, eventStream, GatewayEvent, maxFollowers } from "./events.ts";
import { ledgerEndpoints } from "./ledger.ts";
import { mailEndpoints } from "./mail-endpoints.ts";
import { metricsEndpoints } from "./metrics-endpoints.ts";
import { notifierEndpoints } from "./notifier.ts";
import { recorderEndpoints } from "./recorder.ts";
import { reminderEndpoints } from "./reminders.ts";
import { transcriptEndpoints } from "./transcript.ts";
import { turnArtifactEndpoints, turnEndpoints } from "./turns.ts";
import { ErrorBody, outcomeUnknownStatus, Strict, ValidationErrorBody } from "./wire.ts";

/** The routes of one gateway (contract 4.1). */
export const gatewayEndpoints = {
  ...coreEndpoints,
  ...turnEndpoints,
  ...transcriptEndpoints,
  ...ledgerEndpoints,
  ...notifierEndpoints,
  ...reminderEndpoints,
  ...mailEndpoints,
  ...aguiEndpoints,
  ...consoleEndpoints,
  ...ownAgentEndpoints,
  ...typingEndpoints,
  ...recorderEndpoints,
  ...metricsEndpoints,
} as const;

/** Streams, which are not part of the typed client. */
export const streamEndpoints = {
  events: endpoint({
    method: "GET",
    path: "/v1/events",
    summary: "Follow what happens, as server-sent events",
    description: `${eventNames} State transitions (terminal_state), request transitions, what a headless turn says (turn_event, numbered by turn_seq) and its end (turn_finished), and lifecycle, each with its position as \`id\`. Resume with Last-Event-ID or \`after\`; for a position that this history does not have, as after a loss of the log, the server sends all events that it kept. Without either it sends only later events. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} clients follow at once; further ones get 503.`,
    query: Strict({
      after: Type.Optional(
        Type.Integer({ minimum: 0, description: "send what follows this position; 0 sends all" }),
      ),
    }),
    status: 200,
    response: eventStream({ item: GatewayEvent, kinds: eventKinds }),
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
  screenEvents: endpoint({
    method: "GET",
    path: "/v1/screen/events",
    summary: "Follow what the agent's terminal shows, as server-sent events",
    description: `${eventNames} Runs of text with colours: the whole screen first, then the changed rows, at most ten times a second. A slow reader gets the newest screen, never a queue of old ones. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} clients follow at once; further ones get 503.`,
    status: 200,
    response: eventStream({ item: ScreenEvent, kinds: screenEventKinds }),
    errors: { 503: ErrorBody },
  }),
  terminalFrames,
  ...turnArtifactEndpoints,
  ...aguiStreamEndpoints,
} as const;

export type GatewayEndpoints = typeof gatewayEndpoints;

/**
 * An operation that the coordinator forwards to the gateway of one agent. Request, response and status are
 * those of the gateway (contract 4.4).
 */
export interface ForwardedEndpoint extends Endpoint {
  /** Path at the gateway; its parameters have the same names. */
  readonly gatewayPath: string;
  /** Time limit for the start of the gateway's answer, and between two parts of it. */
  readonly timeoutMs: number;
  /** Refused with 503 for an agent without a mailbox (contract 4.4 rule 5, 7). */
  readonly needsMailbox: boolean;
}

const mailboxPaths = /^\/(mail|gateway\/mail-notifier)(\/|$)/;

/** The coordinator's own refusals: unknown agent, ambiguous alias, no eligible live gateway. */
const coordinatorRefusals = { 404: ErrorBody, 409: ErrorBody, 503: ErrorBody } as const;
/** The same for a write, which the gateway may have carried out without an answer. */
const coordinatorRefusalsOfWrite = { ...coordinatorRefusals, [outcomeUnknownStatus]: ErrorBody } as const;

const usualTimeoutMs = 5_000;
/** A context reset alone may take 15 s. */
const promptTimeoutMs = 25_000;
/** Large attachments take long to deliver. */
const mailTimeoutMs = 60_000;
/** The first read or a search of a long conversation. */
const transcriptTimeoutMs = 30_000;
/** The gateway ends a wait after an hour at most. */
const waitTimeoutMs = 3_605_000;

/** Keeps the types of the gateway's bodies, from which clients derive theirs. */
function forward<E extends Endpoint>(
  path: string,
  endpoint: E,
  timeoutMs = usualTimeoutMs,
): ForwardedEndpoint & Omit<E, "path" | "errors"> {
  return {
    ...endpoint,
    path: `/svc/agents/:agent_ref${path}`,
    gatewayPath: endpoint.path,
    errors: mergeRefusals(endpoint),
    timeoutMs,
    needsMailbox: mailboxPaths.test(path),
  };
}

function mergeRefusals({ errors, body, method }: Endpoint): ErrorResponses {
  const merged: Record<number, TSchema> = { ...(body === null ? {} : { 422: RefusedOrInvalid }), ...errors };
  for (const [status, schema] of Object.entries(
    method === "GET" ? coordinatorRefusals : coordinatorRefusalsOfWrite,
  )) {
    const ofGateway = errors[Number(status)];
    merged[Number(status)] =
      ofGateway === undefined || ofGateway === schema ? schema : Type.Union([ofGateway, schema]);
  }
  return merged;
}

/** Every forwarded operation; handlers, OpenAPI document and contract tests follow from this table. */
export const forwardedEndpoints = {
  agentControlPrompt: forward("/gateway/control/prompt", gatewayEndpoints.controlPrompt, promptTimeoutMs),
  agentSendKeys: forward("/gateway/control/send-keys", gatewayEndpoints.sendKeys),
  agentReconcile: forward("/gateway/control/reconcile", gatewayEndpoints.reconcile),
  agentKeepRequests: forward("/gateway/control/keep-requests", gatewayEndpoints.keepRequests),
  agentHeadlessState: forward("/gateway/control/headless/state", gatewayEndpoints.headlessState),
  agentNextPromptSession: forward(
    "/gateway/control/headless/next-prompt-session",
    gatewayEndpoints.nextPromptSession,
  ),
  agentTerminalState: forward("/gateway/tui/state", gatewayEndpoints.terminalState),
  agentTerminalHistory: forward("/gateway/tui/history", gatewayEndpoints.terminalHistory),
  agentNotePrompt: forward("/gateway/tui/note-prompt", gatewayEndpoints.notePrompt),
  agentExplain: forward("/gateway/tui/explain", gatewayEndpoints.explain),
  agentWait: forward("/gateway/tui/wait", gatewayEndpoints.wait, waitTimeoutMs),
  agentDecide: forward("/gateway/tui/decide", gatewayEndpoints.decide, promptTimeoutMs),
  agentReadTypingLease: forward("/gateway/control/typing-lease", gatewayEndpoints.readTypingLease),
  agentTakeTypingLease: forward("/gateway/control/typing-lease", gatewayEndpoints.takeTypingLease),
  agentEndTypingLease: forward("/gateway/control/typing-lease", gatewayEndpoints.endTypingLease),
  agentTypeText: forward("/gateway/control/typing", gatewayEndpoints.typeText),
  agentTranscript: forward("/gateway/transcript", gatewayEndpoints.transcript, transcriptTimeoutMs),
  agentTranscriptTurn: forward(
    "/gateway/transcript/:turn_id",
    gatewayEndpoints.transcriptTurn,
    transcriptTimeoutMs,
  ),
  agentLedger: forward("/gateway/ledger", gatewayEndpoints.ledger),
  agentLedgerSummary: forward("/gateway/ledger/summary", gatewayEndpoints.ledgerSummary),
  agentReadRecorder: forward("/gateway/recorder", gatewayEndpoints.readRecorder),
  agentUpdateRecorder: forward("/gateway/recorder", gatewayEndpoints.updateRecorder),
  agentRecordedMoment: forward("/gateway/recorder/moment", gatewayEndpoints.recordedMoment),
  agentRecordedCast: forward("/gateway/recorder/cast", gatewayEndpoints.recordedCast, transcriptTimeoutMs),
  agentSubmitGatewayRequest: forward("/gateway/requests", gatewayEndpoints.submitRequest),
  agentListGatewayRequests: forward("/gateway/requests", gatewayEndpoints.listRequests),
  agentReadGatewayRequest: forward("/gateway/requests/:request_id", gatewayEndpoints.readRequest),
  agentWithdrawGatewayRequest: forward("/gateway/requests/:request_id", gatewayEndpoints.withdrawRequest),
  agentCreateReminders: forward("/gateway/reminders", gatewayEndpoints.createReminders),
  agentListReminders: forward("/gateway/reminders", gatewayEndpoints.listReminders),
  agentReadReminder: forward("/gateway/reminders/:reminder_id", gatewayEndpoints.readReminder),
  agentUpdateReminder: forward("/gateway/reminders/:reminder_id", gatewayEndpoints.updateReminder),
  agentDeleteReminder: forward("/gateway/reminders/:reminder_id", gatewayEndpoints.deleteReminder),
  agentReadNotifier: forward("/gateway/mail-notifier", gatewayEndpoints.readNotifier),
  agentUpdateNotifier: forward("/gateway/mail-notifier", gatewayEndpoints.updateNotifier),
  agentDisableNotifier: forward("/gateway/mail-notifier", gatewayEndpoints.disableNotifier),
  agentNotifierAudit: forward("/gateway/mail-notifier/audit", gatewayEndpoints.notifierAudit),
  agentMailStatus: forward("/mail/status", gatewayEndpoints.mailStatus),
  agentMailList: forward("/mail/list", gatewayEndpoints.mailList, mailTimeoutMs),
  agentMailPeek: forward("/mail/peek", gatewayEndpoints.mailPeek),
  agentMailRead: forward("/mail/read", gatewayEndpoints.mailRead),
  agentMailSend: forward("/mail/send", gatewayEndpoints.mailSend, mailTimeoutMs),
  agentMailPost: forward("/mail/post", gatewayEndpoints.mailPost, mailTimeoutMs),
  agentMailReply: forward("/mail/reply", gatewayEndpoints.mailReply, mailTimeoutMs),
  agentMailMark: forward("/mail/mark", gatewayEndpoints.mailMark),
  agentMailMove: forward("/mail/move", gatewayEndpoints.mailMove),
  agentMailArchive: forward("/mail/archive", gatewayEndpoints.mailArchive),
} as const satisfies Readonly<Record<string, ForwardedEndpoint>>;

/**
 * The forwarded streams. 60 s without a byte end a stream; a gateway breaks silence every 15 s.
 */
export const forwardedStreams = {
  agentGatewayEvents: forward("/gateway/events", streamEndpoints.events, 60_000),
} as const satisfies Readonly<Record<string, ForwardedEndpoint>>;
