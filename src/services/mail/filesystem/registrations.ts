/** Who has a mailbox below a root. Source: spec/mailbox-agui.md A2, A5, A7. */

export type RegistrationStatus = "active" | "inactive" | "stashed";
export type MailboxKind = "in_root" | "symlink";

export interface Registration {
  registration_id: string;
  address: string;
  owner_principal_id: string;
  status: RegistrationStatus;
  mailbox_kind: MailboxKind;
  /** Absolute. */
  mailbox_path: string;
  /** Absolute; differs from `mailbox_path` for a `symlink`. */
  mailbox_entry_path: string;
  display_name: string | null;
  manifest_path_hint: string | null;
  role: string | null;
  created_at_utc: string;
  deactivated_at_utc: string | null;
  replaced_by_registration_id: string | null;
}

export interface RegisterRequest {
  address: string;
  principalId: string;
  mode: "safe" | "force" | "stash";
  /** Default `in_root`. */
  kind?: MailboxKind;
  /** Absolute folder outside of the root; for `symlink` only. */
  mailboxPath?: string;
  displayName?: string | null;
  role?: string | null;
  manifestPathHint?: string | null;
}

export interface RegisterResult {
  ok: true;
  mode: "safe" | "force" | "stash";
  address: string;
  active_registration_id: string;
  owner_principal_id: string;
  status: "active";
  reused_existing?: boolean;
  replaced_registration_id?: string;
  stashed_registration_id?: string;
  stashed_mailbox_path?: string;
}

export interface DeregisterResult {
  ok: true;
  mode: "deactivate" | "purge";
  address: string;
  target_registration_id: string;
  resulting_status: "inactive" | "purged";
  deactivated_registration_id?: string;
  purged_registration_id?: string;
}

export interface Registrations {
  /**
   * Durable and complete on disk when it returns; the same call twice changes nothing. Throws ServiceError:
   * `invalid_request` for an address or path that may not be, `conflict` for what `safe` does not overwrite.
   */
  register(request: RegisterRequest): RegisterResult;
  /** Throws `not_found` without an active registration, `invalid_request` for the operator's. */
  deregister(request: { address: string; mode: "deactivate" | "purge" }): DeregisterResult;
  /** By address, then newest first. */
  list(filter?: { status?: RegistrationStatus }): Registration[];
  active(address: string): Registration | null;
}
