import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import {
  MailArchiveRequest,
  MailLifecycleResult,
  MailList,
  MailListRequest,
  MailMarkRequest,
  MailMoveRequest,
  MailPostRequest,
  MailRefRequest,
  MailReplyRequest,
  MailResult,
  MailSendRequest,
  MailStatus,
} from "./mail.ts";
import { ErrorBody } from "./wire.ts";

/**
 * Refusals of every mail route: 422 binding or request, 502 mail server, 503 listener.
 */
const refusals = { 422: RefusedOrInvalid, 502: ErrorBody, 503: ErrorBody } as const;
/** As above, of routes that name a message. */
const refusalsOfRef = { ...refusals, 404: ErrorBody } as const;

/** A message to another host is refused while too many wait. */
const refusedWhileFull = { 409: ErrorBody } as const;

/**
 * The mail of the agent beside this gateway; on a loopback listener only (contract 4.1, mail rows and rules).
 */
export const mailEndpoints = {
  mailStatus: endpoint({
    method: "GET",
    path: "/v1/mail/status",
    summary: "Which mailbox the agent has",
    status: 200,
    response: MailStatus,
    errors: refusals,
  }),
  mailList: endpoint({
    method: "POST",
    path: "/v1/mail/list",
    withoutKey: true,
    summary: "List mail, newest first",
    description:
      "The limit applies after all conditions. The three counts cover the returned messages; `next_cursor` asks for the next page.",
    body: MailListRequest,
    status: 200,
    response: MailList,
    errors: refusals,
  }),
  mailPeek: endpoint({
    method: "POST",
    path: "/v1/mail/peek",
    withoutKey: true,
    summary: "Look at one message without marking it read",
    body: MailRefRequest,
    status: 200,
    response: MailResult,
    errors: refusalsOfRef,
  }),
  mailRead: endpoint({
    method: "POST",
    path: "/v1/mail/read",
    withoutKey: true,
    summary: "Read one message and mark it read",
    body: MailRefRequest,
    status: 200,
    response: MailResult,
    errors: refusalsOfRef,
  }),
  mailSend: endpoint({
    method: "POST",
    path: "/v1/mail/send",
    summary: "Send a message",
    description:
      "Answers with the sender's copy once the message is delivered to every recipient. The sender is this agent's mailbox. Nothing is sent when one recipient or attachment is refused.",
    body: MailSendRequest,
    status: 200,
    response: MailResult,
    errors: { ...refusals, ...refusedWhileFull },
  }),
  mailPost: endpoint({
    method: "POST",
    path: "/v1/mail/post",
    summary: "Leave the agent a note of the operator",
    description:
      "The sender is the operator's reserved mailbox. With reply_policy none the agent cannot reply to it.",
    body: MailPostRequest,
    status: 200,
    response: MailResult,
    errors: refusals,
  }),
  mailReply: endpoint({
    method: "POST",
    path: "/v1/mail/reply",
    summary: "Reply to a message",
    description:
      "Goes to the reply recipients of the message, in its thread. The message is marked read and answered.",
    body: MailReplyRequest,
    status: 200,
    response: MailResult,
    errors: { ...refusalsOfRef, ...refusedWhileFull },
  }),
  mailMark: endpoint({
    method: "POST",
    path: "/v1/mail/mark",
    summary: "Set or clear the flags of messages",
    description: "All of them or none. archived=true moves to the box archive, archived=false to the inbox.",
    body: MailMarkRequest,
    status: 200,
    response: MailLifecycleResult,
    errors: refusalsOfRef,
  }),
  mailMove: endpoint({
    method: "POST",
    path: "/v1/mail/move",
    summary: "Move messages to a box",
    description: "All of them or none. Creates the box when it does not exist.",
    body: MailMoveRequest,
    status: 200,
    response: MailLifecycleResult,
    errors: refusalsOfRef,
  }),
  mailArchive: endpoint({
    method: "POST",
    path: "/v1/mail/archive",
    summary: "Archive messages: their work is done",
    description: "All of them or none. An archived message is read.",
    body: MailArchiveRequest,
    status: 200,
    response: MailLifecycleResult,
    errors: refusalsOfRef,
  }),
} as const;
