import type { MailboxBinding } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { MailboxOpener } from "./binding.ts";
import { toServiceError } from "./filesystem/delivery/carrier-fault.ts";
import type { MailRoot } from "./filesystem/root.ts";
import { createJmapClient } from "./jmap/client.ts";
import { createJmapMailbox } from "./jmap/mailbox.ts";
import { readLogin } from "./jmap/register.ts";
import { parseJmapUrl } from "./jmap/session.ts";

/**
 * Opens the mailboxes below roots of the filesystem transport. Each root is opened once and kept until
 * `close`. A binding can be acted on while its address is registered for its principal and the mailbox is
 * there.
 */
export function createFilesystemOpener(deps: {
  files: Pick<Files, "exists">;
  openRoot: (root: string) => MailRoot;
}): MailboxOpener {
  const roots = new Map<string, MailRoot>();

  function rootOf({ filesystem_root: path }: MailboxBinding): MailRoot {
    if (path === undefined) throw new ServiceError("unsupported", "the binding names no filesystem_root");
    const found = roots.get(path) ?? deps.openRoot(path);
    roots.set(path, found);
    return found;
  }

  function obstacle(binding: MailboxBinding): string | null {
    const { address, principal_id: principal } = binding;
    const active = rootOf(binding).registrations.active(address);
    if (!active) return `${address} is not registered any more; \`mailbox register\` does it again`;
    if (active.owner_principal_id !== principal)
      return `${address} belongs to ${active.owner_principal_id} now`;
    return deps.files.exists(active.mailbox_path) ? null : `the folder of ${address} is not there`;
  }

  return {
    open: (binding) =>
      carried(() =>
        rootOf(binding).openMailbox({ address: binding.address, principalId: binding.principal_id }),
      ),
    obstacle: (binding) => carried(() => obstacle(binding)),
    close() {
      for (const root of roots.values()) root.close();
      roots.clear();
    },
  };
}

/** What the disk or the database complains of is the carrier's fault and no other. */
function carried<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toServiceError(error);
  }
}

/** Opens mailboxes on mail servers. A binding can be acted on while the file with its login is there. */
export function createJmapOpener(deps: {
  clock: Clock;
  ids: Ids;
  files: Files;
  pollMs?: number;
  onFault?: (what: string) => void;
}): MailboxOpener {
  const { files } = deps;
  return {
    open(binding) {
      const { jmap_url: url, credential_file: path } = binding;
      if (!url || !path) {
        throw new ServiceError("unsupported", "the binding names no jmap_url or no credential_file");
      }
      const { address, principal_id: principalId } = binding;
      const server = parseJmapUrl(url);
      const login = () => readLogin(files, { path, url: server, address });
      const client = createJmapClient({ clock: deps.clock, url: server, login });
      return createJmapMailbox({ ...deps, client, address, principalId });
    },
    obstacle({ address, credential_file: path }: MailboxBinding) {
      if (path && files.exists(path)) return null;
      return `the file with the login of ${address} is not there; \`mailbox register\` makes it`;
    },
    close() {},
  };
}
