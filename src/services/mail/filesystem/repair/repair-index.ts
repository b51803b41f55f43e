import { basename, dirname } from "node:path";
import { type Attestations, openAttestations } from "../../../../db/mailbox/attestations.ts";
import { catalogMigrations } from "../../../../db/mailbox/catalog/migrations.ts";
import type { Catalog, IndexedMessage, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { type HostOutbox, openHostOutbox } from "../../../../db/mailbox/host-outbox.ts";
import { inspectDatabase, salvageRows } from "../../../../db/mailbox/inspect.ts";
import { type CatalogRebuild, rebuildCatalog } from "../../../../db/mailbox/rebuild.ts";
import type { MailEnvelope } from "../../../../protocol/mail-file.ts";
import { hostNamePattern } from "../../../../protocol/wire.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import { inbox, sent } from "../../view-state.ts";
import { placeFile, recoverUnsynced } from "../delivery/late-files.ts";
import { parseMessageFile, type StoredMessage, toIndexed } from "../delivery/message-file.ts";
import { isMessageId, isUsable, liesBelow, messageFile } from "../root-paths.ts";
import type { DatabaseFile } from "./mended-database.ts";
import { missingFile, type RepairRun } from "./repair-run.ts";
import { toSavedRegistration } from "./repair-survey.ts";

const batchSize = 200;
const hostName = new RegExp(hostNamePattern);

/** The catalog that a repair works on. */
export interface WorkingIndex {
  catalog: Catalog;
  rebuild: CatalogRebuild;
  /** It does not know what was delivered before. */
  lost: boolean;
}

/** index.sqlite, and what was found of it. */
export function inspectIndex({ deps, paths, stamp, find }: RepairRun): DatabaseFile {
  const verdict = deps.files.exists(paths.index)
    ? inspectDatabase(paths.index, catalogMigrations)
    : ({ kind: "broken", why: "it is missing" } as const);
  if (verdict.kind === "broken") find(paths.index, `the index cannot be used: ${verdict.why}`);
  return {
    state: verdict,
    base: paths.root,
    name: basename(paths.index),
    besideAt: ["staging", `index-${stamp}.sqlite`],
    keptAt: ["staging", "quarantine", stamp, basename(paths.index)],
    labels: { dropped: "mail.index-dropped", kept: "mail.index-kept", placed: "mail.index-placed" },
  };
}

/** Fills a new catalog from the readable rows of the old one. A sound one has them all. */
export function openIndex(run: RepairRun, { state }: DatabaseFile, catalog: Catalog): WorkingIndex {
  const { deps, paths } = run;
  const rebuild = rebuildCatalog(catalog.store);
  if (state.kind === "sound") {
    recoverUnsynced(deps, paths.root, catalog);
    return { catalog, rebuild, lost: !rebuild.everDelivered() };
  }
  if (deps.files.exists(paths.index)) {
    const registrations: RegistrationRow[] = [];
    salvageRows(paths.index, "registrations", (row) => {
      const registration = toSavedRegistration(row);
      if (registration && isUsable(registration)) registrations.push(registration);
    });
    rebuild.saveRegistrations(registrations);
    salvageOutbox(paths.index, openHostOutbox(catalog));
    salvageAttestations(paths.index, openAttestations(catalog));
    salvageUnsynced(run, paths.index);
  }
  return { catalog, rebuild, lost: true };
}

/**
 * Mail that another host has not confirmed goes on waiting for it. Rows that are none of ours are left out.
 */
function salvageOutbox(path: string, outbox: HostOutbox): void {
  const isHost = (host: unknown): host is string => typeof host === "string" && hostName.test(host);
  salvageRows(path, "fleet_host", ({ host }) => {
    if (isHost(host)) outbox.joinAs(host);
  });
  salvageRows(path, "host_outbox", ({ message_id: messageId, host, accepted_at_utc: acceptedAtUtc }) => {
    const isOurs = typeof messageId === "string" && isMessageId(messageId) && isHost(host);
    if (isOurs) outbox.restore({ messageId, host, acceptedAtUtc: String(acceptedAtUtc) });
  });
}

/** Keys of other hosts are known only from here, and so is which messages a person cleared. */
function salvageAttestations(path: string, attestations: Attestations): void {
  salvageRows(path, "attestation_keys", (row) => {
    const { address, public_key: publicKey, registration_id: registrationId, seen_at_utc: seenAtUtc } = row;
    if (typeof address !== "string" || typeof publicKey !== "string" || typeof seenAtUtc !== "string") return;
    if (registrationId !== null && typeof registrationId !== "string") return;
    attestations.publish({ address, publicKey, registrationId, seenAtUtc });
  });
  salvageRows(path, "attested_mail", (row) => {
    const { registration_id: registrationId, sequence, message_id: messageId, hash } = row;
    if (typeof registrationId !== "string" || typeof messageId !== "string" || typeof hash !== "string")
      return;
    if (typeof sequence !== "number" || !isMessageId(messageId)) return;
    attestations.restore([{ registrationId, sequence, messageId, hash, isCleared: row["is_cleared"] === 1 }]);
  });
}

/**
 * Files that a loss of power took are written again before they are looked for; the new index keeps no text
 * of the others.
 */
export function salvageUnsynced(run: RepairRun, index: string): void {
  const { find } = run;
  salvageRows(index, "unsynced_messages", ({ message_id: messageId, text }) => {
    const parsed = typeof text === "string" ? parseMessageFile(text) : null;
    if (!parsed?.ok || parsed.message.envelope.message_id !== messageId) return;
    try {
      putOnDisk(run, parsed.message.envelope, text as string);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      find(index, `its text of ${messageId} has no place: ${messageOf(error)}`);
    }
  });
}

function putOnDisk({ deps, paths, find }: RepairRun, envelope: MailEnvelope, text: string): void {
  const { files } = deps;
  const { message_id: messageId, created_at_utc: createdAtUtc } = envelope;
  const place = messageFile(files, paths.root, { messageId, createdAtUtc });
  if (files.read(place) === text) {
    files.sync("mail.synced", place);
    files.sync("mail.folder-synced", dirname(place));
    return;
  }
  placeFile(files, paths.root, { place, text, durable: true });
  find(place, "it was not on disk yet, or cut off, and is written from the index");
}

/**
 * Reads every canonical file once, few at a time. Those the catalog knows are compared with it; the others
 * are delivered where the evidence says. Resolves with the ids of files that are nobody's mail.
 */
export async function indexMessages(
  run: RepairRun,
  { catalog, rebuild, lost }: WorkingIndex,
  registrations: readonly RegistrationRow[],
  newestKnown: ReadonlyMap<string, string>,
): Promise<{ orphans: { id: string; path: string }[] }> {
  const files = canonicalFiles(run);
  const orphans: { id: string; path: string }[] = [];
  for (let at = 0; at < files.length; at += batchSize) {
    await run.breathe({ step: "reading messages", done: at, total: files.length });
    const some = files.slice(at, at + batchSize);
    const rows = some.flatMap((file) => {
      const message = readMessage(run, file);
      if (!message) return [];
      const projections = rebuild.knows(file.id) ? [] : delivered(message);
      if (projections === null) orphans.push({ id: file.id, path: file.path });
      return projections === null ? [] : [toRows(message, projections)];
    });
    rebuild.index(rows);
  }
  await reportMissing(run, { catalog, rebuild });
  return { orphans };

  function delivered({ envelope }: StoredMessage) {
    const holders = rebuild.evidenceOf(envelope.message_id).map((one) => one.registrationId);
    const facts = { envelope, holders, registrations, newestKnown, catalogLost: lost };
    return planDelivered(facts)?.projections ?? null;
  }

  function toRows(message: StoredMessage, projections: IndexedMessage["projections"]): IndexedMessage {
    const at = (address: string) =>
      registrations.find(
        (row) =>
          row.address === address && projections.some((one) => one.registrationId === row.registrationId),
      )?.registrationId ?? null;
    return toIndexed(message, projections, at);
  }
}

/** Messages whose files are gone keep their rows: a file may come back. */
async function reportMissing(
  { deps, paths, find, breathe }: RepairRun,
  { catalog, rebuild }: Pick<WorkingIndex, "catalog" | "rebuild">,
): Promise<void> {
  const isMissing = (path: string) => !liesBelow(paths.messages, path) || !deps.files.exists(path);
  let done = 0;
  for (let last = ""; ; ) {
    const rows = rebuild.messagesAfter(last, batchSize);
    last = rows.at(-1)?.messageId ?? "";
    if (last === "") return;
    const missing = rows.map((row) => `${paths.root}/${row.canonicalPath}`).filter(isMissing);
    // What was delivered meanwhile may wait for its file.
    if (missing.length > 0) recoverUnsynced(deps, paths.root, catalog);
    for (const path of missing.filter(isMissing)) {
      if (liesBelow(paths.messages, path)) find(path, missingFile);
      else find(paths.index, "it names a message outside of the root");
    }
    done += rows.length;
    await breathe({ step: "looking for the files of messages", done, total: null });
  }
}

interface CanonicalFile {
  id: string;
  day: string;
  path: string;
}

/** Oldest first. Other files among them become findings. */
function canonicalFiles(run: RepairRun): CanonicalFile[] {
  const { files } = run.deps;
  return files.list(run.paths.messages).flatMap((day) => {
    const folder = `${run.paths.messages}/${day}`;
    if (!/^\d{4}-\d\d-\d\d$/.test(day) || files.isLink(folder) || !files.stat(folder)?.directory) {
      run.find(folder, "it is no folder of messages");
      return [];
    }
    return files.list(folder).flatMap((name) => {
      const id = name.replace(/\.md$/, "");
      const path = `${folder}/${name}`;
      if (name.endsWith(".md") && isMessageId(id)) return [{ id, day, path }];
      run.find(path, "it is no message");
      return [];
    });
  });
}

function readMessage(run: RepairRun, { id, day, path }: CanonicalFile): StoredMessage | null {
  const { files } = run.deps;
  if (files.isLink(path)) {
    run.find(path, "it is a symbolic link where a message should be");
    return null;
  }
  const text = files.read(path);
  if (text === null) return null;
  const parsed = parseMessageFile(text);
  if (!parsed.ok) {
    run.find(path, `it cannot be read as a message: ${parsed.why}`);
    return null;
  }
  const { message_id, created_at_utc } = parsed.message.envelope;
  if (message_id === id && created_at_utc.startsWith(day)) return parsed.message;
  run.find(path, "its name or folder is not that of the message in it");
  return null;
}

export interface EvidenceFacts {
  envelope: MailEnvelope;
  /** Registrations whose state or links name the message. */
  holders: readonly string[];
  registrations: readonly RegistrationRow[];
  /**
   * When the newest message that each mailbox knows was written; now for one that was cleared, absent for one
   * that knew none.
   */
  newestKnown: ReadonlyMap<string, string>;
  /** The catalog that knew who got what is lost. */
  catalogLost: boolean;
}

/**
 * To whom a message that the catalog does not know was delivered, or null for one that was delivered to
 * nobody: what an interrupted send left. Who holds it in his state or links got it. Beyond that a party got
 * it that may not have looked since: its mailbox knows nothing as new. What a mailbox dropped on purpose does
 * not come back. Pure.
 */
export function planDelivered(
  facts: EvidenceFacts,
): { projections: { registrationId: string; folder: string }[] } | null {
  const { envelope, holders, registrations, newestKnown, catalogLost } = facts;
  if (holders.length === 0 && !catalogLost) return null;
  const receivers = [...envelope.to, ...envelope.cc];
  const parties = [envelope.from, ...receivers];
  const projections = registrations.flatMap((row) => {
    const { registrationId, address } = row;
    const party = parties.find((one) => one.address === address);
    const folder = receivers.some((one) => one.address === address) || !party ? inbox : sent;
    if (holders.includes(registrationId)) return [{ registrationId, folder }];
    if (!party || row.status !== "active") return [];
    const isOwner = row.ownerPrincipalId === "" || row.ownerPrincipalId === party.principal_id;
    const newest = newestKnown.get(registrationId);
    const unseen = newest === undefined || envelope.created_at_utc > newest;
    return isOwner && unseen ? [{ registrationId, folder }] : [];
  });
  return { projections };
}
