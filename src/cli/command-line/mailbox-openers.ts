import { join } from "node:path";
import type { RegistryRecord } from "../../protocol/files.ts";
import { createPeopleMail, type PeopleMail } from "../../services/attention/people-mail.ts";
import type { MailboxOpeners } from "../../services/mail/binding.ts";
import { type MailRootDeps, openMailRoot } from "../../services/mail/filesystem/root.ts";
import { rootPaths } from "../../services/mail/filesystem/root-paths.ts";
import { createFilesystemOpener, createJmapOpener } from "../../services/mail/openers.ts";
import { refuseExposed } from "../../services/sessions/trust.ts";
import type { CliContext } from "./cli-context.ts";

/**
 * How the mailbox of each transport is opened; any other transport is answered 422. Reports: see
 * `MailRootDeps`.
 */
export function mailboxOpeners(
  system: MailRootDeps,
  onMended: (what: string) => void,
  onFault: (what: string) => void = onMended,
): MailboxOpeners {
  const deps = { ...system, onMended, onFault };
  return {
    filesystem: createFilesystemOpener({
      files: deps.files,
      openRoot: (root) => openTrustedRoot(deps, root),
    }),
    jmap: createJmapOpener(deps),
  };
}

/** Throws `precondition_failed` where another user can change the root. */
export function openTrustedRoot(deps: MailRootDeps, root: string) {
  refuseExposed(deps.files, root, "the mailbox root");
  return openMailRoot(deps, root);
}

/**
 * Folders of mailboxes that are known without an agent: of adopted projects, and the one that is named or of
 * this project.
 */
export function knownMailboxRoots({ overlays, roots }: Pick<CliContext, "overlays" | "roots">): string[] {
  const adopted = overlays.list().filter(({ path }) => overlays.exposure(path) === null);
  return [
    ...adopted.map(({ path }) => join(path, "mailbox")),
    ...(roots.mailboxRoot === null ? [] : [roots.mailboxRoot]),
  ];
}

/** The filesystem mailboxes of agents of this machine. */
export function registeredMailboxes({ registry, files }: Pick<CliContext, "registry" | "files">) {
  return registry.list().records.flatMap(({ agent_name: agentName, mailbox }) => {
    const { filesystem_root: root, address } = mailbox ?? {};
    if (root === undefined || address === undefined) return [];
    return [{ agentName, root: files.realPath(root) ?? root, address }];
  });
}

/** Folders of mailboxes that agents of this machine or its adopted projects have, each once. */
export function usedMailboxRoots(
  context: Pick<CliContext, "registry" | "files" | "overlays" | "roots">,
): string[] {
  const { files } = context;
  const known = knownMailboxRoots(context).map((path) => files.realPath(path) ?? path);
  const all = new Set([...registeredMailboxes(context).map(({ root }) => root), ...known]);
  return [...all].filter((root) => files.exists(rootPaths(root).index));
}

/**
 * The mail of people on this machine. `onError` gets what cannot be read. `records`: where they are known
 * already.
 */
export const openPeopleMail = (
  context: CliContext,
  onError: (what: string) => void,
  records: () => readonly RegistryRecord[] = () => context.registry.list().records,
): PeopleMail =>
  createPeopleMail({
    files: context.files,
    otherRoots: () => knownMailboxRoots(context),
    records,
    openRoot: (root) => openTrustedRoot(context, root),
    onError,
  });
