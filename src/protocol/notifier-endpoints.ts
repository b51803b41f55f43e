import { Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { NotifierAudit, NotifierStatus, NotifierUpdate } from "./notifier.ts";
import { ErrorBody, Strict } from "./wire.ts";

/** The mail notifier's routes (contract 4.1; ruling 13). */
export const notifierEndpoints = {
  readNotifier: endpoint({
    method: "GET",
    path: "/v1/mail-notifier",
    summary: "How the mail notifier is set up and what it last did",
    status: 200,
    reply: NotifierStatus,
  }),
  updateNotifier: endpoint({
    method: "PUT",
    path: "/v1/mail-notifier",
    summary: "Enable the mail notifier or change it",
    description:
      "Keeps every field that is omitted, `enabled` and `interval_seconds` included; enables a notifier that was never configured. To enable is refused, with nothing changed, when the session has no usable mailbox.",
    body: NotifierUpdate,
    status: 200,
    reply: NotifierStatus,
    errors: { 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  disableNotifier: endpoint({
    method: "DELETE",
    path: "/v1/mail-notifier",
    summary: "Disable the mail notifier",
    description:
      "Keeps all its settings: a later PUT with `enabled` true goes on with them. Harmless to repeat.",
    status: 200,
    reply: NotifierStatus,
  }),
  notifierAudit: endpoint({
    method: "GET",
    path: "/v1/mail-notifier/audit",
    summary: "What each poll found and decided, newest first",
    description:
      "One row a poll. The newest 20,000 are kept. A page ends at 8 MiB too: `next_before` says where to go on.",
    query: Strict({
      limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: "at most this many" }),
      before: Type.Optional(Type.Integer({ minimum: 1, description: "only rows before this audit_id" })),
    }),
    status: 200,
    reply: NotifierAudit,
    errors: { 422: RefusedOrInvalid },
  }),
} as const;
