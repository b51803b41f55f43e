import type { Static, TSchema } from "@sinclair/typebox";
import {
  AcceptedRequest,
  GatewayRequest,
  GatewayStatus,
  HealthBody,
  PromptControlRequest,
  PromptControlResult,
  ReconcileResult,
  RequestList,
  RequestRecord,
  SendKeysRequest,
  SendKeysResult,
} from "./gateway.ts";
import {
  DecisionAnswer,
  DecisionResult,
  NotePromptRequest,
  TerminalExplanation,
  TerminalHistory,
  TerminalState,
  WaitResult,
} from "./terminal.ts";

/**
 * One HTTP operation, declared once: routes name its schemas, the typed client and the coordinator's table of
 * forwarded routes are derived from it. `:name` in a path is a parameter.
 */
export interface Endpoint<
  Body extends TSchema | null = TSchema | null,
  Reply extends TSchema = TSchema,
  Status extends number = number,
  Path extends string = string,
> {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: Path;
  readonly body: Body;
  readonly status: Status;
  readonly reply: Reply;
}

function endpoint<
  Body extends TSchema | null,
  Reply extends TSchema,
  const Status extends number,
  const Path extends string,
>(declaration: Endpoint<Body, Reply, Status, Path>): Endpoint<Body, Reply, Status, Path> {
  return declaration;
}

/** The routes of one gateway (contract 4.1). */
export const gatewayEndpoints = {
  health: endpoint({ method: "GET", path: "/health", body: null, status: 200, reply: HealthBody }),
  status: endpoint({ method: "GET", path: "/v1/status", body: null, status: 200, reply: GatewayStatus }),
  submitRequest: endpoint({
    method: "POST",
    path: "/v1/requests",
    body: GatewayRequest,
    status: 202,
    reply: AcceptedRequest,
  }),
  listRequests: endpoint({
    method: "GET",
    path: "/v1/requests",
    body: null,
    status: 200,
    reply: RequestList,
  }),
  readRequest: endpoint({
    method: "GET",
    path: "/v1/requests/:request_id",
    body: null,
    status: 200,
    reply: RequestRecord,
  }),
  controlPrompt: endpoint({
    method: "POST",
    path: "/v1/control/prompt",
    body: PromptControlRequest,
    status: 200,
    reply: PromptControlResult,
  }),
  terminalState: endpoint({
    method: "GET",
    path: "/v1/control/tui/state",
    body: null,
    status: 200,
    reply: TerminalState,
  }),
  terminalHistory: endpoint({
    method: "GET",
    path: "/v1/control/tui/history",
    body: null,
    status: 200,
    reply: TerminalHistory,
  }),
  notePrompt: endpoint({
    method: "POST",
    path: "/v1/control/tui/note-prompt",
    body: NotePromptRequest,
    status: 200,
    reply: TerminalState,
  }),
  explain: endpoint({
    method: "GET",
    path: "/v1/control/tui/explain",
    body: null,
    status: 200,
    reply: TerminalExplanation,
  }),
  wait: endpoint({
    method: "GET",
    path: "/v1/control/tui/wait",
    body: null,
    status: 200,
    reply: WaitResult,
  }),
  decide: endpoint({
    method: "POST",
    path: "/v1/control/tui/decide",
    body: DecisionAnswer,
    status: 200,
    reply: DecisionResult,
  }),
  sendKeys: endpoint({
    method: "POST",
    path: "/v1/control/send-keys",
    body: SendKeysRequest,
    status: 200,
    reply: SendKeysResult,
  }),
  reconcile: endpoint({
    method: "POST",
    path: "/v1/control/reconcile",
    body: null,
    status: 200,
    reply: ReconcileResult,
  }),
} as const;

export type GatewayEndpoints = typeof gatewayEndpoints;
export type BodyOf<E extends Endpoint> = E["body"] extends TSchema ? Static<E["body"]> : undefined;
export type ReplyOf<E extends Endpoint> = Static<E["reply"]>;
