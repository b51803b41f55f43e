import type { MailboxOpeners } from "../services/mail/binding.ts";
import { type MailRootDeps, openMailRoot } from "../services/mail/filesystem/root.ts";
import { createFilesystemOpener, createJmapOpener } from "../services/mail/openers.ts";
import { refuseExposed } from "../services/sessions/trust.ts";

/** How the mailbox of each transport is opened; any other transport is answered 422. Reports: see `MailRootDeps`. */
export function mailboxOpeners(
  system: MailRootDeps,
  onMended: (what: string) => void,
  onFault: (what: string) => void = onMended,
): MailboxOpeners {
  const deps = { ...system, onMended, onFault };
  return {
    filesystem: createFilesystemOpener({
      files: deps.files,
      openRoot(root) {
        refuseExposed(deps.files, root, "the mailbox root");
        return openMailRoot(deps, root);
      },
    }),
    jmap: createJmapOpener(deps),
  };
}
