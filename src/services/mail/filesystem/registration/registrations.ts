import { isAbsolute, join, normalize, relative } from "node:path";
import type { Catalog, RegistrationChange, RegistrationRow } from "../../../../db/mailbox/catalog.ts";
import { timestampNow } from "../../../../system/clock.ts";
import { childPath } from "../../../../system/contained-path.ts";
import { ServiceError } from "../../../../system/errors.ts";
import { isReserved, operator, parseAddress } from "../../address.ts";
import { ensureMailbox, settleArtifacts } from "../delivery/artifacts.ts";
import type { MailRootDeps } from "../root-paths.ts";
import { entryPath, isUsable, markMailbox, pathInRoot, statedFolder } from "../root-paths.ts";
import { ensureKey } from "./mailbox-keys.ts";
import {
  type Entry,
  type MailboxKind,
  planRegistration,
  type RegisterRequest,
  type RegisterResult,
} from "./plan-registration.ts";

/** Who has a mailbox below a root. Source: spec/mailbox-agui.md A2, A5, A7. */

type RegistrationStatus = "active" | "inactive" | "stashed";

export type { RegisterRequest, RegisterResult } from "./plan-registration.ts";

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

export interface DeregisterResult {
  ok: true;
  mode: "deactivate" | "purge";
  address: string;
  target_registration_id: string;
  resulting_status: "inactive" | "purged";
  deactivated_registration_id?: string;
  purged_registration_id?: string;
}

export type Registrations = ReturnType<typeof createRegistrations>;

const noChange: RegistrationChange = { save: [], remove: [], forget: [], artifacts: [] };

