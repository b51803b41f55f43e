import { parseColumn } from "../../../../db/json-column.ts";
import { openAttestations } from "../../../../db/mailbox/attestations.ts";
import type { Catalog } from "../../../../db/mailbox/catalog.ts";
import { openHostOutbox } from "../../../../db/mailbox/host-outbox.ts";
import { attestationHeader, MailEnvelope } from "../../../../protocol/mail-file.ts";
import { judge, type Verdict } from "../../attestation.ts";

/** Judges messages of one root by the keys that its catalog knows. */
export type Inspector = ReturnType<typeof createInspector>;

/** For one look: it keeps what it has read of the catalog. */
export function createInspector(catalog: Pick<Catalog, "store">) {
  const known = new Map<string, readonly string[]>();
  let ownHost: string | null | undefined;

  function keysOf(address: string): readonly string[] {
    const held = known.get(address);
    if (held) return held;
    const keys = openAttestations(catalog)
      .keysOf(address)
      .map(({ publicKey }) => publicKey);
    known.set(address, keys);
    return keys;
  }

  function inspect(
    message: { envelope: MailEnvelope; body: string | null },
    mailbox: string | null,
  ): Verdict {
    ownHost ??= openHostOutbox(catalog).host();
    const keys = keysOf(message.envelope.from.address);
    return judge({ ...message, keys, ownHost, mailbox });
  }

  return {
    /** `mailbox`: in whose mailbox it lies; null: whether it was written to it is not judged. */
    inspect,
    /** The same of an envelope as JSON; one that cannot be read is broken. */
    inspectRow(envelopeJson: string, body: string | null, mailbox: string): Verdict {
      // Most mail of a root from before is unsigned: to parse each would double the time of a first look.
      if (!envelopeJson.includes(attestationHeader)) return { state: "unsigned" };
      try {
        const envelope = parseColumn(MailEnvelope, envelopeJson, "envelope_json");
        return inspect({ envelope, body }, mailbox);
      } catch {
        return { state: "broken", why: "its envelope cannot be read" };
      }
    },
  };
}

const brokenPrefix = "broken: ";

/** A verdict as the state of a mailbox keeps it. */
export function toStoredVerdict(verdict: Verdict): string | null {
  if (verdict.state === "unsigned") return null;
  return verdict.state === "verified" ? "verified" : `${brokenPrefix}${verdict.why}`;
}

/** The verdict in a column; a text that is none of ours counts as broken. */
export function fromStoredVerdict(text: string | null): Verdict {
  if (text === null) return { state: "unsigned" };
  if (text === "verified") return { state: "verified" };
  return { state: "broken", why: text.startsWith(brokenPrefix) ? text.slice(brokenPrefix.length) : text };
}
