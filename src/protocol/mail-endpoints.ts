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
 * The refusals of every mail route, by what keeps them: the listener, the binding or request, the carrier.
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
    summary: "List mail, newest first",
    description:
      "All conditions hold before the limit. The three counts are of the messages returned; `next_cursor` asks for what follows.",
    body: MailListRequest,
    status: 200,
    response: MailList,
    errors: refusals,
  }),
  mailPeek: endpoint({
    method: "POST",
    path: "/v1/mail/peek",
    summary: "Look at one message without marking it read",
    body: MailRefRequest,
    status: 200,
    response: MailResult,
    errors: refusalsOfRef,
  }),
  mailRead: endpoint({
    method: "POST",
    path: "/v1/mail/read",
    summary: "Read one message, which is read from then on",
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
      "Answered once it is delivered to every recipient, with the sender's copy. The sender is this agent's mailbox; nothing is sent when one recipient or attachment is refused.",
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
    description: "Goes to whom the message says, in its thread; the message is read and answered afterwards.",
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
    description: "All of them or none. The box is made when it is not there.",
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
