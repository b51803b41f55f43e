import type {
  MailArchiveRequest,
  MailLifecycleResult,
  MailList,
  MailListRequest,
  MailMarkRequest,
  MailMessage,
  MailMoveRequest,
  MailOperation,
  MailPostRequest,
  MailRefRequest,
  MailReplyRequest,
  MailResult,
  MailSendRequest,
  MailStatus,
} from "../../protocol/mail.ts";
import { shortList } from "../../protocol/wire.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Diagnostic } from "../diagnostics/diagnostic-log.ts";
import type { BoundMailbox } from "./binding.ts";
import {
  fitCarrier,
  toBox,
  toFlagChange,
  toMailDraft,
  toPostDraft,
  toQuery,
  toRefs,
  toReplyDraft,
} from "./compose.ts";
import { inField } from "./draft.ts";
import type { Mail, Mailbox, ReplyDraft } from "./mailbox.ts";
import { parseBox } from "./view-state.ts";

/**
 * One agent's mail in the contract's words, whatever carries it. Refuses, in this order: what is wrong with
 * the request itself, `unavailable` where mail is not served, what is wrong with the binding, `unsupported`
 * for what the carrier cannot do, then what the mailbox says (see `Mailbox`). Never uses the terminal.
 * Source: contract 4.1 mail rules; spec/mailbox-agui.md A9; spec/gateway.md 2.5.
 */
export interface MailFacade {
  status(): Promise<MailStatus>;
  list(request: MailListRequest): Promise<MailList>;
  peek(request: MailRefRequest): Promise<MailResult>;
  read(request: MailRefRequest): Promise<MailResult>;
  send(request: MailSendRequest): Promise<MailResult>;
  post(request: MailPostRequest): Promise<MailResult>;
  reply(request: MailReplyRequest): Promise<MailResult>;
  mark(request: MailMarkRequest): Promise<MailLifecycleResult>;
  move(request: MailMoveRequest): Promise<MailLifecycleResult>;
  archive(request: MailArchiveRequest): Promise<MailLifecycleResult>;
}

export function createMailFacade(deps: {
  /** Asked at every call. Throws the answer to the caller when there is no usable mailbox. */
  bound: () => BoundMailbox;
  /** Mail is served here at all: a gateway serves it on loopback only (contract 4.1 mail rule 2). */
  served: boolean;
  /**
   * Folders below which a file has to lie to be attached, asked at every call: a caller may not have read
   * what this process can. Left out where the caller's own process opens the file.
   */
  attachmentRoots?: () => readonly string[];
}): MailFacade {
  function open(): BoundMailbox {
    if (deps.served) return deps.bound();
    throw new ServiceError(
      "unavailable",
      "mail is served on a loopback listener only; this one is open to others",
    );
  }

  function within<D extends ReplyDraft>(draft: D): D {
    if (draft.attachments.length === 0) return draft;
    const below = deps.attachmentRoots?.();
    return { ...draft, attachments: draft.attachments.map((one) => ({ ...one, below })) };
  }

  async function toAnswer(
    { mailbox }: BoundMailbox,
    operation: MailOperation,
    result: Promise<Mail>,
  ): Promise<MailResult> {
    const message = toWire(await result);
    return { ...identityOf(mailbox), operation, message };
  }

  async function changed(
    { mailbox }: BoundMailbox,
    operation: MailOperation,
    result: Promise<Mail[]>,
  ): Promise<MailLifecycleResult> {
    const messages = (await result).map(toWire);
    return { ...identityOf(mailbox), operation, message_count: messages.length, messages };
  }

  const inBox = ({ box }: MailRefRequest) => ({ box: toBox("box", box) });

  return {
    async status() {
      const { mailbox, bindingsVersion } = open();
      return { ...identityOf(mailbox), bindings_version: bindingsVersion };
    },
    async list(request) {
      const query = toQuery(request);
      const { mailbox } = open();
      if (query.query !== null && !mailbox.capabilities.search) {
        throw new ServiceError("unsupported", "this mailbox's transport cannot search: leave out `query`");
      }
      const page = await mailbox.list(query);
      const messages = page.messages.map(toWire);
      return {
        ...identityOf(mailbox),
        box: query.box,
        message_count: messages.length,
        open_count: messages.filter(({ archived }) => !archived).length,
        unread_count: messages.filter(({ unread }) => unread).length,
        messages: query.includeBody ? messages : messages.map(withoutBody),
        next_cursor: page.nextCursor,
      };
    },
    async peek(request) {
      const options = inBox(request);
      const bound = open();
      return toAnswer(bound, "peek", bound.mailbox.peek(request.message_ref, options));
    },
    async read(request) {
      const options = inBox(request);
      const bound = open();
      return toAnswer(bound, "read", bound.mailbox.read(request.message_ref, options));
    },
    async send(request) {
      const draft = within(toMailDraft(request));
      const bound = open();
      const { mailbox } = bound;
      return toAnswer(bound, "send", mailbox.send(fitCarrier(draft, request, mailbox.capabilities)));
    },
    async post(request) {
      const draft = within(toPostDraft(request));
      const bound = open();
      const { mailbox } = bound;
      if (!mailbox.capabilities.post) {
        throw new ServiceError(
          "unsupported",
          "the operator can post to a mailbox of the filesystem transport only",
        );
      }
      return toAnswer(bound, "post", mailbox.post(fitCarrier(draft, request, mailbox.capabilities)));
    },
    async reply(request) {
      const draft = within(toReplyDraft(request));
      const bound = open();
      const { mailbox } = bound;
      return toAnswer(
        bound,
        "reply",
        mailbox.reply(request.message_ref, fitCarrier(draft, request, mailbox.capabilities)),
      );
    },
    async mark(request) {
      const refs = toRefs(request);
      const change = toFlagChange(request);
      const bound = open();
      return changed(bound, "mark", bound.mailbox.mark(refs, change));
    },
    async move(request) {
      const refs = toRefs(request);
      const box = inField("destination_box", () => parseBox(request.destination_box));
      const bound = open();
      return changed(bound, "move", bound.mailbox.move(refs, box));
    },
    async archive(request) {
      const refs = toRefs(request);
      const bound = open();
      return changed(bound, "archive", bound.mailbox.archive(refs));
    },
  };
}