export function createRegistrations(
  deps: Pick<MailRootDeps, "files" | "clock" | "ids">,
  root: string,
  catalog: Catalog,
) {
  const { files, clock, ids } = deps;
  const nowUtc = () => timestampNow(clock).replace("+00:00", "Z");

  function register(request: RegisterRequest): RegisterResult {
    const address = parseAddress(request.address);
    const principalId = parsePrincipal(request.principalId);
    refuseReserved(address, principalId, request.role ?? null);
    const kind = request.kind ?? "in_root";
    const mailboxPath = kind === "in_root" ? entryPath(address) : outsideFolder(request.mailboxPath);
    if (
      kind === "in_root" &&
      request.mailboxPath !== undefined &&
      request.mailboxPath !== `${root}/${mailboxPath}`
    ) {
      throw new ServiceError(
        "invalid_request",
        "a mailbox in the root lies below mailboxes/ under its address",
      );
    }
    let result: RegisterResult | null = null;
    while (!result) {
      settleArtifacts(files, root, catalog);
      result = catalog.changeRegistrations("sql:mail-registered", () => {
        // Between two registrations of an address, what the first has to do on disk is done.
        if (catalog.pending().length > 0) return { change: noChange, result: null };
        if (kind === "symlink") refuseShared(address, mailboxPath);
        const plan = planRegistration({
          request,
          address,
          principalId,
          kind,
          mailboxPath,
          rows: catalog.registrationsAt(address),
          entry: entryAt(pathInRoot(files, root, entryPath(address))),
          nowUtc: nowUtc(),
          newId: `reg-${ids.hex(16)}`,
          stashMark: ids.hex(16),
        });
        if (plan.outcome === "refused") throw new ServiceError("conflict", plan.why);
        return plan;
      });
    }
    settleArtifacts(files, root, catalog);
    const made = catalog.undisturbed("sql:mail-boxes", () => {
      const active = catalog.active(address);
      if (!active || catalog.pending().length > 0) return null;
      // Only here a person names a folder outside of the root.
      if (active.mailboxKind === "symlink" && active.mailboxPath === mailboxPath) markMailbox(files, active);
      ensureMailbox(files, root, active);
      return active;
    });
    if (made) ensureKey(deps, root, catalog, made);
    const { stashed_mailbox_path: stashed } = result;
    return stashed === undefined
      ? result
      : { ...result, stashed_mailbox_path: childPath(root, ...stashed.split("/")) };
  }

  function outsideFolder(path: string | undefined): string {
    if (path === undefined || !isAbsolute(path) || path.includes("\0")) {
      throw new ServiceError("invalid_request", "a linked mailbox needs the absolute path of a folder");
    }
    const existing = files.stat(path);
    if (existing && !existing.directory) {
      throw new ServiceError("invalid_request", "a linked mailbox needs a folder");
    }
    const real = realOf(normalize(path));
    if (existing && !files.isOwnFolder(real)) {
      throw new ServiceError("invalid_request", "a linked mailbox needs a folder that belongs to you");
    }
    const below = relative(realOf(root), real);
    if (below === "" || !(below === ".." || below.startsWith("../"))) {
      throw new ServiceError("invalid_request", "a linked mailbox lies outside of the mailbox root");
    }
    return real;
  }

  /** Of a path whose last parts may not be there yet. */
  function realOf(path: string): string {
    const real = files.realPath(path);
    if (real !== null) return real;
    const parent = join(path, "..");
    return parent === path ? path : join(realOf(parent), path.slice(parent.length));
  }

  function refuseShared(address: string, mailboxPath: string): void {
    const other = catalog
      .registrations()
      .find((row) => row.status === "active" && row.mailboxPath === mailboxPath && row.address !== address);
    if (other) throw new ServiceError("conflict", `this folder is the mailbox of ${other.address}`);
  }

  function entryAt(path: string): Entry {
    const target = files.linkTarget(path);
    if (target !== null) return { kind: "link", target };
    const found = files.stat(path);
    if (!found) return { kind: "absent" };
    return { kind: found.directory ? "folder" : "other" };
  }

  return {
    /**
     * Durable and complete on disk when it returns; the same call twice changes nothing. Throws ServiceError:
     * `invalid_request` for an address or path that may not be, `conflict` for what `safe` does not overwrite.
     */
    register,
    /** Throws `not_found` without an active registration, `invalid_request` for the operator's. */
    deregister({ address: text, mode }: { address: string; mode: "deactivate" | "purge" }): DeregisterResult {
      const address = parseAddress(text);
      if (address === operator.address) {
        throw new ServiceError("invalid_request", "the mailbox of the operator cannot be given up");
      }
      settleArtifacts(files, root, catalog);
      const result = catalog.changeRegistrations<DeregisterResult>("sql:mail-deregistered", () => {
        const row = catalog.active(address);
        if (!row) throw new ServiceError("not_found", `${address} has no active registration`);
        const id = row.registrationId;
        const target = { ok: true as const, mode, address, target_registration_id: id };
        if (mode === "deactivate") {
          const ended: RegistrationRow = { ...row, status: "inactive", deactivatedAtUtc: nowUtc() };
          return {
            change: { ...noChange, save: [ended] },
            result: { ...target, resulting_status: "inactive" as const, deactivated_registration_id: id },
          };
        }
        const path = isUsable(row) ? row.mailboxEntryPath : entryPath(address);
        const entry = { action: "remove" as const, path, destination: null };
        return {
          change: { ...noChange, remove: [id], artifacts: [entry] },
          result: { ...target, resulting_status: "purged" as const, purged_registration_id: id },
        };
      });
      settleArtifacts(files, root, catalog);
      return result;
    },
    /** By address, then newest first; without rows that none of ours can have written. */
    list: (filter: { status?: RegistrationStatus } = {}): Registration[] =>
      catalog
        .registrations()
        .filter((row) => isUsable(row) && (filter.status === undefined || row.status === filter.status))
        .map((row) => toRegistration(root, row)),
    active(address: string): Registration | null {
      const row = catalog.active(address);
      return row && isUsable(row) ? toRegistration(root, row) : null;
    },
  };
}

/** Makes the operator's mailbox, if it is missing. */
export function ensureOperator(registrations: Registrations): void {
  registrations.register({ ...operator, mode: "safe" });
}

function parsePrincipal(text: string): string {
  const principalId = text.trim();
  if (principalId === "" || principalId.length > 200 || /[\x00-\x1f\x7f-\x9f]/.test(principalId)) {
    throw new ServiceError("invalid_request", "not a principal id");
  }
  return principalId;
}

function refuseReserved(address: string, principalId: string, role: string | null): void {
  const isOperator =
    address === operator.address && principalId === operator.principalId && role === operator.role;
  if ((isReserved(address) || principalId === operator.principalId) && !isOperator) {
    throw new ServiceError("invalid_request", `an address or principal of the system: ${address}`);
  }
}

function toRegistration(root: string, row: RegistrationRow): Registration {
  return {
    registration_id: row.registrationId,
    address: row.address,
    owner_principal_id: row.ownerPrincipalId,
    status: row.status,
    mailbox_kind: row.mailboxKind,
    mailbox_path: statedFolder(root, row),
    mailbox_entry_path: `${root}/${row.mailboxEntryPath}`,
    display_name: row.displayName,
    manifest_path_hint: row.manifestPathHint,
    role: row.role,
    created_at_utc: row.createdAtUtc.replace(/Z$/, "+00:00"),
    deactivated_at_utc: row.deactivatedAtUtc?.replace(/Z$/, "+00:00") ?? null,
    replaced_by_registration_id: row.replacedByRegistrationId,
  };
}
