import type { RegistrationRow } from "../../../db/mailbox/catalog.ts";
import type { HostMail } from "../../../protocol/hosts.ts";
import { attestationHeader, type MailPrincipal } from "../../../protocol/mail-file.ts";
import { parseTimestamp } from "../../../system/clock.ts";
import { localPart, splitHostAddress, toFleetAddress } from "../../mail/address.ts";
import { attestedOf } from "../../mail/attestation.ts";
import { hopsHeader, hopsOf } from "../../mail/draft.ts";
import type { StoredMessage } from "../../mail/filesystem/delivery/message-file.ts";
import { storedTime } from "../../mail/view-state.ts";

/**
 * A message between the mailboxes of two hosts. Each side names mailboxes as it sees them:
 * `name@svc.localhost` is local, `name@host` another host's. Nothing that the sending host says of itself is
 * believed but the names of mailboxes: under which host name it sends is proved by the way that the message
 * came. Source: design/hosts.md. Pure.
 */

/** What this host sends to `host`; null when no recipient is there. */
export function toHostMail(
  { envelope, body }: StoredMessage,
  { ownHost, host }: { ownHost: string; host: string },
): HostMail | null {
  const parties = (list: readonly MailPrincipal[]) =>
    list.map(({ address, display_name }) => ({
      address: toFleetAddress(address, ownHost),
      ...(display_name === undefined ? {} : { display_name }),
    }));
  const there = [...envelope.to, ...envelope.cc].flatMap(({ address }) => {
    const split = splitHostAddress(address);
    return split?.host === host ? [split.name] : [];
  });
  if (there.length === 0) return null;
  const { display_name } = envelope.from;
  const attested = attestedOf(envelope);
  return {
    kind: "mail",
    message_id: envelope.message_id,
    thread_id: envelope.thread_id,
    in_reply_to: envelope.in_reply_to,
    references: envelope.references,
    created_at_utc: envelope.created_at_utc,
    from: {
      name: localPart(envelope.from.address),
      ...(display_name === undefined ? {} : { display_name }),
    },
    to: parties(envelope.to),
    cc: parties(envelope.cc),
    deliver_to: [...new Set(there)],
    subject: envelope.subject,
    hops: hopsOf(envelope.headers[hopsHeader]),
    notify_block: envelope.notify_block,
    body,
    ...(attested ? { attestation: attested.attestation } : {}),
  };
}

/**
 * The message as one mailbox root of this host keeps it. `receivers`: its registrations by the name in
 * `deliver_to`. A time in the future becomes now: it would stay the newest for ever.
 */
export function fromHostMail(
  mail: HostMail,
  options: {
    fromHost: string;
    ownHost: string;
    receivers: ReadonlyMap<string, RegistrationRow>;
    nowMs: number;
  },
): StoredMessage {
  const { fromHost, ownHost, receivers, nowMs } = options;
  const principal = ({ address, display_name }: HostMail["to"][number]): MailPrincipal => {
    const split = splitHostAddress(address);
    const row = split?.host === ownHost ? receivers.get(split.name) : undefined;
    const name = display_name === undefined ? {} : { display_name };
    if (row) return { principal_id: row.ownerPrincipalId, address: row.address, ...name };
    return { principal_id: address, address, ...name };
  };
  const from = `${mail.from.name}@${fromHost}`;
  const { display_name } = mail.from;
  const writtenMs = Math.min(parseTimestamp(mail.created_at_utc) ?? nowMs, nowMs);
  return {
    envelope: {
      protocol_version: 3,
      message_id: mail.message_id,
      thread_id: mail.thread_id,
      in_reply_to: mail.in_reply_to,
      references: mail.references,
      created_at_utc: storedTime(writtenMs),
      from: { principal_id: from, address: from, ...(display_name === undefined ? {} : { display_name }) },
      to: mail.to.map(principal),
      cc: mail.cc.map(principal),
      reply_to: [],
      subject: mail.subject,
      attachments: [],
      headers: {
        ...(mail.hops === 0 ? {} : { [hopsHeader]: mail.hops }),
        ...(mail.attestation ? { [attestationHeader]: mail.attestation } : {}),
      },
      notify_block: mail.notify_block,
      notify_auth: null,
    },
    body: mail.body,
  };
}
