import {
  type Attestations,
  type AttestedEntry,
  openAttestations,
  type StrayMessage,
} from "../../../../db/mailbox/attestations.ts";
import type { Catalog } from "../../../../db/mailbox/catalog.ts";
import { parseJson } from "../../../../protocol/json.ts";
import { attestationHeader, MailEnvelope, type StoredAttachment } from "../../../../protocol/mail-file.ts";
import type { MailboxHistory } from "../../../../protocol/mailbox-admin.ts";
import type { Remedy } from "../../../../protocol/remedy.ts";
import { startSha256 } from "../../../../system/digest.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { attestedOf, judge } from "../../attestation.ts";
import type { Registration } from "../registration/registrations.ts";
import type { MailRoot } from "../root.ts";
import { attachmentPlace } from "../root-paths.ts";
import { breathe, type RunOptions } from "../upkeep/maintenance.ts";
import { readDelivered } from "./late-files.ts";
import { parseMessageFile, type StoredMessage } from "./message-file.ts";

const pageSize = 200;
const chunkBytes = 1024 * 1024;

type Break = NonNullable<MailboxHistory["broken"]>;
type Open = Pick<MailRoot, "root" | "catalog" | "registrations">;

/**
 * Checks what the mailboxes of a root have signed and sent, each from its first message on: that none is
 * missing, changed, or in another place, and that each is signed by a key of its mailbox. `address` null:
 * all. Throws `not_found` for an address that nobody has or had.
 */
export async function verifyHistories(
  deps: { files: Files },
  open: Open,
  { address, ...options }: RunOptions & { address: string | null },
): Promise<MailboxHistory[]> {
  const chosen = open.registrations.list().filter((one) => address === null || one.address === address);
  if (address !== null && chosen.length === 0) {
    throw new ServiceError("not_found", `no mailbox has or had the address ${address}`, {
      data: { remedy: { code: "list_mailboxes" } satisfies Remedy },
    });
  }
  const histories: MailboxHistory[] = [];
  for (const registration of chosen) histories.push(await verifyOne(deps.files, open, registration, options));
  return histories;
}

async function verifyOne(
  files: Files,
  { root, catalog }: Open,
  { address, registration_id: registrationId, status }: Registration,
  options: RunOptions,
): Promise<MailboxHistory> {
  const attestations = openAttestations(catalog);
  const keys = attestations
    .keysOf(address)
    .filter((key) => key.registrationId === registrationId)
    .map(({ publicKey }) => publicKey);
  const history: MailboxHistory = {
    address,
    registration_id: registrationId,
    status,
    keys,
    entry_count: attestations.countEntries(registrationId),
    cleared_count: 0,
    head_hash: null,
    broken: null,
  };
  const total = history.entry_count;
  let sequence = 0;
  for (;;) {
    await breathe(options, { step: `history of ${address}`, done: sequence, total });
    const entries = attestations.entries({ registrationId, after: sequence, limit: pageSize });
    for (const entry of entries) {
      const found = whyBroken(files, {
        root,
        catalog,
        keys,
        entry,
        after: { sequence, hash: history.head_hash },
      });
      if (found !== null) return { ...history, broken: found };
      ({ sequence, hash: history.head_hash } = entry);
      if (entry.isCleared) history.cleared_count += 1;
    }
    if (entries.length < pageSize) break;
  }
  return { ...history, broken: findStray(attestations, address, keys) };
}

interface EntryFacts {
  root: string;
  catalog: Catalog;
  keys: readonly string[];
  entry: AttestedEntry;
  /** The entry before it. */
  after: { sequence: number; hash: string | null };
}

function whyBroken(files: Files, facts: EntryFacts): Break | null {
  const { entry, after } = facts;
  const expected = after.sequence + 1;
  if (entry.sequence !== expected) {
    return { sequence: expected, message_id: null, why: "its entry is missing" };
  }
  // The next entry names its hash.
  const why = entry.isCleared ? null : whyMessageBroken(files, facts);
  return why === null ? null : { sequence: entry.sequence, message_id: entry.messageId, why };
}

