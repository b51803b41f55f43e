import { isAbsolute } from "node:path";
import type {
  AttachmentInput,
  MailListRequest,
  MailMarkRequest,
  MailPostRequest,
  MailReplyRequest,
  MailSendRequest,
} from "../../protocol/mail.ts";
import { parseTimestamp, toTimestamp } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type {
  FlagChange,
  MailboxCapabilities,
  MailDraft,
  MailQuery,
  PostDraft,
  ReplyDraft,
} from "./mailbox.ts";
import { checkedAuth, withNotice } from "./notice.ts";

/**
 * Requests as the port takes them, with their defaults. All of it is pure and throws ServiceError `invalid_request`
 * for what no mailbox would take. Source: contract 4.1, 8; spec/mailbox-agui.md A1, A4, A6, A9.
 */

export function toQuery(request: MailListRequest): MailQuery {
  return {
    box: request.box ?? "inbox",
    readState: request.read_state ?? "any",
    answeredState: request.answered_state ?? "any",
    archived: request.archived ?? null,
    limit: request.limit ?? null,
    since: request.since == null ? null : checkedTime(request.since),
    includeBody: request.include_body ?? false,
    cursor: request.cursor ?? null,
    query: blankToNull(request.query),
  };
}

export function toMailDraft(request: MailSendRequest): MailDraft {
  return {
    to: request.to,
    cc: request.cc ?? [],
    subject: checkedSubject(request.subject),
    ...toReplyDraft(request),
  };
}

export function toPostDraft(request: MailPostRequest): PostDraft {
  return {
    subject: checkedSubject(request.subject),
    replyPolicy: request.reply_policy ?? "operator_mailbox",
    ...toReplyDraft(request),
  };
}

type Content = Pick<MailReplyRequest, "body_content" | "attachments" | "notify_block" | "notify_auth">;

export function toReplyDraft(request: Content): ReplyDraft {
  const { body, notifyBlock } = withNotice(checkedBody(request.body_content), request.notify_block);
  return {
    body,
    attachments: (request.attachments ?? []).map(checkedAttachment),
    notifyBlock,
    notifyAuth: checkedAuth(request.notify_auth),
  };
}

/**
 * The draft for a carrier that may know no notices: then the body goes as it was written and a notice that the
 * caller asked for is `unsupported` (contract 4.1 mail rule 6).
 */
export function fitCarrier<D extends ReplyDraft>(
  draft: D,
  request: Content,
  capabilities: Pick<MailboxCapabilities, "notify">,
): D {
  if (capabilities.notify) return draft;
  if (request.notify_block || request.notify_auth) {
    throw new ServiceError(
      "unsupported",
      "this mailbox's transport carries neither notify_block nor notify_auth",
    );
  }
  return { ...draft, body: request.body_content, notifyBlock: null, notifyAuth: null };
}

export function toFlagChange(request: MailMarkRequest): FlagChange {
  const { read, answered, archived } = request;
  const change: FlagChange = {
    ...(read == null ? {} : { read }),
    ...(answered == null ? {} : { answered }),
    ...(archived == null ? {} : { archived }),
  };
  if (Object.keys(change).length === 0) {
    throw new ServiceError("invalid_request", "give at least one of read, answered and archived");
  }
  if (archived === true && read === false) {
    throw new ServiceError(
      "invalid_request",
      "what is archived is read: archived=true goes not with read=false",
    );
  }
  return change;
}

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function checkedTime(text: string): string {
  const epochMs = rfc3339.test(text) ? parseTimestamp(text.replace(" ", "T").toUpperCase()) : null;
  if (epochMs !== null) return toTimestamp(epochMs);
  throw new ServiceError(
    "invalid_request",
    "since must be a time as 2026-11-21T04:47:00Z (RFC 3339, with its offset)",
  );
}

/** A line break would start another header; other control characters would act on the reader's terminal. */
function checkedSubject(text: string): string {
  const subject = text.trim().toWellFormed();
  if (subject === "") throw new ServiceError("invalid_request", "subject must not be blank");
  if (/[\x00-\x1f\x7f-\x9f\u2028\u2029]/.test(subject)) {
    throw new ServiceError("invalid_request", "subject must be one line without control characters");
  }
  return subject;
}

function checkedBody(body: string): string {
  if (body.includes("\0")) throw new ServiceError("invalid_request", "body_content must not hold NUL");
  return body.toWellFormed();
}

function checkedAttachment({ path, label }: AttachmentInput): AttachmentInput {
  if (!isAbsolute(path) || path.includes("\0")) {
    throw new ServiceError("invalid_request", "the path of an attachment must be absolute");
  }
  if (label != null && /[\x00-\x1f\x7f-\x9f]/.test(label)) {
    throw new ServiceError("invalid_request", "the label of an attachment must hold no control characters");
  }
  return { path, label: label ?? null };
}

function blankToNull(text: string | null | undefined): string | null {
  return text == null || text.trim() === "" ? null : text;
}
