import { Type } from "@sinclair/typebox";
import { aguiEndpoints, aguiStreamEndpoints } from "./agui-endpoints.ts";
import { endpoint, limit, RefusedOrInvalid } from "./endpoint.ts";
import { mostFollowers } from "./events.ts";
import {
  AcceptedRequest,
  GatewayRequest,
  GatewayStatus,
  HealthBody,
  PromptControlRequest,
  PromptControlResult,
  PromptRefusalBody,
  ReconcileResult,
  RequestList,
  RequestRecord,
  RequestState,
  SendKeysRequest,
  SendKeysResult,
} from "./gateway.ts";
import { mailEndpoints } from "./mail-endpoints.ts";
import { notifierEndpoints } from "./notifier-endpoints.ts";
import { reminderEndpoints } from "./reminder-endpoints.ts";
import {
  DecisionAnswer,
  DecisionResult,
  NotePromptRequest,
  TerminalExplanation,
  TerminalHistory,
  TerminalState,
  WaitFor,
  WaitResult,
} from "./terminal.ts";
import { turnArtifactEndpoints, turnEndpoints } from "./turn-endpoints.ts";
import { ErrorBody, Strict, ValidationErrorBody } from "./wire.ts";

/** The routes of one gateway (contract 4.1). */
export const gatewayEndpoints = {
  health: endpoint({
    method: "GET",
    path: "/health",
    summary: "Whether the gateway answers",
    description: "Says nothing of the agent. Never asks for a token, nor do `/docs` and `/openapi.json`.",
    status: 200,
    reply: HealthBody,
  }),
  status: endpoint({
    method: "GET",
    path: "/v1/status",
    summary: "The gateway's status",
    status: 200,
    reply: GatewayStatus,
  }),
  submitRequest: endpoint({
    method: "POST",
    path: "/v1/requests",
    summary: "Queue a prompt or an interrupt",
    description:
      "Answered once the request is on disk, not when it was executed: follow it under its request_id. Requests are executed one at a time; a prompt waits for the end of a turn, an interrupt overtakes what waits.",
    body: GatewayRequest,
    status: 202,
    reply: AcceptedRequest,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  listRequests: endpoint({
    method: "GET",
    path: "/v1/requests",
    summary: "The newest queued and finished requests",
    query: Strict({
      limit,
      state: Type.Optional({ ...RequestState, description: "only requests in this state" }),
    }),
    status: 200,
    reply: RequestList,
    errors: { 422: ValidationErrorBody },
  }),
  readRequest: endpoint({
    method: "GET",
    path: "/v1/requests/:request_id",
    summary: "One request and how far it got",
    status: 200,
    reply: RequestRecord,
    errors: { 404: ErrorBody },
  }),
  controlPrompt: endpoint({
    method: "POST",
    path: "/v1/control/prompt",
    summary: "Give the agent a prompt now or not at all",
    description:
      "Never queues: success means that the agent took the prompt, a refusal that nothing was typed unless its error_code is dispatch_failed. A refusal names the reason in detail.error_code.",
    body: PromptControlRequest,
    status: 200,
    reply: PromptControlResult,
    errors: {
      409: PromptRefusalBody,
      422: Type.Union([PromptRefusalBody, ValidationErrorBody]),
      501: PromptRefusalBody,
      503: PromptRefusalBody,
    },
  }),
  terminalState: endpoint({
    method: "GET",
    path: "/v1/control/tui/state",
    summary: "What the agent's terminal shows and what follows from it",
    status: 200,
    reply: TerminalState,
    errors: { 422: ErrorBody },
  }),
  terminalHistory: endpoint({
    method: "GET",
    path: "/v1/control/tui/history",
    summary: "Recent samples of the terminal, newest last",
    description: "Kept in memory, 1000 at most; lost when the gateway ends.",
    query: Strict({ limit }),
    status: 200,
    reply: TerminalHistory,
    errors: { 422: RefusedOrInvalid },
  }),
  notePrompt: endpoint({
    method: "POST",
    path: "/v1/control/tui/note-prompt",
    summary: "Tell that a prompt was typed by other means",
    description: "The next turn then counts as asked for. Changes nothing in the terminal.",
    body: NotePromptRequest,
    status: 200,
    reply: TerminalState,
    errors: { 422: RefusedOrInvalid },
  }),
  explain: endpoint({
    method: "GET",
    path: "/v1/control/tui/explain",
    summary: "Why the terminal state is what it is",
    status: 200,
    reply: TerminalExplanation,
    errors: { 422: ErrorBody },
  }),
  wait: endpoint({
    method: "GET",
    path: "/v1/control/tui/wait",
    summary: "Wait until the terminal is in a state",
    description: "Answered when the state is reached or the time is over, whichever comes first.",
    query: Strict({
      for: WaitFor,
      timeout_seconds: Type.Number({
        minimum: 0,
        maximum: 3600,
        default: 30,
        description: "how long to wait; 0 looks once",
      }),
    }),
    status: 200,
    reply: WaitResult,
    errors: { 422: RefusedOrInvalid },
  }),
  decide: endpoint({
    method: "POST",
    path: "/v1/control/tui/decide",
    summary: "Answer what the agent asks a person",
    description: "The question is checked against the screen before a key is pressed.",
    body: DecisionAnswer,
    status: 200,
    reply: DecisionResult,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  sendKeys: endpoint({
    method: "POST",
    path: "/v1/control/send-keys",
    summary: "Press keys in the agent's terminal",
    description:
      "Text and <[Key]> tokens in order, whatever the agent does at the moment; no Enter is added. Keys: Enter Escape Tab BSpace Up Down Left Right C-c C-d C-u C-z. Nothing is sent when one token is wrong.",
    body: SendKeysRequest,
    status: 200,
    reply: SendKeysResult,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  reconcile: endpoint({
    method: "POST",
    path: "/v1/control/reconcile",
    summary: "Let a new instance of the agent be worked with",
    description: "Fails what was accepted for an earlier instance and reopens admission. Harmless to repeat.",
    status: 200,
    reply: ReconcileResult,
  }),
  ...turnEndpoints,
  ...notifierEndpoints,
  ...reminderEndpoints,
  ...mailEndpoints,
  ...aguiEndpoints,
} as const;

/** Answers that do not end by themselves; not part of the typed client. */
export const streamEndpoints = {
  events: endpoint({
    method: "GET",
    path: "/v1/events",
    summary: "Follow what happens, as server-sent events",
    description: `State transitions (terminal_state), request transitions, what a headless turn says (turn_event, numbered by turn_seq) and its end (turn_finished), and lifecycle, each with its position as \`id\`. Resume with Last-Event-ID or \`after\`; without either only what is to come is told. A comment every 15 s of silence keeps the connection. At most ${mostFollowers} follow at once; 503 then.`,
    query: Strict({
      after: Type.Optional(
        Type.Integer({ minimum: 0, description: "tell what follows this position; 0 tells all" }),
      ),
    }),
    status: 200,
    reply: Type.String({ contentMediaType: "text/event-stream" }),
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
  ...turnArtifactEndpoints,
  ...aguiStreamEndpoints,
} as const;

/** What each of our servers tells about itself, beside its own routes. */
export const documentEndpoints = {
  openApiDocument: endpoint({
    method: "GET",
    path: "/openapi.json",
    summary: "This document",
    status: 200,
    reply: Type.Record(Type.String(), Type.Unknown(), { description: "OpenAPI 3.1" }),
  }),
  referencePage: endpoint({
    method: "GET",
    path: "/docs",
    summary: "This document as a page for people",
    description: "One page that loads nothing from elsewhere.",
    status: 200,
    reply: Type.String({ contentMediaType: "text/html" }),
  }),
} as const;

export type GatewayEndpoints = typeof gatewayEndpoints;
