import type { AttachmentInput } from "../../protocol/mail.ts";
import type { MailEnvelope, MailPrincipal } from "../../protocol/mail-file.ts";
import { ServiceError } from "../../system/errors.ts";
import type { WhyNotRead } from "../../system/open-file.ts";

/** Attachments. Source: spec/mailbox-agui.md A1. Pure. */

export const maxAttachments = 50;
export const maxAttachmentBytes = 25 * 1024 * 1024;

const mediaTypes: Readonly<Record<string, string>> = {
  csv: "text/csv",
  diff: "text/x-diff",
  gif: "image/gif",
  gz: "application/gzip",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  jsonl: "application/jsonl",
  log: "text/plain",
  md: "text/markdown",
  mp4: "video/mp4",
  patch: "text/x-diff",
  pdf: "application/pdf",
  png: "image/png",
  py: "text/x-python",
  sh: "application/x-sh",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  toml: "application/toml",
  ts: "text/x-typescript",
  txt: "text/plain",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
};

/** A file to attach, and the folders below which it has to lie; without `below` it may lie anywhere. */
export interface DraftAttachment extends AttachmentInput {
  below?: readonly string[] | undefined;
}

/** Why a file cannot be attached, as a clause, with the next step where there is one. */
export const whyNotAttached: Record<WhyNotRead, string> = {
  absent: "does not exist",
  unreadable: "cannot be read",
  not_regular: "is not a regular file",
  not_ours: "is not only yours to change",
  too_large: "is too large",
  of_kernel: "lies in a file system of the kernel",
  outside:
    "does not lie below the agent's working directory. Copy it there, or start the gateway with --attachment-root FOLDER",
};

/** By the extension of the name; an unknown one is application/octet-stream. */
export function mediaTypeOf(fileName: string): string {
  const ending = /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase();
  return (ending === undefined ? undefined : mediaTypes[ending]) ?? "application/octet-stream";
}

/** The last part of a path, with control characters replaced. */
export function fileNameOf(path: string): string {
  const name = path.split("/").findLast((part) => part !== "") ?? "";
  return name.replace(/[\x00-\x1f\x7f-\x9f]/g, "_");
}

/** Checks of what a caller wrote. All throw `invalid_request`. Pure. */

const maxRecipients = 256;
const maxBodyBytes = 8 * 1024 * 1024;
const maxSubjectChars = 998;

/** One line with something to see. */
export function parseSubject(text: string): string {
  const subject = text.toWellFormed().trim();
  if (subject === "") throw new ServiceError("invalid_request", "the subject is blank");
  if (/[\x00-\x1f\x7f-\x9f\u2028\u2029]/.test(subject)) {
    throw new ServiceError(
      "invalid_request",
      "the subject is not one line of text without control characters",
    );
  }
  if (subject.length > maxSubjectChars) {
    throw new ServiceError("invalid_request", `the subject is longer than ${maxSubjectChars} characters`);
  }
  return subject;
}

/** May be empty. */
export function parseBody(text: string): string {
  if (text.includes("\0")) throw new ServiceError("invalid_request", "the body contains a NUL character");
  const body = text.toWellFormed();
  if (new TextEncoder().encode(body).length > maxBodyBytes) {
    throw new ServiceError("invalid_request", `the body is larger than ${maxBodyBytes / 1024 / 1024} MiB`);
  }
  return body;
}

/** Each recipient once: who is in `to` is not in `cc` too. Addresses are parsed by `parse`. */
export function planRecipients(
  draft: { to: readonly string[]; cc: readonly string[] },
  parse: (address: string) => string,
): { to: string[]; cc: string[] } {
  if (draft.to.length === 0) throw new ServiceError("invalid_request", "a message needs a recipient");
  if (Math.max(draft.to.length, draft.cc.length) > maxRecipients) {
    throw new ServiceError("invalid_request", `to and cc hold at most ${maxRecipients} recipients each`);
  }
  // A refusal names the field and not its value (ruling 9).
  const parsed = (field: "to" | "cc") =>
    new Set(draft[field].map((text, nth) => inPlace(`${field}.${nth}`, () => parse(text))));
  const to = parsed("to");
  const cc = parsed("cc");
  return { to: [...to], cc: [...cc].filter((address) => !to.has(address)) };
}

function inPlace<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== "invalid_request") throw error;
    throw new ServiceError("invalid_request", `${place}: ${error.message}`);
  }
}

/**
 * A refusal of one field of a request, in the form of a schema error (ruling 9). `loc`: from the body down.
 */
export function invalidField(loc: readonly (string | number)[], msg: string): ServiceError {
  const where = loc.length === 0 ? "" : `${loc.join(".")}: `;
  return new ServiceError("invalid_request", `${where}${msg}`, {
    data: { issues: [{ type: "value_error", loc: [...loc], msg }] },
  });
}

/** The result of `check`; what it refuses as `invalid_request` names the field. */
export function inField<T>(field: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "invalid_request") {
      throw invalidField([field], error.message);
    }
    throw error;
  }
}

/** How a reply refers to its parent. Source: contract 2.5; spec/mailbox-agui.md A1, A9. Pure. */

/**
 * How many replies led to a message, one counted up by each: agents that answer each other for ever show in
 * it.
 */
export const hopsHeader = "x-svc-hops";

/** Of a header's value, whatever wrote it; 0 for none. */
export function hopsOf(value: unknown): number {
  const hops = typeof value === "string" && /^ *[0-9]{1,6} *$/.test(value) ? Number(value) : value;
  return typeof hops === "number" && Number.isSafeInteger(hops) && hops > 0 ? hops : 0;
}

export const originHeader = "x-svc-origin";
export const replyPolicyHeader = "x-svc-reply-policy";

/** A long thread names its root and the latest of its messages. */
const maxReferences = 100;

interface Thread {
  subject: string;
  to: MailPrincipal[];
  threadId: string;
  inReplyTo: string;
  references: string[];
  headers: Record<string, unknown>;
}

/** Throws `invalid_request` for a note of the operator that takes no reply. */
export function planReply(parent: MailEnvelope): Thread {
  if (
    parent.headers[originHeader] === "operator" &&
    parent.headers[replyPolicyHeader] !== "operator_mailbox"
  ) {
    throw new ServiceError("invalid_request", "this note of the operator takes no reply");
  }
  const all = [...parent.references, parent.message_id];
  return {
    subject: /^re:/i.test(parent.subject) ? parent.subject : `Re: ${parent.subject}`,
    to: parent.reply_to.length > 0 ? parent.reply_to : [parent.from],
    threadId: parent.thread_id,
    inReplyTo: parent.message_id,
    headers: { [hopsHeader]: hopsOf(parent.headers[hopsHeader]) + 1 },
    references: all.length > maxReferences ? [...all.slice(0, 1), ...all.slice(1 - maxReferences)] : all,
  };
}
