import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import {
  attestationHeader,
  MailAttestation,
  type MailEnvelope,
  type MailPrincipal,
} from "../../protocol/mail-file.ts";
import { sha256 } from "../../system/digest.ts";
import { isSignedBy, type SigningKey } from "../../system/signatures.ts";
import { idBesideForeign, localPart, splitHostAddress, toFleetAddress } from "./address.ts";

/**
 * Who proved to have sent a message. Each mailbox has a key, and what is sent from it carries, in the header
 * `x-svc-attestation`, a statement signed with that key. The statement is one line of JSON, an array in this
 * order:
 *
 * 1. `svc-mail-attestation-v2`
 * 2. message id, 3. time of writing
 * 4. address of the sender, 5. addresses of `to`, 6. addresses of `cc`, as the sender's host writes them
 * 7. thread id, 8. id of the answered message or null
 * 9. SHA-256 of the content: the JSON array of subject, addresses of `reply_to`, attachments (each [id, kind,
 *   path,
 *    media type, sha256, size, label]`, null for what it lacks), notice (`[text, placement]` or null), `notify_auth` or
 *    null, and the other headers as `[name, value]`, sorted by name
 * 10. SHA-256 of the body
 * 11. sequence number of the message among those that the mailbox sent, from 1
 * 12. hash of the one before, or null for the first
 * 13. SHA-256 of the JSON array of what names the message shows: name of the sender, names of `to`, of `cc`,
 *   of
 *    `reply_to`, each null where there is none, and the references
 *
 * `svc-mail-attestation-v1`, which earlier versions wrote, ends with 12: nothing of 13 is signed there.
 *
 * A digest is over UTF-8, in lower-case hexadecimal. The hash of an entry is the SHA-256 of `statement`, a
 * line feed and `signature`. JSON is as `JSON.stringify` writes it; the bytes that are signed are those of
 * the stored text.
 */
const layout = "svc-mail-attestation-v2";
const formerLayout = "svc-mail-attestation-v1";

const signedParts = [
  Type.String(),
  Type.String(),
  Type.String(),
  Type.Array(Type.String()),
  Type.Array(Type.String()),
  Type.String(),
  Type.Union([Type.String(), Type.Null()]),
  Type.String(),
  Type.String(),
  Type.Integer({ minimum: 1 }),
  Type.Union([Type.String(), Type.Null()]),
] as const;
const Statement = Type.Tuple([Type.Literal(layout), ...signedParts, Type.String()]);
const FormerStatement = Type.Tuple([Type.Literal(formerLayout), ...signedParts]);

/** What a message says of its sender. `why` only when it is broken: a clause for people. */
export type Verdict = { state: "verified" } | { state: "unsigned" } | { state: "broken"; why: string };

/** The place of a message among those that its mailbox sent. */
interface ChainLink {
  sequence: number;
  /** Hash of the entry before; null for the first. */
  previous: string | null;
}

interface Attested extends ChainLink {
  attestation: MailAttestation;
  hash: string;
}

/**
 * Signs a message that carries no attestation yet. Returns its envelope with one, and the hash of the new
 * entry.
 */
export function attest(
  { envelope, body }: { envelope: MailEnvelope; body: string },
  key: SigningKey,
  { sequence, previous }: ChainLink,
): { envelope: MailEnvelope; hash: string } {
  const statement = JSON.stringify([
    layout,
    envelope.message_id,
    envelope.created_at_utc,
    envelope.from.address,
    envelope.to.map((one) => one.address),
    envelope.cc.map((one) => one.address),
    envelope.thread_id,
    envelope.in_reply_to,
    contentDigest(envelope),
    sha256(body),
    sequence,
    previous,
    namesDigest(envelope),
  ]);
  const attestation: MailAttestation = { statement, key: key.publicKey, signature: key.sign(statement) };
  const headers = { ...envelope.headers, [attestationHeader]: attestation };
  return { envelope: { ...envelope, headers }, hash: entryHash(attestation) };
}

function contentDigest({ subject, reply_to, attachments, notify_block, notify_auth, headers }: MailEnvelope) {
  const others = Object.entries(headers)
    .filter(([name]) => name !== attestationHeader)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return sha256(
    JSON.stringify([
      subject,
      reply_to.map((one) => one.address),
      attachments.map((one) => [
        one.attachment_id,
        one.kind,
        one.path,
        one.media_type,
        one.sha256 ?? null,
        one.size_bytes ?? null,
        one.label ?? null,
      ]),
      notify_block && [notify_block.text, notify_block.placement],
      notify_auth,
      others,
    ]),
  );
}

function namesDigest({ from, to, cc, reply_to, references }: MailEnvelope): string {
  const nameOf = ({ display_name: name }: MailPrincipal) => name ?? null;
  return sha256(
    JSON.stringify([nameOf(from), to.map(nameOf), cc.map(nameOf), reply_to.map(nameOf), references]),
  );
}

/** Whether the attestation of a message covers the names that it shows; not whether it is good. */
export function hasSignedNames({ headers }: MailEnvelope): boolean {
  const attestation = headers[attestationHeader];
  return Value.Check(MailAttestation, attestation) && readStatement(attestation)?.names != null;
}

export function entryHash({ statement, signature }: MailAttestation): string {
  return sha256(`${statement}\n${signature}`);
}

/**
 * The attestation of a message with its place in the chain; null for none, and for one that cannot be read.
 */
