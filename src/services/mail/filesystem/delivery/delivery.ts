import { isAbsolute } from "node:path";
import { openAttestations } from "../../../../db/mailbox/attestations.ts";
import type {
  Catalog,
  CatalogReads,
  CatalogStore,
  IndexedMessage,
  RegistrationRow,
} from "../../../../db/mailbox/catalog.ts";
import { openHostOutbox } from "../../../../db/mailbox/host-outbox.ts";
import type { MailEnvelope, MailPrincipal, StoredAttachment } from "../../../../protocol/mail-file.ts";
import { type ContainedPath, childPath, isOneName } from "../../../../system/contained-path.ts";
import { ServiceError } from "../../../../system/errors.ts";
import { idStamp } from "../../../../system/ids.ts";
import type { SigningKey } from "../../../../system/signatures.ts";
import { visibleLine } from "../../../../system/visible.ts";
import { attest } from "../../attestation.ts";
import {
  type DraftAttachment,
  fileNameOf,
  maxAttachmentBytes,
  maxAttachments,
  mediaTypeOf,
  parseBody,
  whyNotAttached,
} from "../../draft.ts";
import type { ReplyDraft } from "../../mailbox.ts";
import { inbox, sent, storedTime } from "../../view-state.ts";
import { createMailboxKeys, keepFirstKey } from "../registration/mailbox-keys.ts";
import {
  isRemote,
  localOf,
  type Party,
  refuseFullOutbox,
  refuseUntransported,
} from "../registration/remote-party.ts";
import {
  attachmentPath,
  attachmentPlace,
  locateMessage,
  type MailRootDeps,
  messageFile,
  messageId,
  pathInRoot,
} from "../root-paths.ts";
import { createAnnouncements } from "./announcements.ts";
import { type LateFiles, maxUnsyncedChars, placeFile, stagedAt } from "./late-files.ts";
import { isEnvelope, renderMessageFile, type StoredMessage, toIndexed } from "./message-file.ts";

/** What a message says besides what `deliver` adds. */
interface OutgoingMessage extends ReplyDraft {
  from: RegistrationRow;
  to: readonly Party[];
  cc: readonly Party[];
  replyTo: readonly RegistrationRow[];
  subject: string;
  headers: Record<string, unknown>;
  /** Null begins a thread. */
  thread: { threadId: string; inReplyTo: string; references: string[] } | null;
}

export interface Delivery {
  /**
   * Delivers to all or to none; delivered means durable, once and for all. The commit of the index decides:
   * what a crash leaves before it is nobody's mail, what it leaves undone behind it the mailboxes catch up
   * with. Throws `invalid_request` for a bad attachment or body, or when a party is no longer registered;
   * nothing is left then. What goes to other hosts waits in the outbox from the same commit on; `unsupported`
   * for what does not travel, `conflict` when too much waits there.
   */
  deliver(outgoing: OutgoingMessage): StoredMessage;
  /**
   * Delivers what another host sent, as it is, to these mailboxes. False when this message was delivered
   * before, also when it was cleared since. Throws `invalid_request` when a receiver is no longer registered.
   */
  accept(message: StoredMessage, receivers: readonly RegistrationRow[]): boolean;
  /**
   * Writes the files of what was delivered just now, and links them into their mailboxes: they may look at
   * it. Never throws.
   */
  announceNow(): void;
}

