import { Type } from "@sinclair/typebox";
import { AgentState } from "./agents.ts";
import { AttentionAnswered, AttentionAnswerRequest, AttentionList } from "./attention.ts";
import {
  ConsoleSession,
  LeaseGrant,
  LeaseRequest,
  LeaseState,
  leaseIdleSeconds,
  leaseMaxSeconds,
  SignedOut,
  SignInCode,
  TypeRequest,
  TypeResult,
} from "./console.ts";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { ErrorBody } from "./wire.ts";

/**
 * Routes of the browser console at the server that it was loaded from, a coordinator or a gateway.
 */
export const consoleEndpoints = {
  consoleSession: endpoint({
    method: "GET",
    path: "/svc/console/session",
    summary: "Which server the console uses, and how it signed in",
    status: 200,
    response: ConsoleSession,
  }),
  createSignInCode: endpoint({
    method: "POST",
    path: "/svc/console/sign-in-codes",
    withoutKey: true,
    summary: "Make a one-time link by which a browser signs in",
    description:
      "The browser that opens the link first gets a cookie for this server, within two minutes. A browser that signed in by such a link may make another one.",
    status: 200,
    response: SignInCode,
  }),
  signOut: endpoint({
    method: "POST",
    path: "/svc/console/sign-out",
    withoutKey: true,
    summary: "Sign this browser out",
    description: "Its cookie is invalid afterwards. Harmless to repeat.",
    status: 200,
    response: SignedOut,
  }),
} as const;

/**
 * Routes of the coordination server that a gateway serves for its one agent, so that a console uses the same
 * schemas at both.
 */
export const ownAgentEndpoints = {
  ownAgentState: endpoint({
    method: "GET",
    path: "/v1/agent/state",
    summary: "The identity and the state of the agent, as the coordination server reports them",
    status: 200,
    response: AgentState,
    errors: { 503: ErrorBody },
  }),
  ownAttention: endpoint({
    method: "GET",
    path: "/v1/attention",
    summary: "What waits for a person at this agent",
    description:
      "The items and ids are those of the coordination server, except the items that report this gateway as dead.",
    status: 200,
    response: AttentionList,
    errors: { 503: ErrorBody },
  }),
  answerOwnAttention: endpoint({
    method: "POST",
    path: "/v1/attention/:attention_id/answers",
    summary: "Answer a question or a permission of this agent",
    description:
      "The question on the screen is compared before each key. 409, and no key is pressed, when the item no longer waits, the agent is another instance or it asks another question by then.",
    body: AttentionAnswerRequest,
    status: 200,
    response: AttentionAnswered,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
} as const;

/** Typing into the terminal by hand, and the terminal itself (gateway). */
export const typingEndpoints = {
  readTypingLease: endpoint({
    method: "GET",
    path: "/v1/control/typing-lease",
    summary: "Who types into the terminal by hand",
    status: 200,
    response: LeaseState,
  }),
  takeTypingLease: endpoint({
    method: "POST",
    path: "/v1/control/typing-lease",
    summary: "Take the right to type into the terminal by hand",
    description: `One person has it at a time. Meanwhile queued prompts and reminders wait with the reason typing_lease, and direct prompts are refused; an interrupt is not held up. It ends ${leaseIdleSeconds} s after the last key and ${leaseMaxSeconds / 60} minutes after it was taken.`,
    body: LeaseRequest,
    status: 200,
    response: LeaseGrant,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  endTypingLease: endpoint({
    method: "DELETE",
    path: "/v1/control/typing-lease",
    summary: "End the typing lease, also another person's",
    description: "Harmless to repeat.",
    status: 200,
    response: LeaseState,
  }),
  typeText: endpoint({
    method: "POST",
    path: "/v1/control/typing",
    summary: "Type what a keyboard sent, under the typing lease",
    description:
      "Refused with 409, and nothing is typed, once the lease has ended or another person took it.",
    body: TypeRequest,
    status: 200,
    response: TypeResult,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
} as const;

/** The bytes of the agent's terminal, for the live terminal of the console. */
export const terminalFrames = endpoint({
  method: "GET",
  path: "/v1/terminal/frames",
  summary: "Follow the bytes of the agent's terminal",
  description:
    "An endless sequence of frames. A frame is one byte for its kind, four bytes for its length (big-endian), then its content. Kind 1: a TerminalMessage as JSON. Kind 2: bytes for a terminal; after the message `picture` they begin with the whole screen. Kind 0: empty, every 15 s of silence. A slow reader continues with the newest screen.",
  status: 200,
  response: Type.String({ contentMediaType: "application/octet-stream" }),
  errors: { 422: ErrorBody, 503: ErrorBody },
});
