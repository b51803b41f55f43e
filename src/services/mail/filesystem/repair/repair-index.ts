import { basename, dirname } from "node:path";
import { type Attestations, openAttestations } from "../../../../db/mailbox/attestations.ts";
import { catalogMigrations } from "../../../../db/mailbox/catalog/migrations.ts";
import { type IndexedMessage, openCatalog, type RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { type HostOutbox, openHostOutbox } from "../../../../db/mailbox/host-outbox.ts";
import { inspectDatabase, salvageRows, snapshotDatabase } from "../../../../db/mailbox/inspect.ts";
import { rebuildCatalog } from "../../../../db/mailbox/rebuild.ts";
import type { MailEnvelope } from "../../../../protocol/mail-file.ts";
import { hostNamePattern } from "../../../../protocol/wire.ts";
import { type ContainedPath, childPath } from "../../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../../system/errors.ts";
import { inbox, sent } from "../../view-state.ts";
import { placeFile, recoverUnsynced } from "../delivery/late-files.ts";
import { parseMessageFile, type StoredMessage, toIndexed } from "../delivery/message-file.ts";
import { isMessageId, isUsable, liesBelow, messageFile, pathInRoot } from "../root-paths.ts";
import { missingFile, planKeep, type RepairRun } from "./repair-run.ts";
import { toSavedRegistration } from "./repair-survey.ts";

const batchSize = 200;
const hostName = new RegExp(hostNamePattern);

/**
 * The catalog that a repair works on: the one that is there, or a new one that takes its place at the end.
 */
export type WorkingIndex = ReturnType<typeof openIndex>;

export function openIndex(run: RepairRun) {
  const { deps, paths, stamp } = run;
  const verdict = deps.files.exists(paths.index)
    ? inspectDatabase(paths.index, catalogMigrations)
    : ({ kind: "broken", why: "it is missing" } as const);
  if (verdict.kind === "sound") {
    const catalog = openCatalog({ ...deps, path: paths.index });
    recoverUnsynced(deps, paths.root, catalog);
    const rebuild = rebuildCatalog(catalog.store);
    return { catalog, rebuild, beside: null, saved: [], lost: !rebuild.everDelivered() };
  }
  run.find(paths.index, `the index cannot be used: ${verdict.why}`);
  const saved: RegistrationRow[] = [];
  if (deps.files.exists(paths.index)) {
    salvageRows(paths.index, "registrations", (row) => {
      const registration = toSavedRegistration(row);
      if (registration && isUsable(registration)) saved.push(registration);
    });
  }
  const beside = pathInRoot(deps.files, paths.root, ["staging", `index-${stamp}.sqlite`]);
  const catalog = openCatalog({ ...deps, path: beside, create: true });
  const rebuild = rebuildCatalog(catalog.store);
  rebuild.saveRegistrations(saved);
  if (deps.files.exists(paths.index)) {
    salvageOutbox(paths.index, openHostOutbox(catalog));
    salvageAttestations(paths.index, openAttestations(catalog));
    salvageUnsynced(run, paths.index);
  }
  return {
    catalog,
    rebuild /** Where the new one is made; null in place. */,
    beside /** What was read of the old one when it could not be kept. */,
    saved /** It does not know what was delivered before. */,
    lost: true,
  };
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
function salvageUnsynced(run: RepairRun, index: string): void {
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
 * Closes the new catalog and puts a copy of it in place of the old, which is kept. Returns where that is, or
 * null.
 */
export function placeIndex(run: RepairRun, { catalog }: WorkingIndex, beside: ContainedPath) {
  const { deps, paths, stamp, apply } = run;
  const { files } = deps;
  const base = paths.root;
  const whole = ["staging", `${basename(beside)}.whole`];
  snapshotDatabase(beside, pathInRoot(files, base, whole));
  catalog.close();
  const wasThere = files.exists(paths.index);
  const kept = ["staging", "quarantine", stamp];
  const keptAt = [...kept, "index.sqlite"];
  apply([
    { kind: "make_folder", label: "mail.quarantine", at: { base, names: kept } },
    ...planKeep({ base, name: "index.sqlite", keptAt, label: "mail.index-kept" }),
    {
      kind: "place",
      label: "mail.index-placed",
      from: { base, names: whole },
      to: { base, names: ["index.sqlite"] },
    },
  ]);
  if (!wasThere) return null;
  const keptIndex = childPath(base, ...keptAt);
  // The new one lacks mail that came meanwhile: the next repair finds that by its file and its links.
  salvageUnsynced(run, keptIndex);
  return keptIndex;
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
    rebuild.noteSeen(some.map((file) => file.id));
  }
  const unseen = [...rebuild.unseen()];
  // What was delivered meanwhile may wait for its file.
  if (unseen.length > 0) recoverUnsynced(run.deps, run.paths.root, catalog);
  for (const { canonicalPath } of unseen) {
    const path = `${run.paths.root}/${canonicalPath}`;
    if (!liesBelow(run.paths.messages, path))
      run.find(run.paths.index, "it names a message outside of the root");
    else if (!run.deps.files.exists(path)) run.find(path, missingFile);
  }
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