export function createDelivery(
  deps: Pick<MailRootDeps, "files" | "clock" | "ids" | "onFault">,
  root: string,
  { catalog, lateFiles }: { catalog: Catalog; lateFiles: Pick<LateFiles, "soon" | "write"> },
): Delivery {
  const { files, clock, ids } = deps;
  const announcements = createAnnouncements(deps, root, { catalog, lateFiles });
  const keys = createMailboxKeys(deps, root, catalog);
  /** What each mailbox signed last, by registration: another process may have signed since. */
  const lastAttested = new Map<string, { sequence: number; hash: string }>();
  let lastMs = 0;

  function stamped(): { id: string; createdAtUtc: string } {
    // Mail of one sender keeps its order within a millisecond too.
    lastMs = Math.max(clock.nowMs(), lastMs + 1);
    const stamp = idStamp(lastMs).replace("-", "T");
    return { id: messageId(stamp, ids.uuid().replaceAll("-", "")), createdAtUtc: storedTime(lastMs) };
  }

  /** Undoes what was put on disk for a message that is not delivered. */
  function withdraw(made: readonly ContainedPath[]): void {
    for (const path of made) files.remove("mail.withdrawn", path);
  }

  function attach(input: DraftAttachment, made: ContainedPath[]): StoredAttachment {
    const { path } = input;
    const refused = (why: string) =>
      new ServiceError("invalid_request", `attachment ${JSON.stringify(path)} ${why}`);
    if (path.includes("\0") || !isAbsolute(path)) throw refused("is not an absolute path");
    const name = fileNameOf(path);
    if (!isOneName(name)) throw refused("does not name a file");
    const attachmentId = `att-${ids.hex(6)}`;
    const folder = pathInRoot(files, root, ["staging", attachmentId]);
    pathInRoot(files, root, attachmentPath(attachmentId, name));
    files.ensureDirectory("mail.attachment-folder", folder);
    made.push(folder);
    const copied = files.copy("mail.attachment-staged", path, childPath(folder, name), {
      maxBytes: maxAttachmentBytes,
      within: input.below,
    });
    if (!copied.ok) {
      const tooLarge = `is larger than ${maxAttachmentBytes / 1024 / 1024} MiB`;
      throw refused(copied.why === "too_large" ? tooLarge : whyNotAttached[copied.why]);
    }
    return {
      attachment_id: attachmentId,
      kind: "managed_copy",
      path: attachmentPath(attachmentId, name),
      media_type: mediaTypeOf(name),
      sha256: copied.sha256,
      size_bytes: copied.size,
      label: (input.label?.trim() || name).toWellFormed(),
    };
  }

  function placeAttachments(attachments: readonly StoredAttachment[], made: ContainedPath[]): void {
    for (const one of attachments) {
      const staged = pathInRoot(files, root, ["staging", one.attachment_id], "folder");
      files.sync("mail.attachment-synced", staged);
      const kept = attachmentPlace(files, root, one.path).folder;
      made.push(kept);
      files.place("mail.attachment-placed", staged, kept);
    }
  }

  /**
   * Where the file of a message belongs. `unsynced`: the text that the catalog has to keep until the file is
   * on disk, or null for a long one, which is there already, with its paths added to `made`.
   */
  function store({ envelope, body }: StoredMessage, made: ContainedPath[]): Placed {
    const id = { messageId: envelope.message_id, createdAtUtc: envelope.created_at_utc };
    const { path: place, found } = locateMessage(files, root, id);
    if (found !== "absent") throw new Error(`the id ${envelope.message_id} exists already`);
    const staged = stagedAt(files, root, place);
    const text = renderMessageFile({ envelope, body });
    if (text.length <= maxUnsyncedChars) return { place, unsynced: text };
    made.push(staged, place);
    placeFile(files, root, { place, text, durable: true });
    return { place, unsynced: null };
  }

  function commit(
    message: StoredMessage,
    parties: readonly RegistrationRow[],
    { rows, place, isNext }: { rows: IndexedMessage; place: ContainedPath; isNext: IsNext },
  ): CatalogStore {
    const store = catalog.deliver("sql:mail-delivered", rows, (reads) => {
      if (!isNext(reads)) throw new ChainMoved();
      for (const party of parties) {
        const now = reads.active(party.address);
        if (now?.registrationId !== party.registrationId || now.ownerPrincipalId !== party.ownerPrincipalId) {
          throw new ServiceError(
            "invalid_request",
            `the registration of ${party.address} has just changed; try again`,
          );
        }
      }
      refuseFullOutbox(openHostOutbox(catalog), rows.outgoing ?? []);
      // Maintenance, which takes the same lock, may remove files that no row names.
      if (!rows.unsynced && !files.exists(place)) {
        throw new ServiceError(
          "transport_failed",
          `the file of ${message.envelope.message_id} was taken away`,
        );
      }
    });
    if (rows.unsynced) lateFiles.soon();
    return store;
  }

  /**
   * Signs, stores and commits; again, with the next number, when the sender has sent by another process
   * meanwhile.
   */
  function deliverSigned(
    plain: StoredMessage,
    outgoing: OutgoingMessage,
    made: ContainedPath[],
  ): StoredMessage {
    const key = keys.of(outgoing.from);
    const parties = [outgoing.from, ...localOf(outgoing.to), ...localOf(outgoing.cc)];
    for (;;) {
      const { message, attested, isNext } = signed(plain, outgoing.from, key);
      const { place, unsynced } = store(message, made);
      const rows = { ...toRows(message, outgoing), attested, unsynced };
      try {
        const store = commit(message, parties, { rows, place, isNext });
        if (attested) lastAttested.set(attested.registrationId, attested);
        announcements.soon({ rows, parties, store });
        return message;
      } catch (error) {
        if (!(error instanceof ChainMoved)) throw error;
        lastAttested.delete(outgoing.from.registrationId);
        files.remove("mail.withdrawn", place);
      }
    }
  }

  function signed(
    { envelope, body }: StoredMessage,
    { registrationId }: RegistrationRow,
    key: SigningKey | null,
  ) {
    if (!key) return { message: { envelope, body }, attested: null, isNext: () => true };
    const before = lastAttested.get(registrationId) ?? catalog.newestAttested(registrationId);
    const sequence = (before?.sequence ?? 0) + 1;
    const made = attest({ envelope, body }, key, { sequence, previous: before?.hash ?? null });
    return {
      message: { envelope: made.envelope, body },
      attested: { registrationId, sequence, messageId: envelope.message_id, hash: made.hash },
      // The entry itself is there where a commit is repeated, because the file of the index was replaced.
      isNext: (reads: CatalogReads) =>
        [before?.hash, made.hash].includes(reads.newestAttested(registrationId)?.hash),
    };
  }

  return {
    announceNow: announcements.now,
    deliver(outgoing) {
      const body = parseBody(outgoing.body);
      if (outgoing.attachments.length > maxAttachments) {
        throw new ServiceError("invalid_request", `a message has at most ${maxAttachments} attachments`);
      }
      refuseUntransported(outgoing);
      const made: ContainedPath[] = [];
      const { id, createdAtUtc } = stamped();
      return whole(id, made, () => {
        const attachments = outgoing.attachments.map((one) => attach(one, made));
        const plain = { envelope: toEnvelope(outgoing, { id, createdAtUtc, attachments }), body };
        if (!isEnvelope(plain.envelope)) {
          throw new ServiceError("invalid_request", "a part of the message is empty or not of its kind");
        }
        placeAttachments(attachments, made);
        return deliverSigned(plain, outgoing, made);
      });
    },
    accept(message, receivers) {
      const { message_id: id, created_at_utc: createdAtUtc } = message.envelope;
      if (catalog.knows(id) || openAttestations(catalog).senderOfCleared(id) !== null) return false;
      const projections = receivers.map(({ registrationId }) => ({ registrationId, folder: inbox }));
      const rows = toIndexed(
        message,
        projections,
        (address) => receivers.find((one) => one.address === address)?.registrationId ?? null,
      );
      // What a crash has left of it is nobody's.
      files.remove("mail.withdrawn", messageFile(files, root, { messageId: id, createdAtUtc }));
      const made: ContainedPath[] = [];
      return whole(id, made, () => {
        keepFirstKey(deps, catalog, message);
        placeAttachments(message.envelope.attachments, made);
        const { place, unsynced } = store(message, made);
        const whole = { ...rows, unsynced };
        const committedTo = commit(message, receivers, { rows: whole, place, isNext: () => true });
        announcements.soon({ rows: whole, parties: receivers, store: committedTo });
        return true;
      });
    },
  };

  /** `work` makes a message; what a failure leaves of it on disk is removed. */
  function whole<T>(id: string, made: readonly ContainedPath[], work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (wasDelivered(id)) lateFiles.soon();
      else withdraw(made);
      throw error;
    }
  }

  /** After a failed commit: an answer that cannot be had keeps the files. */
  function wasDelivered(id: string): boolean {
    try {
      return catalog.knows(id);
    } catch {
      return true;
    }
  }
}