function whyMessageBroken(files: Files, { root, catalog, keys, entry, after }: EntryFacts): string | null {
  const { messageId, message } = entry;
  if (message === null) return "the index does not have the message any more";
  const text = readDelivered(files, root, catalog, { messageId, createdAtUtc: message.createdAtUtc });
  if (text === null) return "the file of the message is missing";
  const parsed = parseMessageFile(text);
  if (!parsed.ok) return `the file of the message cannot be read: ${parsed.why}`;
  const { envelope } = parsed.message;
  const attested = attestedOf(envelope);
  if (!attested) return "the message carries no attestation";
  const verdict = judge({ ...parsed.message, keys, ownHost: null, mailbox: null });
  if (verdict.state === "broken") return verdict.why;
  if (attested.sequence !== entry.sequence) {
    return `another message is in this place: this one was signed as number ${attested.sequence}`;
  }
  if (attested.previous !== after.hash) return "it names another entry as the one before it";
  if (attested.hash !== entry.hash) return "the index has another hash of it";
  if (message.envelopeJson !== JSON.stringify(envelope)) return "the index has another message than its file";
  return whyAttachmentBroken(files, root, envelope.attachments);
}

function whyAttachmentBroken(
  files: Files,
  root: string,
  attachments: readonly StoredAttachment[],
): string | null {
  for (const one of attachments) {
    if (one.kind !== "managed_copy") continue;
    const found = digestOf(files, root, one.path);
    if (found === null) return `its attachment ${one.attachment_id} is missing`;
    if (found !== one.sha256) return `its attachment ${one.attachment_id} was changed`;
  }
  return null;
}

function digestOf(files: Files, root: string, path: string): string | null {
  try {
    const { file } = attachmentPlace(files, root, path);
    const size = files.stat(file)?.size;
    if (size === undefined) return null;
    const hash = startSha256();
    for (let at = 0; at < size; at += chunkBytes) hash.update(files.readPart(file, at, at + chunkBytes));
    return hash.hex();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/** A message that this mailbox signed, but which is in no place: its entry was removed. */
function findStray(attestations: Attestations, address: string, keys: readonly string[]): Break | null {
  for (const stray of allStrays(attestations, address)) {
    const attested = attestedIn(stray);
    if (!attested || !keys.includes(attested.attestation.key)) continue;
    const why = `it was signed as number ${attested.sequence}, and that entry is missing`;
    return { sequence: null, message_id: stray.messageId, why };
  }
  return null;
}

function* allStrays(attestations: Attestations, address: string | null): Generator<StrayMessage> {
  for (let after = ""; ; ) {
    const page = attestations.strays({ address, after, limit: pageSize });
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    after = last.messageId;
  }
}

function attestedIn({ envelopeJson }: StrayMessage) {
  // Mail from before has none, and may be much.
  if (!envelopeJson.includes(attestationHeader)) return null;
  const envelope = parseJson(MailEnvelope, envelopeJson);
  return envelope && attestedOf(envelope);
}

/**
 * Puts the messages that mailboxes of this root have signed back into their places, where the index that had
 * them is lost. A place that is known stays as it is.
 */
export function restoreHistories(
  catalog: Catalog,
  read: (stray: StrayMessage) => StoredMessage | null,
): void {
  const attestations = openAttestations(catalog);
  let found: Parameters<Attestations["restore"]>[0][number][] = [];
  for (const stray of allStrays(attestations, null)) {
    const entry = toEntry(attestations, stray, read);
    if (entry) found.push(entry);
    if (found.length < pageSize) continue;
    attestations.restore(found);
    found = [];
  }
  attestations.restore(found);
}

/** The place of a message that one of our mailboxes signed; null for any other. */
function toEntry(
  attestations: Attestations,
  stray: StrayMessage,
  read: (stray: StrayMessage) => StoredMessage | null,
) {
  const message = attestedIn(stray) && read(stray);
  const attested = message && attestedOf(message.envelope);
  if (!message || !attested) return null;
  const keys = attestations.keysOf(message.envelope.from.address);
  const key = keys.find((one) => one.publicKey === attested.attestation.key);
  if (!key?.registrationId) return null;
  const verdict = judge({ ...message, keys: [key.publicKey], ownHost: null, mailbox: null });
  if (verdict.state !== "verified") return null;
  const { sequence, hash } = attested;
  return { registrationId: key.registrationId, sequence, messageId: stray.messageId, hash, isCleared: false };
}
