import { isAbsolute } from "node:path";
import { patterns } from "../../protocol/enforced.ts";
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
import { inField, invalidField, parseBody, parseSubject } from "./draft.ts";
import type {
  FlagChange,
  MailboxCapabilities,
  MailDraft,
  MailQuery,
  PostDraft,
  ReplyDraft,
} from "./mailbox.ts";
import { checkedAuth, withNotice } from "./message-body.ts";
import { inbox, parseBox } from "./view-state.ts";

/**
 * Requests as the port takes them, with their defaults. All of it is pure and throws ServiceError
 * `invalid_request` for what no mailbox would take. Source: contract 4.1, 8; spec/mailbox-agui.md A1, A4, A6,
 * A9.
 */

export function toQuery(request: MailListRequest): MailQuery {
  return {
    box: toBox("box", request.box) ?? inbox,
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

/** The references of a request, which are all different. */
export function toRefs({ message_refs: refs }: { message_refs: string[] }): string[] {
  if (new Set(refs).size < refs.length) {
    throw invalidField(["message_refs"], "expected array elements to be unique");
  }
  return refs;
}

/** The name of a box; null when none was given. */
export function toBox(field: string, box: string | null | undefined): string | null {
  return box == null ? null : inField(field, () => parseBox(box));
}

export function toMailDraft(request: MailSendRequest): MailDraft {
  return {
    to: request.to,
    cc: request.cc ?? [],
    subject: inField("subject", () => parseSubject(request.subject)),
    ...toReplyDraft(request),
  };
}

export function toPostDraft(request: MailPostRequest): PostDraft {
  return {
    subject: inField("subject", () => parseSubject(request.subject)),
    replyPolicy: request.reply_policy ?? "operator_mailbox",
    ...toReplyDraft(request),
  };
}

type Content = Pick<MailReplyRequest, "body_content" | "attachments" | "notify_block" | "notify_auth">;

export function toReplyDraft(request: Content): ReplyDraft {
  const { body, notifyBlock } = withNotice(
    inField("body_content", () => parseBody(request.body_content)),
    request.notify_block,
  );
  return {
    body,
    attachments: (request.attachments ?? []).map(checkedAttachment),
    notifyBlock,
    notifyAuth: checkedAuth(request.notify_auth),
  };
}

/**
 * The draft for a carrier that may know no notices: then the body goes as it was written and a notice that
 * the caller asked for is `unsupported` (contract 4.1 mail rule 6).
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
    throw invalidField([], "give at least one of read, answered and archived");
  }
  if (archived === true && read === false) {
    throw invalidField(
      ["read"],
      "an archived message is always read: archived=true conflicts with read=false",
    );
  }
  return change;
}

const rfc3339 = new RegExp(patterns.time);

function checkedTime(text: string): string {
  const epochMs = rfc3339.test(text) ? parseTimestamp(text.replace(" ", "T").toUpperCase()) : null;
  if (epochMs !== null) return toTimestamp(epochMs);
  throw invalidField(["since"], "must be a time as 2026-11-21T04:47:00Z (RFC 3339, with its offset)");
}

function checkedAttachment({ path, label }: AttachmentInput, nth: number): AttachmentInput {
  if (!isAbsolute(path) || path.includes("\0")) {
    throw invalidField(["attachments", nth, "path"], "must be an absolute path");
  }
  if (label != null && /[\x00-\x1f\x7f-\x9f]/.test(label)) {
    throw invalidField(["attachments", nth, "label"], "must hold no control characters");
  }
  return { path, label: label ?? null };
}

function blankToNull(text: string | null | undefined): string | null {
  return text == null || text.trim() === "" ? null : text;
}
