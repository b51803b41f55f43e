import { dirname } from "node:path";
import { type Catalog, openCatalog } from "../../../db/mailbox/catalog.ts";
import { mailProtocolVersion } from "../../../protocol/mail-file.ts";
import { type Remedy, remedyOf } from "../../../protocol/remedy.ts";
import { timestampNow } from "../../../system/clock.ts";
import { childPath, isOneName } from "../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { visibleLine } from "../../../system/visible.ts";
import type { Mailbox } from "../mailbox.ts";
import { toServiceError } from "./delivery/carrier-fault.ts";
import { createDelivery, type Delivery } from "./delivery/delivery.ts";
import { createLateFiles } from "./delivery/late-files.ts";
import { createFilesystemMailbox } from "./mailbox.ts";
import { createRegistrations, ensureOperator, type Registrations } from "./registration/registrations.ts";
import type { MailRootDeps } from "./root-paths.ts";
import { pathInRoot, rootPaths } from "./root-paths.ts";

export type { MailRootDeps } from "./root-paths.ts";

/** Source: spec/mailbox-agui.md A11. */
interface RootStatus {
  mailbox_root: string;
  exists: boolean;
  bootstrapped: boolean;
  supported: boolean;
  protocol_version: string | null;
  sqlite_path: string;
  mailboxes_dir: string;
  registration_counts: { active: number; inactive: number; stashed: number };
  error: string | null;
  remedy: Remedy | null;
}

/** An open root. Holds index.sqlite open until `close`. */
export interface MailRoot {
  readonly root: string;
  readonly catalog: Catalog;
  readonly registrations: Registrations;
  /** Throws `invalid_request` when the address has no active registration of this principal. */
  openMailbox(binding: { address: string; principalId: string }): Mailbox;
  /** See `Delivery`. */
  accept: Delivery["accept"];
  close(): void;
}

/** So long a delivery may take; what lies in staging for longer was left by one that died. */
const stagingMs = 60 * 60 * 1000;

/**
 * Makes what is missing of a root, with the operator's mailbox; doing it again changes nothing. Throws
 * `precondition_failed` for a folder with other things in it and for a root of another version.
 */
export function initMailRoot(deps: MailRootDeps, root: string): RootStatus {
  const { files } = deps;
  const paths = rootPaths(root);
  const version = readVersion(files, root);
  if (version === null) {
    const ours = new Set(Object.values(paths).map((path) => path.slice(root.length + 1).split("/")[0]));
    // What comes with a database that is open; temporary files begin with a dot.
    const foreign = files
      .list(root)
      .find((name) => !ours.has(name.replace(/-(wal|shm|journal)$/, "")) && !name.startsWith("."));
    if (foreign !== undefined) {
      throw new ServiceError(
        "precondition_failed",
        visibleLine(`${root} holds other things, such as ${foreign}`),
      );
    }
  } else if (version !== String(mailProtocolVersion)) {
    throw unsupported(root, version);
  }
  try {
    files.ensureDirectory("mail.root-folder", root);
    for (const folder of [
      "messages",
      "attachments/managed",
      "mailboxes",
      "locks/addresses",
      "staging/quarantine",
    ]) {
      files.ensureDirectory("mail.root-folder", pathInRoot(files, root, folder, "folder"));
    }
    for (const [name, text] of Object.entries(rules)) {
      const path = pathInRoot(files, root, `rules/${name}`);
      files.ensureDirectory("mail.root-folder", dirname(path));
      // A person may have written his own.
      if (!files.exists(path)) files.write("mail.rule-written", path, text);
    }
    const catalog = openCatalog({ ...deps, path: paths.index, create: true, beginning: version === null });
    try {
      ensureOperator(createRegistrations(deps, root, catalog));
    } finally {
      catalog.close();
    }
    // Written last: a root with a version is complete.
    if (version === null)
      files.write("mail.version-written", paths.protocolVersion, `${mailProtocolVersion}\n`);
  } catch (error) {
    throw toServiceError(error);
  }
  return mailRootStatus(deps, root);
}

/** Changes nothing and never throws: `error` says what is wrong, `remedy` what can be done. */
export function mailRootStatus(deps: MailRootDeps, root: string): RootStatus {
  const { files } = deps;
  const paths = rootPaths(root);
  const status: RootStatus = {
    mailbox_root: root,
    exists: false,
    bootstrapped: false,
    supported: false,
    protocol_version: null,
    sqlite_path: paths.index,
    mailboxes_dir: paths.mailboxes,
    registration_counts: { active: 0, inactive: 0, stashed: 0 },
    error: null,
    remedy: null,
  };
  try {
    status.exists = files.exists(root);
    status.protocol_version = readVersion(files, root);
    status.supported = status.protocol_version === String(mailProtocolVersion);
    status.bootstrapped = status.supported && files.exists(paths.index);
    if (!status.bootstrapped) {
      return { ...status, ...whyUnusable(root, status) };
    }
    const catalog = openCatalog({ ...deps, path: paths.index });
    try {
      for (const row of catalog.registrations()) status.registration_counts[row.status] += 1;
    } finally {
      catalog.close();
    }
    return status;
  } catch (error) {
    const refusal = toServiceError(error);
    return { ...status, error: messageOf(refusal), remedy: remedyOf(refusal) };
  }
}

