import { openAttestations } from "../../../../db/mailbox/attestations.ts";
import type { Catalog, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { openHostOutbox } from "../../../../db/mailbox/host-outbox.ts";
import { childPath } from "../../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import { createSigningKey, openSigningKey, type SigningKey } from "../../../../system/signatures.ts";
import { splitHostAddress } from "../../address.ts";
import { attestedOf, judge } from "../../attestation.ts";
import { storedTime } from "../../view-state.ts";
import type { StoredMessage } from "../delivery/message-file.ts";
import { type MailRootDeps, mailboxFolder, pathInRoot } from "../root-paths.ts";

/** In a mailbox: its private key, PKCS#8 in PEM, which only its user may read. */
export const keyFileName = "attestation.key";

type Deps = Pick<MailRootDeps, "files" | "clock" | "onFault">;

/**
 * The key of an active registration, made where its mailbox has none that is private, or that of an earlier
 * registration, and published in the catalog. Safe to repeat, by several processes too. Throws where the
 * mailbox cannot be written, and when another registration has replaced it.
 */
export function ensureKey(deps: Deps, root: string, catalog: Catalog, row: RegistrationRow): SigningKey {
  const key = ownKey(deps.files, root, catalog, row) ?? makeKey(deps, root, catalog, row);
  publishKey(deps, catalog, row, key);
  return key;
}

/** Publishes the key in the folder of any registration; without one does nothing. */
export function publishExisting(deps: Deps, root: string, catalog: Catalog, row: RegistrationRow): void {
  const key = readKey(deps.files, root, row);
  if (key) publishKey(deps, catalog, row, key);
}

function publishKey({ clock }: Deps, catalog: Catalog, row: RegistrationRow, key: SigningKey): void {
  const { address, registrationId } = row;
  const attestations = openAttestations(catalog);
  if (attestations.keysOf(address).some(({ publicKey }) => publicKey === key.publicKey)) return;
  const seenAtUtc = storedTime(clock.nowMs());
  attestations.publish({ address, registrationId, publicKey: key.publicKey, seenAtUtc });
}

/**
 * Keeps the key with which a mailbox of another host signs, once a message that it signed has come and none
 * of it is known. Another key later is not taken: a person removes the first one.
 */
export function keepFirstKey({ clock }: Pick<Deps, "clock">, catalog: Catalog, message: StoredMessage): void {
  const { address } = message.envelope.from;
  const attested = attestedOf(message.envelope);
  const attestations = openAttestations(catalog);
  if (!attested || splitHostAddress(address) === null || attestations.keysOf(address).length > 0) return;
  const { key } = attested.attestation;
  const ownHost = openHostOutbox(catalog).host();
  if (judge({ ...message, keys: [key], ownHost, mailbox: null }).state !== "verified") return;
  const seenAtUtc = storedTime(clock.nowMs());
  attestations.publish({ address, registrationId: null, publicKey: key, seenAtUtc });
}

function makeKey(deps: Deps, root: string, catalog: Catalog, row: RegistrationRow): SigningKey {
  const { files, onFault } = deps;
  return catalog.undisturbed("sql:mail-key", () => {
    if (catalog.active(row.address)?.registrationId !== row.registrationId) {
      throw new ServiceError(
        "transport_failed",
        `the mailbox ${row.address} is just being replaced; try again`,
      );
    }
    // Another process was as quick.
    const made = ownKey(files, root, catalog, row);
    if (made) return made;
    const path = keyPath(files, root, row);
    const isReplaced = files.exists(path) && readKey(files, root, row) === null;
    const pem = createSigningKey();
    files.write("mail.key-written", path, pem);
    const key = openSigningKey(pem);
    if (!key) throw new Error("the runtime does not read the key that it made");
    if (isReplaced) {
      onFault?.(
        `the key of ${row.address} was damaged, or others could read it: its mail is signed with another one from now on. Other hosts take that once a person there has forgotten the first one (mailbox keys forget)`,
      );
    }
    return key;
  });
}

/**
 * Null also for the key of an earlier registration: a folder outside of the root keeps it when that one is
 * purged.
 */
function ownKey(
  files: Deps["files"],
  root: string,
  catalog: Catalog,
  row: RegistrationRow,
): SigningKey | null {
  const key = readKey(files, root, row);
  const known = openAttestations(catalog)
    .keysOf(row.address)
    .find(({ publicKey }) => publicKey === key?.publicKey);
  return (known?.registrationId ?? row.registrationId) === row.registrationId ? key : null;
}

/** Null for a key that is missing or damaged, or that others may read. */
function readKey(files: Deps["files"], root: string, row: RegistrationRow): SigningKey | null {
  const pem = files.read(keyPath(files, root, row), { owner: "private" });
  return pem === null ? null : openSigningKey(pem);
}

function keyPath(files: Deps["files"], root: string, row: RegistrationRow): string {
  const folder = mailboxFolder(files, root, row);
  return row.mailboxKind === "in_root"
    ? pathInRoot(files, root, [...row.mailboxPath.split("/"), keyFileName], "file")
    : childPath(folder, keyFileName);
}

/** The keys with which mailboxes of one root sign. */
export function createMailboxKeys(deps: Deps, root: string, catalog: Catalog) {
  const open = new Map<string, SigningKey>();
  const reported = new Set<string>();
  return {
    /**
     * Null where it cannot be had: mail goes out unsigned then. The first failure of each mailbox is reported.
     */
    of(row: RegistrationRow): SigningKey | null {
      const held = open.get(row.registrationId);
      if (held) return held;
      try {
        const key = ensureKey(deps, root, catalog, row);
        open.set(row.registrationId, key);
        return key;
      } catch (error) {
        const { address } = row;
        if (!reported.has(address)) deps.onFault?.(`mail from ${address} is not signed: ${messageOf(error)}`);
        reported.add(address);
        return null;
      }
    },
  };
}