export function attestedOf({ headers }: MailEnvelope): Attested | null {
  const attestation = headers[attestationHeader];
  const signed = Value.Check(MailAttestation, attestation) ? readStatement(attestation) : null;
  if (!signed) return null;
  return {
    attestation: attestation as MailAttestation,
    sequence: signed.sequence,
    previous: signed.previous,
    hash: entryHash(attestation as MailAttestation),
  };
}

function readStatement({ statement }: MailAttestation) {
  let value: unknown;
  try {
    value = JSON.parse(statement);
  } catch {
    return null;
  }
  if (!Value.Check(Statement, value) && !Value.Check(FormerStatement, value)) return null;
  const [, messageId, createdAtUtc, sender, to, cc, threadId, inReplyTo, content, body, sequence, previous] =
    value;
  const parts = { messageId, createdAtUtc, sender, to, cc, threadId, inReplyTo, content, body };
  return { ...parts, sequence, previous, names: value[12] ?? null };
}

export interface JudgeFacts {
  envelope: MailEnvelope;
  /** Null when it cannot be read: then only the rest is judged. */
  body: string | null;
  /** Known keys of the address that the message says it is from. */
  keys: readonly string[];
  /** The name of this host in its fleet; null where it has joined none. */
  ownHost: string | null;
  /** In whose mailbox the message lies; null: whether it was written to it is not judged. */
  mailbox: string | null;
}

/** Whether the sender signed this message, as it is. Never throws. */
export function judge(facts: JudgeFacts): Verdict {
  const { envelope, keys } = facts;
  if (envelope.headers[attestationHeader] === undefined) return { state: "unsigned" };
  const attested = attestedOf(envelope);
  if (!attested) return broken("its attestation cannot be read");
  const { attestation } = attested;
  if (!keys.includes(attestation.key)) return broken(whyForeign(facts));
  if (!isSignedBy(attestation.key, attestation.statement, attestation.signature)) {
    return broken(`the signature is not of the key of ${envelope.from.address}`);
  }
  const why = whyDifferent(facts, attestation);
  return why === null ? { state: "verified" } : broken(why);
}

/** The verdict on a message whose other parts are verified already. */
export function judgeBody(envelope: MailEnvelope, body: string): Verdict {
  const { [attestationHeader]: attestation } = envelope.headers;
  const signed = Value.Check(MailAttestation, attestation) ? readStatement(attestation) : null;
  return signed?.body === sha256(body) ? { state: "verified" } : broken(changedBody);
}

const broken = (why: string): Verdict => ({ state: "broken", why });
const changedBody = "its text is not the one that was signed";

function whyForeign({ envelope, keys }: JudgeFacts): string {
  const { address } = envelope.from;
  if (keys.length === 0) return `no key of ${address} is known here`;
  return splitHostAddress(address) === null
    ? `it is signed with a key that is not of ${address}`
    : `its key is not the one with which ${address} signed at first`;
}

function whyDifferent(facts: JudgeFacts, attestation: MailAttestation): string | null {
  const { envelope, body, mailbox } = facts;
  const signed = readStatement(attestation);
  if (!signed) return "its attestation cannot be read";
  const host = hostOf(signed.sender, envelope.from.address);
  const here = (address: string) => (host ? toFleetAddress(address, host) : address);
  const differs: [string, boolean][] = [
    ["sender differs", host === undefined],
    ["id differs", !isId(signed.messageId, facts, host ?? null)],
    ["time differs", !isTime(signed.createdAtUtc, envelope.created_at_utc, host ?? null)],
    ["recipients differ", !areParties(signed.to.map(here), envelope.to, facts)],
    ["recipients differ", !areParties(signed.cc.map(here), envelope.cc, facts)],
    ["thread differs", signed.threadId !== envelope.thread_id || signed.inReplyTo !== envelope.in_reply_to],
    ["subject, notice, attachments or headers differ", signed.content !== contentDigest(envelope)],
    ["names or references differ", signed.names !== null && signed.names !== namesDigest(envelope)],
  ];
  const found = differs.find(([, isDifferent]) => isDifferent);
  if (found) return `its ${found[0]} from what was signed`;
  if (body !== null && signed.body !== sha256(body)) return changedBody;
  const parties = [envelope.from, ...envelope.to, ...envelope.cc];
  const isParty = mailbox === null || parties.some(({ address }) => address === mailbox);
  return isParty ? null : `it was not written to ${mailbox}`;
}

/** The host that sent the message; null for this one, undefined when the addresses are not of one mailbox. */
function hostOf(signed: string, shown: string): string | null | undefined {
  if (signed === shown) return null;
  const remote = splitHostAddress(shown);
  return remote?.name === localPart(signed) ? remote.host : undefined;
}

function isId(signed: string, { envelope }: JudgeFacts, host: string | null): boolean {
  const { message_id: id } = envelope;
  return signed === id || (host !== null && idBesideForeign(signed, host) === id);
}

/** A receiving host puts back a time that is in its future. Times of one form sort as text. */
function isTime(signed: string, stored: string, host: string | null): boolean {
  return signed === stored || (host !== null && stored < signed);
}

/** A receiving host writes its own mailboxes with their local addresses, whichever these are. */
function areParties(
  signed: readonly string[],
  stored: readonly { address: string }[],
  facts: JudgeFacts,
): boolean {
  const isOwn = (address: string) =>
    facts.ownHost !== null && splitHostAddress(address)?.host === facts.ownHost;
  return (
    signed.length === stored.length &&
    stored.every(({ address }, nth) => {
      const wanted = signed[nth] ?? "";
      return address === wanted || (isOwn(wanted) && splitHostAddress(address) === null);
    })
  );
}
