import { isAbsolute } from "node:path";
import type { Catalog, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { listCatalog, type PlacedMessage } from "../../../../db/mailbox/inspect.ts";
import { openMailboxState } from "../../../../db/mailbox/state.ts";
import { upkeepOfState } from "../../../../db/mailbox/state-upkeep.ts";
import type { MailboxAccount, MessagesGetAnswer, StoredMessage } from "../../../../protocol/mailbox-admin.ts";
import type { Remedy } from "../../../../protocol/remedy.ts";
import { ServiceError } from "../../../../system/errors.ts";
import { parseAddress, shown } from "../../address.ts";
import { readDelivered } from "../delivery/late-files.ts";
import { idOf, parseMessageFile } from "../delivery/message-file.ts";
import type { MailRoot, MailRootDeps } from "../root.ts";
import { mailboxFolder, stateFileName } from "../root-paths.ts";
import type { Registration } from "./registrations.ts";
import { seedMailbox } from "./seeding.ts";

type Open = Pick<MailRoot, "root" | "catalog" | "registrations">;

const page = 500;

/** All registrations, by address, then newest first. Source: spec/mailbox-agui.md A11. */
export function listAccounts({ catalog, registrations }: Open): MailboxAccount[] {
  const { messageCount } = listCatalog(catalog.store);
  return registrations.list().map((row) => ({ ...row, message_count: messageCount(row.registration_id) }));
}

/**
 * The active registration of an address, else the newest of the former. Throws `not_found` when there is
 * none.
 */
export function getAccount(
  deps: MailRootDeps,
  open: Open,
  address: string,
): {
  account: MailboxAccount;
  boxes: { box: string; message_count: number }[];
  other_registrations: MailboxAccount[];
} {
  const present = presentRegistration(open, address);
  const { messageCount } = listCatalog(open.catalog.store);
  const count = (row: Registration) => ({ ...row, message_count: messageCount(row.registration_id) });
  const boxes = Map.groupBy(foldersOf(deps, open, present).values(), (box) => box);
  return {
    account: count(present),
    boxes: [...boxes]
      .map(([box, some]) => ({ box, message_count: some.length }))
      .sort((left, right) => (left.box < right.box ? -1 : 1)),
    other_registrations: open.registrations
      .list()
      .filter((row) => row.address === present.address && row.registration_id !== present.registration_id)
      .map(count),
  };
}

/** Newest first. Throws `not_found` for an address that nobody has or had. */
export function listMessages(deps: MailRootDeps, open: Open, address: string): StoredMessage[] {
  const present = presentRegistration(open, address);
  const folders = foldersOf(deps, open, present);
  return listCatalog(open.catalog.store)
    .messagesOf(present.registration_id)
    .map((row) => toStored(open.root, present, row, folders.get(row.messageId)));
}

/** `id`: an id or a reference. Throws `not_found` when this mailbox does not hold it. */
export function getMessage(
  deps: MailRootDeps,
  open: Open,
  address: string,
  id: string,
): MessagesGetAnswer["message"] {
  const present = presentRegistration(open, address);
  const listing = listCatalog(open.catalog.store);
  const row = listing.messageOf(present.registration_id, idOf(id));
  if (!row) throw new ServiceError("not_found", "this mailbox holds no such message");
  const stored = toStored(open.root, present, row, foldersOf(deps, open, present).get(row.messageId));
  const text = readDelivered(deps.files, open.root, open.catalog, row);
  if (text === null) throw new ServiceError("transport_failed", "the file of this message is missing");
  const parsed = parseMessageFile(text);
  if (!parsed.ok) {
    throw new ServiceError("transport_failed", `the file of this message cannot be read: ${parsed.why}`);
  }
  return {
    ...stored,
    recipients: listing
      .recipientsOf(row.messageId)
      .map((one) => ({ kind: one.kind, address: one.address, principal_id: one.principalId })),
    attachments: listing.attachmentsOf(row.messageId).map((one) => ({
      attachment_id: one.attachmentId,
      kind: one.kind,
      path: isAbsolute(one.path) ? one.path : `${open.root}/${one.path}`,
      media_type: one.mediaType,
      sha256: one.sha256,
      size_bytes: one.sizeBytes,
      label: one.label,
    })),
    headers: parsed.message.envelope.headers,
    body: parsed.message.body,
  };
}

/** The active registration, else the newest. Throws `not_found` when there is none. */
export function presentRegistration(
  { registrations }: Pick<Open, "registrations">,
  text: string,
): Registration {
  const address = parseAddress(text);
  const present =
    registrations.active(address) ?? registrations.list().find((row) => row.address === address) ?? null;
  if (!present)
    throw new ServiceError("not_found", `no mailbox is or was registered for ${shown(address)}`, {
      data: { remedy: { code: "list_mailboxes" } satisfies Remedy },
    });
  return present;
}

/**
 * In which box each message lies now. One that its owner has not looked at since it came is caught up with
 * first.
 */
export function foldersOf(
  deps: MailRootDeps,
  { root, catalog }: Open,
  present: Registration,
): Map<string, string> {
  const { files, clock, steps } = deps;
  const folders = new Map<string, string>();
  const row = rowOf(catalog, present);
  if (!row) return folders;
  const folder = mailboxFolder(files, root, row);
  const path = files.contained(folder, [stateFileName], "file");
  if (present.status === "active" ? files.exists(folder) : files.exists(path)) {
    const state = openMailboxState({ path, clock, steps });
    try {
      if (present.status === "active") seedMailbox({ files, root, catalog, state, registration: row });
      const { rowsAfter } = upkeepOfState(state.store);
      for (let rows = rowsAfter(0, page); rows.length > 0; rows = rowsAfter(rows.at(-1)?.seq ?? 0, page)) {
        for (const one of rows) folders.set(one.messageId, one.boxName);
      }
    } finally {
      state.close();
    }
  }
  return folders;
}

/** The row of a registration that was listed. */
export function rowOf(
  catalog: Catalog,
  { address, registration_id }: Registration,
): RegistrationRow | undefined {
  return catalog.registrationsAt(address).find((one) => one.registrationId === registration_id);
}

function toStored(
  root: string,
  registration: Registration,
  row: PlacedMessage,
  box: string | undefined,
): StoredMessage {
  const folder = box ?? row.folder;
  return {
    message_id: row.messageId,
    thread_id: row.threadId,
    created_at_utc: row.createdAtUtc.replace(/Z$/, "+00:00"),
    subject: row.subject,
    sender: { address: row.senderAddress, principal_id: row.senderPrincipalId },
    folder,
    projection_path: `${registration.mailbox_path}/${folder}/${row.messageId}.md`,
    canonical_path: `${root}/${row.canonicalPath}`,
  };
}
