import type {
  MailMessage,
  MailTransport,
  NotifyAuth,
  NotifyBlock,
  ReplyPolicy,
} from "../../protocol/mail.ts";
import type { DraftAttachment } from "./draft.ts";

/**
 * One mailbox as its owner sees it, whatever carries the mail. Every method reads the truth afresh: another
 * process may have changed it. What a method resolves with is durable. Throws ServiceError: `not_found` for a
 * reference this mailbox does not hold, `invalid_request` for what the caller got wrong (address, recipient,
 * box, attachment, prefix, combination of flags, reply to a note without replies), `unsupported` for what
 * `capabilities` excludes, `transport_failed` only when the carrier itself failed. Nothing is changed by a
 * call that throws. Source: contract 2.5, 4.1; rulings 10, 14; spec/mailbox-agui.md A5, A6, A9.
 */
export interface Mailbox {
  readonly transport: MailTransport;
  readonly principalId: string;
  readonly address: string;
  readonly capabilities: MailboxCapabilities;
  /**
   * Newest first (created_at, then reference); all conditions hold before the limit. A page ends at the
   * limit, at 10,000 messages or at 8 MiB, whichever comes first, but holds one message at least.
   */
  list(query: MailQuery): Promise<MailPage>;
  /** The message with its body, nothing changed. */
  peek(ref: string, options?: { box?: string | null }): Promise<Mail>;
  /** The same, and read from then on. */
  read(ref: string, options?: { box?: string | null }): Promise<Mail>;
  /** Resolves with the sender's copy. */
  send(draft: MailDraft): Promise<Mail>;
  /** From the operator to this mailbox; resolves with the message as this mailbox holds it. */
  post(draft: PostDraft): Promise<Mail>;
  /** To whom the message says; resolves with the reply, and the answered message is read and answered. */
  reply(ref: string, draft: ReplyDraft): Promise<Mail>;
  /** All of them or none; in the order of `refs`. Beyond 8 MiB of texts `body_text` is null. */
  mark(refs: readonly string[], change: FlagChange): Promise<Mail[]>;
  move(refs: readonly string[], destinationBox: string): Promise<Mail[]>;
  archive(refs: readonly string[]): Promise<Mail[]>;
  /**
   * Called soon after mail may have arrived, by any process. A hint: it may be missing, and it may come for
   * nothing. Returns the function that ends it.
   */
  onArrival(listener: () => void): () => void;
  close(): void;
}

/** A message as services know it: with the token that only a verifier may see. */
export type Mail = Omit<MailMessage, "notify_auth"> & { notify_auth: NotifyAuth | null };

/** What a carrier can do; what it cannot it refuses as the contract says. */
export interface MailboxCapabilities {
  /** Notes of the operator. */
  post: boolean;
  /** Notices and their authentication. */
  notify: boolean;
  /** `query` of a list. */
  search: boolean;
  /** An unknown recipient is refused at once rather than bounced later. */
  refusesUnknownRecipients: boolean;
}

export interface MailQuery {
  box: string;
  readState: "any" | "read" | "unread";
  answeredState: "any" | "answered" | "unanswered";
  archived: boolean | null;
  limit: number | null;
  /** RFC 3339, inclusive. */
  since: string | null;
  includeBody: boolean;
  cursor: string | null;
  query: string | null;
  /** Leaves out messages whose content is lost: nobody can work them. */
  onlyReadable?: boolean | undefined;
}

export interface MailPage {
  messages: Mail[];
  nextCursor: string | null;
  /** How many `onlyReadable` left out of this page. */
  unreadable?: number;
}

export interface ReplyDraft {
  body: string;
  attachments: readonly DraftAttachment[];
  notifyBlock: NotifyBlock | null;
  notifyAuth: NotifyAuth | null;
}

export interface PostDraft extends ReplyDraft {
  subject: string;
  replyPolicy: ReplyPolicy;
}

export interface MailDraft extends ReplyDraft {
  to: readonly string[];
  cc: readonly string[];
  subject: string;
}

export interface FlagChange {
  read?: boolean;
  answered?: boolean;
  archived?: boolean;
}
