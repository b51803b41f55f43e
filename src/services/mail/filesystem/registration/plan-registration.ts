import type { PendingArtifact, RegistrationChange, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { personRole } from "../../address.ts";
import { entryPath } from "../root-paths.ts";

export type MailboxKind = "in_root" | "symlink";

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

/** What is on disk under the name of a mailbox. */
export type Entry =
  | { kind: "absent" }
  | { kind: "folder" }
  | { kind: "link"; target: string }
  | { kind: "other" };

interface RegistrationFacts {
  request: Pick<RegisterRequest, "mode" | "displayName" | "role" | "manifestPathHint">;
  address: string;
  principalId: string;
  kind: MailboxKind;
  /** As a row says it: relative for `in_root`, absolute for `symlink`. */
  mailboxPath: string;
  /** Newest first. */
  rows: readonly RegistrationRow[];
  entry: Entry;
  nowUtc: string;
  /** What a new registration is called, and what marks a stashed entry. */
  newId: string;
  stashMark: string;
}

type RegistrationPlan =
  | { outcome: "refused"; why: string }
  | { outcome: "planned"; change: RegistrationChange; result: RegisterResult };

/**
 * How an address gets its registration. The same mailbox is reused or taken up again with its state; another
 * one in the way is refused (`safe`), removed (`force`) or put aside (`stash`). Source: spec/mailbox-agui.md
 * A7. Pure.
 */
export function planRegistration(facts: RegistrationFacts): RegistrationPlan {
  const { request, rows, nowUtc } = facts;
  const active = rows.find((row) => row.status === "active");
  const known = active ?? lastEnded(rows);
  const otherKind = known ? kindConflict(known, request) : null;
  if (
    known &&
    otherKind === null &&
    isSame(known, facts) &&
    (active || isPreserved(facts, known) || isGone(facts))
  ) {
    const renewed: RegistrationRow = {
      ...known,
      status: "active",
      deactivatedAtUtc: null,
      displayName: request.displayName ?? known.displayName,
      role: request.role ?? known.role,
      manifestPathHint: request.manifestPathHint ?? known.manifestPathHint,
    };
    return planned(facts, { save: [renewed] }, renewed.registrationId, { reused_existing: true });
  }
  const fresh = newRow(facts);
  const inTheWay = active ?? preservedOwner(facts);
  if (!active && !blocks(facts)) return planned(facts, { save: [fresh] }, fresh.registrationId, {});
  if (request.mode === "safe") {
    const registered = otherKind ?? `registered to ${active?.ownerPrincipalId} as ${active?.mailboxKind}`;
    const what = active
      ? `${facts.address} is ${registered}`
      : `something is kept under the name ${facts.address}`;
    return { outcome: "refused", why: `${what}; --mode force replaces it, --mode stash puts it aside` };
  }
  const entry = entryPath(facts.address);
  const present = facts.entry.kind !== "absent";
  if (request.mode === "force") {
    const ended = inTheWay && end(inTheWay, "inactive", fresh, nowUtc);
    const change = {
      save: [...(ended ? [ended] : []), fresh],
      forget: ended ? [ended.registrationId] : [],
      artifacts: present ? [{ action: "remove" as const, path: entry, destination: null }] : [],
    };
    return planned(facts, change, fresh.registrationId, {
      ...(ended ? { replaced_registration_id: ended.registrationId } : {}),
    });
  }
  const aside = `${entry}--${facts.stashMark}`;
  const stashed = inTheWay && {
    ...end(inTheWay, "stashed", fresh, nowUtc),
    mailboxEntryPath: aside,
    ...(inTheWay.mailboxKind === "in_root" ? { mailboxPath: aside } : {}),
  };
  const change = {
    save: [...(stashed ? [stashed] : []), fresh],
    artifacts: present ? [{ action: "rename" as const, path: entry, destination: aside }] : [],
  };
  return planned(facts, change, fresh.registrationId, {
    ...(stashed ? { stashed_registration_id: stashed.registrationId } : {}),
    ...(present ? { stashed_mailbox_path: aside } : {}),
  });
}

/**
 * Whose mailbox it is, when it is that of a person and an agent asks for it, or the reverse. Their principals
 * may have one name, because both are made of the address. Null otherwise.
 */
function kindConflict(row: RegistrationRow, request: RegistrationFacts["request"]): string | null {
  const isAgent = request.manifestPathHint != null;
  if (isAgent) return row.role === personRole ? "the mailbox of a person" : null;
  return request.role === personRole && row.manifestPathHint !== null ? "the mailbox of an agent" : null;
}

function isSame(row: RegistrationRow, facts: RegistrationFacts): boolean {
  return (
    row.ownerPrincipalId === facts.principalId &&
    row.mailboxKind === facts.kind &&
    row.mailboxPath === facts.mailboxPath
  );
}

/** The ended registration that has no replacement: the mailbox that is kept under the name belongs to it. */
function lastEnded(rows: readonly RegistrationRow[]): RegistrationRow | undefined {
  return rows.find((row) => row.status === "inactive" && row.replacedByRegistrationId === null);
}

function isGone({ entry }: RegistrationFacts): boolean {
  return entry.kind === "absent";
}

/** Whether an ended registration's mailbox is still under its name. */
function isPreserved({ entry }: RegistrationFacts, row: RegistrationRow): boolean {
  return row.mailboxKind === "symlink"
    ? entry.kind === "link" && entry.target === row.mailboxPath
    : entry.kind === "folder";
}

/** The ended registration to which what is on disk belongs. */
function preservedOwner(facts: RegistrationFacts): RegistrationRow | undefined {
  const last = lastEnded(facts.rows);
  return last && isPreserved(facts, last) ? last : undefined;
}

/** A link to the very folder that is asked for is in nobody's way, unless another owner has left it. */
function blocks(facts: RegistrationFacts): boolean {
  const { entry, kind, mailboxPath } = facts;
  if (isGone(facts)) return false;
  if (preservedOwner(facts)) return true;
  return !(kind === "symlink" && entry.kind === "link" && entry.target === mailboxPath);
}

function end(
  row: RegistrationRow,
  status: "inactive" | "stashed",
  replacement: RegistrationRow,
  nowUtc: string,
): RegistrationRow {
  return {
    ...row,
    status,
    deactivatedAtUtc: row.deactivatedAtUtc ?? nowUtc,
    replacedByRegistrationId: replacement.registrationId,
  };
}

function newRow(facts: RegistrationFacts): RegistrationRow {
  return {
    registrationId: facts.newId,
    address: facts.address,
    ownerPrincipalId: facts.principalId,
    status: "active",
    mailboxKind: facts.kind,
    mailboxPath: facts.mailboxPath,
    mailboxEntryPath: entryPath(facts.address),
    displayName: facts.request.displayName ?? null,
    manifestPathHint: facts.request.manifestPathHint ?? null,
    role: facts.request.role ?? null,
    createdAtUtc: facts.nowUtc,
    deactivatedAtUtc: null,
    replacedByRegistrationId: null,
  };
}

function planned(
  facts: RegistrationFacts,
  change: { save: RegistrationRow[]; forget?: string[]; artifacts?: PendingArtifact[] },
  activeId: string,
  extra: Partial<RegisterResult>,
): RegistrationPlan {
  return {
    outcome: "planned",
    change: { save: change.save, remove: [], forget: change.forget ?? [], artifacts: change.artifacts ?? [] },
    result: {
      ok: true,
      mode: facts.request.mode,
      address: facts.address,
      active_registration_id: activeId,
      owner_principal_id: facts.principalId,
      status: "active",
      ...extra,
    },
  };
}
