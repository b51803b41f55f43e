import type { Catalog } from "../../../db/mailbox/catalog.ts";
import type { Clock } from "../../../system/clock.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import type { Locks } from "../../../system/locks.ts";
import type { Steps } from "../../../system/steps.ts";
import type { FolderWatch } from "../../../system/watch.ts";
import type { Mailbox } from "../mailbox.ts";
import type { Registrations } from "./registrations.ts";

/** The doors a mailbox root needs: a `System` and its `Locks` have them all. */
export interface MailRootDeps {
  files: Files;
  clock: Clock;
  ids: Ids;
  steps: Steps;
  locks: Locks;
  watch: FolderWatch;
}

/** Source: spec/mailbox-agui.md A11. */
export interface RootStatus {
  mailbox_root: string;
  exists: boolean;
  bootstrapped: boolean;
  supported: boolean;
  protocol_version: string | null;
  sqlite_path: string;
  mailboxes_dir: string;
  registration_counts: { active: number; inactive: number; stashed: number };
  error: string | null;
}

/** An open root. Holds index.sqlite open until `close`. */
export interface MailRoot {
  readonly root: string;
  readonly catalog: Catalog;
  readonly registrations: Registrations;
  /** Throws `invalid_request` when the address has no active registration of this principal. */
  openMailbox(binding: { address: string; principalId: string }): Mailbox;
  close(): void;
}

/** Makes what is missing of a root, with the operator's mailbox; doing it again changes nothing. */
export declare function initMailRoot(deps: MailRootDeps, root: string): RootStatus;
/** Changes nothing and never throws: what is wrong is `error`. */
export declare function mailRootStatus(deps: MailRootDeps, root: string): RootStatus;
/** Throws ServiceError `precondition_failed` for a root that is absent or of another protocol version. */
export declare function openMailRoot(deps: MailRootDeps, root: string): MailRoot;
/**
 * Runs `work` while no other maintenance of this root runs, in any process. Mail goes on meanwhile: whatever `work`
 * does to index.sqlite it does in one `catalog.store.write`, looking again inside of it, and it never removes or
 * renames the file of a readable index; a file put in its place is noticed by open roots before and after they write.
 */
export declare function withExclusiveRoot<T>(
  deps: MailRootDeps,
  root: string,
  work: () => T | Promise<T>,
): Promise<T>;