interface Placed {
  place: ContainedPath;
  unsynced: string | null;
}

/** Whether a signed message still continues the chain of its sender. */
type IsNext = (reads: CatalogReads) => boolean;

/** Another process has sent from the same mailbox since the message was signed. */
class ChainMoved extends Error {}

function toEnvelope(
  outgoing: OutgoingMessage,
  own: { id: string; createdAtUtc: string; attachments: StoredAttachment[] },
): MailEnvelope {
  return {
    protocol_version: 3,
    message_id: own.id,
    thread_id: outgoing.thread?.threadId ?? own.id,
    in_reply_to: outgoing.thread?.inReplyTo ?? null,
    references: outgoing.thread?.references ?? [],
    created_at_utc: own.createdAtUtc,
    from: toPrincipal(outgoing.from),
    to: outgoing.to.map(toPrincipal),
    cc: outgoing.cc.map(toPrincipal),
    reply_to: outgoing.replyTo.map(toPrincipal),
    subject: outgoing.subject,
    attachments: own.attachments,
    headers: outgoing.headers,
    notify_block: outgoing.notifyBlock,
    notify_auth: outgoing.notifyAuth,
  };
}

/** A name is signed, and travels between hosts, as it is here. */
const maxNameLength = 200;

function toPrincipal(row: Party): MailPrincipal {
  if (isRemote(row)) return { principal_id: row.address, address: row.address };
  const name = visibleLine(row.displayName ?? "")
    .slice(0, maxNameLength)
    .toWellFormed();
  return {
    principal_id: row.ownerPrincipalId,
    address: row.address,
    ...(name === "" ? {} : { display_name: name }),
    ...(row.role ? { role: row.role } : {}),
  };
}

/** Each mailbox once: who writes to himself finds the message in his inbox. */
function toRows(message: StoredMessage, { from, to, cc }: OutgoingMessage): IndexedMessage {
  const receivers = localOf([...to, ...cc]);
  const folders = new Map([[from.registrationId, sent as string]]);
  for (const { registrationId } of receivers) folders.set(registrationId, inbox);
  const projections = [...folders].map(([registrationId, folder]) => ({ registrationId, folder }));
  const hosts = new Set([...to, ...cc].flatMap((one) => (isRemote(one) ? [one.host] : [])));
  const acceptedAtUtc = message.envelope.created_at_utc;
  return {
    ...toIndexed(
      message,
      projections,
      (address) => receivers.find((one) => one.address === address)?.registrationId ?? null,
    ),
    outgoing: [...hosts].map((host) => ({ host, acceptedAtUtc })),
  };
}
