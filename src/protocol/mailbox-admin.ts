import { type Static, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { RemedyRecord } from "./remedy.ts";
import { Nullable, SchemaVersion1, Strict, StringEnum, Timestamp } from "./wire.ts";

/** Answers about mailboxes. Source: spec/mailbox-agui.md A7, A8, A11. */

/** The fields of every answer: the root and its source. */
const root = {
  schema_version: SchemaVersion1,
  mailbox_root: Type.String({ description: "absolute path of the root" }),
  mailbox_root_detail: Type.String({ description: "how this root was chosen, one sentence" }),
};
const Answer = <P extends TProperties>(properties: P) => Strict({ ...root, ...properties });
const Count = Type.Integer({ minimum: 0 });
const Details = Type.Record(Type.String(), Type.Unknown());

export const MailboxInitAnswer = Answer({
  bootstrapped: Type.Boolean({ description: "the root is complete" }),
  supported: Type.Boolean({ description: "this version reads and writes it" }),
  protocol_version: Type.Integer(),
  sqlite_path: Type.String({ description: "the shared catalog" }),
  rules_dir: Type.String(),
  mailboxes_dir: Type.String(),
  status: Type.Literal("ready"),
});
export type MailboxInitAnswer = Static<typeof MailboxInitAnswer>;

export const MailboxStatusAnswer = Answer({
  exists: Type.Boolean(),
  bootstrapped: Type.Boolean(),
  supported: Type.Boolean(),
  protocol_version: Nullable(Type.Integer()),
  registration_counts: Strict({ active: Count, inactive: Count, stashed: Count }),
  error: Nullable(Type.String({ description: "why the root cannot be used as it is" })),
  remedy: Type.Optional(RemedyRecord),
});
export type MailboxStatusAnswer = Static<typeof MailboxStatusAnswer>;

export const RegistrationMode = StringEnum(["safe", "force", "stash"], {
  default: "safe",
  description:
    "handling of an existing mailbox; safe: it stays and the registration is refused; force: it is replaced and its mail removed; stash: it is put aside",
});
export const MailboxRegisterAnswer = Answer({
  ok: Type.Literal(true),
  mode: RegistrationMode,
  address: Type.String(),
  active_registration_id: Type.String(),
  owner_principal_id: Type.String(),
  status: Type.Literal("active"),
  reused_existing: Type.Optional(Type.Boolean()),
  replaced_registration_id: Type.Optional(Type.String()),
  stashed_registration_id: Type.Optional(Type.String()),
  stashed_mailbox_path: Type.Optional(Type.String()),
});
export type MailboxRegisterAnswer = Static<typeof MailboxRegisterAnswer>;

export const DeregistrationMode = StringEnum(["deactivate", "purge"], {
  default: "deactivate",
  description:
    "handling of the mailbox; deactivate: its folder and state are kept for a later registration; purge: they are removed",
});
export const MailboxUnregisterAnswer = Answer({
  ok: Type.Literal(true),
  mode: DeregistrationMode,
  address: Type.String(),
  target_registration_id: Type.String(),
  resulting_status: StringEnum(["inactive", "purged"]),
  deactivated_registration_id: Type.Optional(Type.String()),
  purged_registration_id: Type.Optional(Type.String()),
});
export type MailboxUnregisterAnswer = Static<typeof MailboxUnregisterAnswer>;

/** A problem that a repair could not fix, or a file that it moved aside. */
export const RepairFinding = Strict({
  path: Type.String({ description: "relative to the root" }),
  problem: Type.String(),
  moved_to: Nullable(Type.String({ description: "relative to the root; null: not moved" })),
  remedy: Type.Optional(RemedyRecord),
});
export type RepairFinding = Static<typeof RepairFinding>;

const repairResult = {
  ok: Type.Literal(true),
  message_count: Count,
  projection_count: Count,
  registration_count: Count,
  restored_state_count: Type.Integer({ description: "readable rows of view state, which were kept" }),
  defaulted_state_count: Type.Integer({ description: "rows of view state that were reset" }),
  staging_action: StringEnum(["quarantine", "remove"]),
  staging_artifact_count: Count,
  staging_artifact_paths: Type.Array(
    Type.String({ description: "path before the repair, relative to the root" }),
  ),
  backed_up_index_path: Nullable(
    Type.String({ description: "absolute path of the unreadable catalog's backup" }),
  ),
  index_rebuilt: StringEnum(["in_place", "fresh"], {
    description: "additional: in_place: the old catalog could be opened",
  }),
  restored_registration_count: Type.Integer({
    description: "additional: registrations found by their folder alone",
  }),
  findings: Type.Array(RepairFinding, { description: "additional: problems that a person must check" }),
};
export const RepairResult = Strict(repairResult);
export type RepairResult = Static<typeof RepairResult>;
export const MailboxRepairAnswer = Answer(repairResult);
export type MailboxRepairAnswer = Static<typeof MailboxRepairAnswer>;

/** The check of all messages that one registration signed and sent. */
export const MailboxHistory = Strict({
  address: Type.String(),
  registration_id: Type.String(),
  status: StringEnum(["active", "inactive", "stashed"]),
  keys: Type.Array(Type.String({ description: "public keys, the oldest first; base64url" })),
  entry_count: Type.Integer({ minimum: 0, description: "messages that the registration signed and sent" }),
  cleared_count: Type.Integer({ minimum: 0, description: "messages that a person cleared" }),
  head_hash: Nullable(Type.String({ description: "hash of the last valid entry" })),
  broken: Nullable(
    Strict(
      {
        sequence: Nullable(
          Type.Integer({ description: "position of the entry; null for a message without an entry" }),
        ),
        message_id: Nullable(
          Type.String({ description: "id of the message; null when the entry is missing" }),
        ),
        why: Type.String(),
      },
      { description: "the first invalid entry; null when all are valid" },
    ),
  ),
});
export type MailboxHistory = Static<typeof MailboxHistory>;

export const MailboxVerifyAnswer = Answer({
  ok: Type.Boolean({ description: "whether every history is valid" }),
  histories: Type.Array(MailboxHistory),
});
export type MailboxVerifyAnswer = Static<typeof MailboxVerifyAnswer>;

/** A key with which a mailbox signs what it sends. */
const MailboxKey = Strict({
  address: Type.String(),
  public_key: Type.String({ description: "Ed25519, 32 bytes as base64url" }),
  registration_id: Nullable(Type.String({ description: "null for a mailbox of another host" })),
  seen_at_utc: Timestamp,
});
export const MailboxKeysListAnswer = Answer({ keys: Type.Array(MailboxKey) });
export type MailboxKeysListAnswer = Static<typeof MailboxKeysListAnswer>;

export const MailboxKeysForgetAnswer = Answer({
  ok: Type.Literal(true),
  address: Type.String(),
  forgotten_count: Type.Integer({ minimum: 1 }),
});
export type MailboxKeysForgetAnswer = Static<typeof MailboxKeysForgetAnswer>;

export const MaintenanceAction = Strict({
  artifact_kind: StringEnum([
    "registration",
    "mailbox_entry",
    "mailbox_directory",
    "mailbox_state",
    "canonical_message",
    "projection",
    "managed_attachment",
  ]),
  path: Type.String({ description: "absolute path; for a record, of the file that holds it" }),
  proposed_action: StringEnum(["remove", "preserve"]),
  reason: Type.String(),
  details: Details,
});
export type MaintenanceAction = Static<typeof MaintenanceAction>;

const actions = Type.Array(MaintenanceAction);
const maintenanceResult = {
  dry_run: Type.Boolean(),
  scope: Type.Composite([
    Strict({ kind: StringEnum(["mailbox_cleanup", "mailbox_messages", "account_messages"]) }),
    Type.Partial(
      Strict({
        address: Type.String(),
        inactive_older_than_seconds: Type.Integer(),
        stashed_older_than_seconds: Type.Integer(),
      }),
    ),
  ]),
  resolution: Strict({ mailbox_root: Type.String(), mailbox_root_detail: Type.String() }),
  planned_actions: Type.Array(MaintenanceAction, {
    description: "proposed removals; carried out only without dry_run",
  }),
  applied_actions: actions,
  blocked_actions: Type.Array(MaintenanceAction, {
    description: "refused or failed removals, with their reason",
  }),
  preserved_actions: actions,
  summary: Strict({
    planned_count: Count,
    applied_count: Count,
    blocked_count: Count,
    preserved_count: Count,
  }),
};
export const MailboxMaintenanceAnswer = Answer(maintenanceResult);
export type MailboxMaintenanceAnswer = Static<typeof MailboxMaintenanceAnswer>;

export const SymlinkMode = StringEnum(["materialize", "preserve"], {
  default: "materialize",
  description:
    "form of the messages in boxes; materialize: separate files; preserve: links inside the folder",
});
export type SymlinkMode = Static<typeof SymlinkMode>;

/** One artifact of an export; `reason` explains a skip or a block, or describes the artifact. */
export const ExportedArtifact = Strict({
  artifact_kind: StringEnum([
    "account",
    "mailbox_state",
    "canonical_message",
    "projection",
    "managed_attachment",
    "path_attachment",
  ]),
  source_path: Type.String({ description: "absolute" }),
  archive_path: Nullable(Type.String({ description: "relative to the archive; null: not in the archive" })),
  reason: Nullable(Type.String()),
});
export type ExportedArtifact = Static<typeof ExportedArtifact>;

const artifactLists = {
  copied_artifacts: Type.Array(ExportedArtifact, { description: "copied unchanged" }),
  materialized_artifacts: Type.Array(ExportedArtifact, { description: "links that became files" }),
  skipped_artifacts: Type.Array(ExportedArtifact),
  blocked_artifacts: Type.Array(ExportedArtifact, { description: "outside the root or unreadable" }),
};

const exportResult = {
  output_dir: Type.String(),
  manifest_path: Type.String(),
  symlink_mode: SymlinkMode,
  selected_addresses: Type.Array(Type.String()),
  account_count: Count,
  message_count: Count,
  attachment_count: Count,
  ...artifactLists,
};
export const ExportResult = Strict(exportResult);
export type ExportResult = Static<typeof ExportResult>;
export const MailboxExportAnswer = Answer(exportResult);
export type MailboxExportAnswer = Static<typeof MailboxExportAnswer>;

/** A mailbox in the catalog. An address may have several, at most one of them active. */
export const MailboxAccount = Strict({
  registration_id: Type.String(),
  address: Type.String(),
  owner_principal_id: Type.String(),
  status: StringEnum(["active", "inactive", "stashed"]),
  mailbox_kind: StringEnum(["in_root", "symlink"]),
  mailbox_path: Type.String({ description: "absolute path of the mailbox folder, links resolved" }),
  mailbox_entry_path: Type.String({ description: "absolute path of the entry under mailboxes/" }),
  display_name: Nullable(Type.String()),
  manifest_path_hint: Nullable(Type.String()),
  role: Nullable(Type.String()),
  created_at_utc: Timestamp,
  deactivated_at_utc: Nullable(Timestamp),
  replaced_by_registration_id: Nullable(Type.String()),
  message_count: Type.Integer({ description: "messages projected into its boxes" }),
});
export type MailboxAccount = Static<typeof MailboxAccount>;

export const AccountsListAnswer = Answer({ account_count: Count, accounts: Type.Array(MailboxAccount) });
export type AccountsListAnswer = Static<typeof AccountsListAnswer>;

export const AccountsGetAnswer = Answer({
  account: MailboxAccount,
  boxes: Type.Array(Strict({ box: Type.String(), message_count: Count })),
  other_registrations: Type.Array(MailboxAccount, { description: "earlier registrations of the address" }),
});
export type AccountsGetAnswer = Static<typeof AccountsGetAnswer>;

/** A stored message and its paths. View state is private to the mailbox and left out. */
const storedFields = {
  message_id: Type.String(),
  thread_id: Type.String(),
  created_at_utc: Timestamp,
  subject: Type.String(),
  sender: Strict({ address: Type.String(), principal_id: Type.String() }),
  folder: Type.String(),
  projection_path: Type.String({ description: "absolute" }),
  canonical_path: Type.String({ description: "absolute" }),
};
export const StoredMessage = Strict(storedFields);
export type StoredMessage = Static<typeof StoredMessage>;

export const MessagesListAnswer = Answer({
  address: Type.String(),
  message_count: Count,
  messages: Type.Array(StoredMessage),
});
export type MessagesListAnswer = Static<typeof MessagesListAnswer>;

const Json: TSchema = Type.Unknown();
export const MessagesGetAnswer = Answer({
  address: Type.String(),
  message: Strict({
    ...storedFields,
    recipients: Type.Array(
      Strict({ kind: StringEnum(["to", "cc"]), address: Type.String(), principal_id: Type.String() }),
    ),
    attachments: Type.Array(
      Strict({
        attachment_id: Type.String(),
        kind: StringEnum(["path_ref", "managed_copy"]),
        path: Type.String(),
        media_type: Type.String(),
        sha256: Nullable(Type.String()),
        size_bytes: Nullable(Type.Integer()),
        label: Nullable(Type.String()),
      }),
    ),
    headers: Type.Record(Type.String(), Json),
    body: Type.String(),
  }),
});
export type MessagesGetAnswer = Static<typeof MessagesGetAnswer>;

/** One account of an archive and its contents. */
const ArchivedAccount = Strict({
  registration_id: Type.String(),
  address: Type.String(),
  status: StringEnum(["active", "inactive", "stashed"]),
  archive_path: Type.String(),
});

/** `manifest.json` of an export. */
export const ExportManifest = Strict({
  schema_version: SchemaVersion1,
  source_mailbox_root: Type.String(),
  protocol_version: Type.Integer(),
  exported_at_utc: Timestamp,
  symlink_mode: SymlinkMode,
  selection: Strict({ all_accounts: Type.Boolean(), addresses: Type.Array(Type.String()) }),
  accounts: Type.Array(ArchivedAccount),
  messages: Type.Array(Strict({ message_id: Type.String(), archive_path: Type.String() })),
  projections: Type.Array(
    Strict({
      registration_id: Type.String(),
      message_id: Type.String(),
      folder: Type.String(),
      archive_path: Type.String(),
    }),
  ),
  attachments: Type.Array(
    Strict({
      attachment_id: Type.String(),
      message_id: Type.String(),
      kind: StringEnum(["path_ref", "managed_copy"]),
      source_path: Type.String(),
      archive_path: Nullable(Type.String()),
    }),
  ),
  ...artifactLists,
});
export type ExportManifest = Static<typeof ExportManifest>;