function identityOf({ transport, principalId, address }: Mailbox) {
  return { schema_version: 1 as const, transport, principal_id: principalId, address };
}

/**
 * A message as callers may see it: how a notice is authenticated but not its token, and no list beyond its
 * maximum. Pure. Most mail is of that form already: copies of a page took a tenth of its time.
 */
function toWire(mail: Mail): MailMessage {
  const { notify_auth: auth, to, cc, reply_to, attachments } = mail;
  const longest = Math.max(to.length, cc.length, reply_to.length, attachments.length);
  if (auth === null && longest <= shortList.maxItems) return mail as typeof mail & { notify_auth: null };
  const cut = <T>(list: T[]) => list.slice(0, shortList.maxItems);
  const lists = { to: cut(to), cc: cut(cc), reply_to: cut(reply_to), attachments: cut(attachments) };
  return { ...mail, ...lists, notify_auth: auth && { scheme: auth.scheme } };
}

const withoutBody = (message: MailMessage) =>
  message.body_text === null ? message : { ...message, body_text: null };

/**
 * The same facade, with diagnostics of what begins, ends well and fails: the operation, references and
 * counts, never a word of a message. Source: spec/gateway.md "Diagnostics".
 */
export function observeMail(facade: MailFacade, record: (diagnostic: Diagnostic) => void): MailFacade {
  function observed<R, T>(operation: keyof MailFacade, act: (request: R) => Promise<T>) {
    return async (request: R): Promise<T> => {
      const fields = { operation, ...facts(request) };
      record({ level: "info", event: "gateway.mailbox_operation_started", fields });
      try {
        const result = await act(request);
        record({
          level: "info",
          event: "gateway.mailbox_operation_completed",
          fields: { ...fields, ...outcome(result) },
        });
        return result;
      } catch (error) {
        record(toFailure(operation, fields, error));
        throw error;
      }
    };
  }

  const status = observed("status", () => facade.status());
  return {
    status: () => status(undefined),
    list: observed("list", facade.list),
    peek: observed("peek", facade.peek),
    read: observed("read", facade.read),
    send: observed("send", facade.send),
    post: observed("post", facade.post),
    reply: observed("reply", facade.reply),
    mark: observed("mark", facade.mark),
    move: observed("move", facade.move),
    archive: observed("archive", facade.archive),
  };
}

function toFailure(operation: string, fields: Record<string, unknown>, error: unknown): Diagnostic {
  const reason = error instanceof ServiceError ? error.reason : "internal";
  const carrierFailed = reason === "transport_failed" || reason === "internal";
  return {
    level: carrierFailed ? "error" : "warning",
    event: "gateway.mailbox_operation_failed",
    dedupKey: `gateway.mailbox_operation_failed ${operation} ${reason}`,
    fields: { ...fields, error_reason: reason },
  };
}

const counted = ["to", "cc", "attachments", "message_refs"];
const shown = ["message_ref", "message_refs", "box", "destination_box", "limit", "reply_policy"];
const noticed = ["notify_block", "notify_auth", "query", "cursor"];

/** What of a request may be reported. Pure. */
function facts(request: unknown): Record<string, unknown> {
  const reported: Record<string, unknown> = {};
  for (const [name, value] of Object.entries((request ?? {}) as Record<string, unknown>)) {
    if (value === null || value === undefined) continue;
    if (shown.includes(name)) reported[name] = value;
    if (counted.includes(name) && Array.isArray(value)) reported[`${name}_count`] = value.length;
    if (noticed.includes(name)) reported[`${name}_present`] = true;
  }
  return reported;
}

/** The same of a result. Pure. */
function outcome(result: unknown): Record<string, unknown> {
  const { message_count: count, message } = result as {
    message_count?: number;
    message?: { message_ref: string };
  };
  return {
    ...(count === undefined ? {} : { message_count: count }),
    ...(message === undefined ? {} : { result_message_ref: message.message_ref }),
  };
}
