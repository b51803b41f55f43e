import { Type } from "@sinclair/typebox";
import { endpoint, limit, RefusedOrInvalid } from "./endpoint.ts";
import {
  AcceptedRequest,
  GatewayRequest,
  GatewaySnapshot,
  GatewayStatus,
  HealthBody,
  KeepRequestsResult,
  NotePromptRequest,
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
import {
  DecisionAnswer,
  DecisionResult,
  TerminalExplanation,
  TerminalHistory,
  TerminalState,
  WaitFor,
  WaitResult,
} from "./terminal.ts";
import { ErrorBody, IdempotencyKey, NonBlank, Strict, StringEnum, ValidationErrorBody } from "./wire.ts";

/** The routes of a gateway's status, its queue and its terminal (contract 4.1, 4.2). */
export const coreEndpoints = {
  health: endpoint({
    method: "GET",
    path: "/health",
    summary: "Whether the gateway answers",
    description: "Does not report on the agent. Needs no token, like `/docs` and `/openapi.json`.",
    status: 200,
    response: HealthBody,
  }),
  status: endpoint({
    method: "GET",
    path: "/v1/status",
    summary: "The gateway's status",
    status: 200,
    response: GatewayStatus,
  }),
  snapshot: endpoint({
    method: "GET",
    path: "/v1/snapshot",
    summary: "Status, terminal and newest requests at once",
    description:
      "The answers of `/v1/status`, `/v1/control/tui/state` and `/v1/requests` at one moment, for clients that watch many agents. It answers a challenge as `/health` does.",
    query: Strict({ limit }),
    status: 200,
    response: GatewaySnapshot,
    errors: { 422: ValidationErrorBody },
  }),
  submitRequest: endpoint({
    method: "POST",
    path: "/v1/requests",
    summary: "Queue a prompt or an interrupt",
    description:
      "Answered once the request is on disk, not when it was executed: follow it under its request_id. Requests are executed one at a time; a prompt waits for the end of a turn, an interrupt overtakes what waits. With the header Idempotency-Key (1 to 128 of A-Z a-z 0-9 _ . : -) it is stored once: the same key again gets the first answer, also after a restart; another request with that key is refused with 409.",
    body: GatewayRequest,
    status: 202,
    response: AcceptedRequest,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  listRequests: endpoint({
    method: "GET",
    path: "/v1/requests",
    summary: "The newest queued and finished requests",
    query: Strict({
      limit,
      state: Type.Optional({ ...RequestState, description: "only requests in this state" }),
      idempotency_key: Type.Optional({
        ...IdempotencyKey,
        description: "only the request that was accepted with this key; `limit` and `state` are not read",
      }),
    }),
    status: 200,
    response: RequestList,
    errors: { 422: ValidationErrorBody },
  }),
  readRequest: endpoint({
    method: "GET",
    path: "/v1/requests/:request_id",
    summary: "One request and how far it got",
    query: Strict({
      include: Type.Optional(
        StringEnum(["prompt"], {
          description: "also the text of the prompt and its options, as they are stored",
        }),
      ),
    }),
    status: 200,
    response: RequestRecord,
    errors: { 404: ErrorBody, 422: ValidationErrorBody },
  }),
  withdrawRequest: endpoint({
    method: "DELETE",
    path: "/v1/requests/:request_id",
    summary: "Take back a prompt that was not typed",
    description:
      "The request becomes failed with the `outcome` withdrawn and the caller's name; it is never typed. A request that runs or has ended is refused with 409, and so is an interrupt. An agent names itself and withdraws only its own prompts; a person withdraws every waiting prompt. The same caller gets the same answer again.",
    query: Strict({
      agent_id: Type.Optional(
        NonBlank("id of the agent that withdraws, as its program reports it; left out by a person", {
          maxLength: 200,
        }),
      ),
    }),
    status: 200,
    response: RequestRecord,
    errors: { 404: ErrorBody, 409: ErrorBody, 422: ValidationErrorBody },
  }),
  controlPrompt: endpoint({
    method: "POST",
    path: "/v1/control/prompt",
    summary: "Give the agent a prompt now or not at all",
    description:
      "Never queues. Success means that the agent took the prompt. A refusal means that nothing was typed, unless its error_code is dispatch_failed. A refusal names the reason in detail.error_code.",
    body: PromptControlRequest,
    status: 200,
    response: PromptControlResult,
    errors: {
      409: Type.Union([PromptRefusalBody, ErrorBody]),
      422: Type.Union([PromptRefusalBody, ValidationErrorBody]),
      501: PromptRefusalBody,
      503: PromptRefusalBody,
    },
  }),
  terminalState: endpoint({
    method: "GET",
    path: "/v1/control/tui/state",
    summary: "What the agent's terminal shows, and the state that follows from it",
    status: 200,
    response: TerminalState,
    errors: { 422: ErrorBody },
  }),
  terminalHistory: endpoint({
    method: "GET",
    path: "/v1/control/tui/history",
    summary: "Recent samples of the terminal, newest last",
    description: "Kept in memory, 1000 at most; lost when the gateway ends.",
    query: Strict({ limit }),
    status: 200,
    response: TerminalHistory,
    errors: { 422: RefusedOrInvalid },
  }),
  notePrompt: endpoint({
    method: "POST",
    path: "/v1/control/tui/note-prompt",
    summary: "Report a prompt that was typed by other means",
    description: "The next turn then counts as requested. Changes nothing in the terminal.",
    body: NotePromptRequest,
    status: 200,
    response: TerminalState,
    errors: { 422: RefusedOrInvalid },
  }),
  explain: endpoint({
    method: "GET",
    path: "/v1/control/tui/explain",
    summary: "Why the terminal state is what it is",
    status: 200,
    response: TerminalExplanation,
    errors: { 422: ErrorBody },
  }),
  wait: endpoint({
    method: "GET",
    path: "/v1/control/tui/wait",
    summary: "Wait until the terminal is in a state",
    description: "Answers when the state is reached or the time is over.",
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
    response: WaitResult,
    errors: { 422: RefusedOrInvalid },
  }),
  decide: endpoint({
    method: "POST",
    path: "/v1/control/tui/decide",
    summary: "Answer a question that the agent asks a person",
    description: "The question is checked against the screen before a key is pressed.",
    body: DecisionAnswer,
    status: 200,
    response: DecisionResult,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  sendKeys: endpoint({
    method: "POST",
    path: "/v1/control/send-keys",
    summary: "Press keys in the agent's terminal",
    description:
      "Text and <[Key]> tokens in order, in any state of the agent; no Enter is added. Keys: Enter Escape Tab BSpace Up Down Left Right C-c C-d C-u C-z. Nothing is sent when one token is wrong.",
    body: SendKeysRequest,
    status: 200,
    response: SendKeysResult,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  reconcile: endpoint({
    method: "POST",
    path: "/v1/control/reconcile",
    summary: "Accept work for a new instance of the agent",
    description:
      "Fails the requests that were accepted for an earlier instance and reopens admission. Harmless to repeat.",
    status: 200,
    response: ReconcileResult,
  }),
  keepRequests: endpoint({
    method: "POST",
    path: "/v1/control/keep-requests",
    summary: "Keep waiting requests for a new instance of the agent",
    description:
      "Moves the requests that were accepted for an earlier instance to the present one and reopens admission. Harmless to repeat.",
    status: 200,
    response: KeepRequestsResult,
  }),
} as const;

/** The routes by which each of our servers describes itself. */
export const documentEndpoints = {
  openApiDocument: endpoint({
    method: "GET",
    path: "/openapi.json",
    summary: "This document",
    status: 200,
    response: Type.Record(Type.String(), Type.Unknown(), {
      description: "OpenAPI 3.1",
      examples: [{ openapi: "3.1.1" }],
    }),
  }),
  referencePage: endpoint({
    method: "GET",
    path: "/docs",
    summary: "This document as a page for people",
    description: "Loads its script and its style from this server only.",
    status: 200,
    response: Type.String({ contentMediaType: "text/html" }),
  }),
} as const;