function whyUnusable(
  root: string,
  { protocol_version: version, supported }: RootStatus,
): Pick<RootStatus, "error" | "remedy"> {
  if (version === null) return { error: "there is no mailbox root", remedy: { code: "init_mailboxes" } };
  if (!supported) return { error: unsupported(root, version).message, remedy: null };
  return { error: "its index is missing; a repair rebuilds it", remedy: { code: "repair_mailboxes" } };
}

/**
 * Throws ServiceError `precondition_failed` for a root that is absent or of another protocol version. The
 * file that names the version is derived: where it is lost, the index says whether this svc may use the root.
 */
export function openMailRoot(deps: MailRootDeps, root: string): MailRoot {
  const { files } = deps;
  const version = readVersion(files, root);
  if (version === null && !files.exists(rootPaths(root).index)) {
    throw new ServiceError("precondition_failed", `there is no mailbox root at ${visibleLine(root)}`, {
      data: { remedy: { code: "init_mailboxes" } satisfies Remedy },
    });
  }
  if (version !== null && version !== String(mailProtocolVersion)) throw unsupported(root, version);
  let catalog: Catalog;
  try {
    catalog = openCatalog({ ...deps, path: rootPaths(root).index });
    if (version === null) restoreVersion(deps, root);
    setAside(deps, root);
  } catch (error) {
    throw toServiceError(error);
  }
  const registrations = createRegistrations(deps, root, catalog);
  const lateFiles = createLateFiles(deps, root, catalog);
  lateFiles.recover();
  const delivery = createDelivery(deps, root, { catalog, lateFiles });
  return {
    root,
    catalog,
    registrations,
    openMailbox: (binding) =>
      createFilesystemMailbox({ ...deps, root, catalog, registrations, delivery, lateFiles }, binding),
    accept: (message, receivers) => delivery.accept(message, receivers),
    close() {
      delivery.announceNow();
      lateFiles.close();
      catalog.close();
    },
  };
}

/**
 * Runs `work` while no other maintenance of this root runs, in any process. Mail goes on meanwhile: whatever
 * `work` does to index.sqlite it does in one `catalog.store.write`, looking again inside of it, and it never
 * removes or renames the file of a readable index; a file put in its place is noticed by open roots before
 * and after they write. Throws `conflict` when another maintenance takes longer than half a minute.
 */
export async function withExclusiveRoot<T>(
  deps: MailRootDeps,
  root: string,
  work: () => T | Promise<T>,
): Promise<T> {
  let began = false;
  try {
    return await deps.locks.hold(
      pathInRoot(deps.files, root, "locks/index.lock", "file"),
      () => {
        began = true;
        return work();
      },
      { timeoutMs: 30_000 },
    );
  } catch (error) {
    const fault = toServiceError(error);
    if (began || fault !== error) throw fault;
    throw new ServiceError("conflict", "another maintenance of this mailbox root runs", { cause: error });
  }
}

/** Something else in its place stays there: `doctor` names it. */
function restoreVersion({ files, onMended }: MailRootDeps, root: string): void {
  const { protocolVersion } = rootPaths(root);
  if (files.stat(protocolVersion)?.directory) return;
  files.write("mail.version-written", protocolVersion, `${mailProtocolVersion}\n`);
  onMended?.(`protocol-version.txt of ${root} was missing or damaged and is written again`);
}

/** Puts what deliveries that died have left in staging into the quarantine. */
function setAside(deps: MailRootDeps, root: string): void {
  const { files, clock } = deps;
  const paths = rootPaths(root);
  pathInRoot(files, root, "staging/quarantine", "folder");
  const old = files.list(paths.staging).filter((name) => {
    if (!isOneName(name)) return false;
    const path = childPath(paths.staging, name);
    if (path === paths.quarantine) return false;
    const found = files.stat(path);
    return found !== null && clock.nowMs() - found.modifiedMs > stagingMs;
  });
  if (old.length === 0) return;
  const stamp = timestampNow(clock).slice(0, 19).replaceAll(/[-:]/g, "");
  const aside = ["staging", "quarantine", stamp];
  files.ensureDirectory("mail.quarantine", pathInRoot(files, root, aside, "folder"));
  for (const name of old) {
    const from = pathInRoot(files, root, ["staging", name]);
    files.rename("mail.quarantined", from, pathInRoot(files, root, [...aside, name]));
  }
}

/** Null for a file that holds no version either: it was damaged, and is written again as a missing one is. */
function readVersion(files: Files, root: string): string | null {
  const text = files.read(rootPaths(root).protocolVersion)?.trim() ?? "";
  return /^[\w.-]{1,32}$/.test(text) ? text : null;
}

function unsupported(root: string, version: string): ServiceError {
  const ours = mailProtocolVersion;
  return new ServiceError(
    "precondition_failed",
    visibleLine(`${root} has the protocol version ${version}, this svc knows ${ours}`),
  );
}

/** The texts in the `rules` folder of a new root, by path. */
const rules: Readonly<Record<string, string>> = {
  "README.md": `# Rules of this mailbox root

Texts that the agents and people who share this root agree on. svc writes these files once and never reads them.

- \`protocols/\`: message families and what they ask of who receives them
- \`scripts/\`: small programs that belong to a protocol
- \`skills/\`: skills that handle mail

Mail itself: one file per message below \`messages/\`; each mailbox below \`mailboxes/\` links to its own.
`,
  "protocols/README.md": "One file per message family.\n",
  "scripts/README.md": "Programs that belong to a protocol.\n",
  "skills/README.md": "Skills that handle mail.\n",
};
