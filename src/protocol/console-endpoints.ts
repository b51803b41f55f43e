import { Type } from "@sinclair/typebox";
import { AgentState } from "./agents.ts";
import { AttentionAnswered, AttentionAnswerRequest, AttentionList } from "./attention.ts";
import {
  ConsoleSession,
  LeaseGrant,
  LeaseRequest,
  LeaseState,
  leaseIdleSeconds,
  leaseLongestSeconds,
  SignedOut,
  SignInCode,
  TypeRequest,
  TypeResult,
} from "./console.ts";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { ErrorBody } from "./wire.ts";

/**
 * What the console in a browser asks the server that it came from; the same at a coordinator and at a
 * gateway.
 */
export const consoleEndpoints = {
  consoleSession: endpoint({
    method: "GET",
    path: "/svc/console/session",
    summary: "Whom the console talks to, and how it signed in",
    status: 200,
    response: ConsoleSession,
  }),
  createSignInCode: endpoint({
    method: "POST",
    path: "/svc/console/sign-in-codes",
    summary: "Make a one-time link by which a browser signs in",
    description:
      "The browser that opens the link first gets a cookie for this server, within two minutes. A browser that signed in by such a link may make another one.",
    status: 200,
    response: SignInCode,
  }),
  signOut: endpoint({
    method: "POST",
    path: "/svc/console/sign-out",
    summary: "Sign this browser out",
    description: "Its cookie is worth nothing afterwards. Harmless to repeat.",
    status: 200,
    response: SignedOut,
  }),
} as const;

/**
 * What a gateway says of its one agent in the words of the coordination server: a console beside it asks the
 * same.
 */
export const ownAgentEndpoints = {
  ownAgentState: endpoint({
    method: "GET",
    path: "/v1/agent/state",
    summary: "Who the agent is and what it is doing, as the coordination server says it",
    status: 200,
    response: AgentState,
    errors: { 503: ErrorBody },
  }),
  ownAttention: endpoint({
    method: "GET",
    path: "/v1/attention",
    summary: "What of this agent waits for a person",
    description:
      "The same items under the same ids as at the coordination server, but for those that say that this gateway is dead.",
    status: 200,
    response: AttentionList,
    errors: { 503: ErrorBody },
  }),
  answerOwnAttention: endpoint({
    method: "POST",
    path: "/v1/attention/:attention_id/answers",
    summary: "Answer a question or a permission of this agent",
    description:
      "The question on the screen is compared before each key. When the item waits no more, is about another instance of the agent, or another question is asked by then, the answer is 409 and nothing is pressed.",
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
    description: `One person has it at a time. Meanwhile queued prompts and reminders wait with the reason typing_lease, and direct prompts are refused; an interrupt is not held up. It ends ${leaseIdleSeconds} s after the last key and ${leaseLongestSeconds / 60} minutes after it was taken.`,
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
      "Refused with 409 once the lease has ended or another person took it: nothing is typed then.",
    body: TypeRequest,
    status: 200,
    response: TypeResult,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
} as const;

/** What the agent's terminal shows and writes, for the live terminal of the console. */
export const terminalFrames = endpoint({
  method: "GET",
  path: "/v1/terminal/frames",
  summary: "Follow the bytes of the agent's terminal",
  description:
    "Frames without an end: one byte that says the kind, four bytes of length (big-endian), then the content. Kind 1: a JSON text (TerminalMessage: a picture follows, or who has the typing lease). Kind 2: bytes for a terminal; after `picture` they begin with the whole picture. Kind 0: nothing, every 15 s of silence. A reader that is too slow is skipped to the newest picture.",
  status: 200,
  response: Type.String({ contentMediaType: "application/octet-stream" }),
  errors: { 422: ErrorBody, 503: ErrorBody },
});
