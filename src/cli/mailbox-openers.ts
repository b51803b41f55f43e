import type { MailboxOpeners } from "../services/mail/binding.ts";
import { type MailRootDeps, openMailRoot } from "../services/mail/filesystem/root.ts";
import { createFilesystemOpener, createJmapOpener } from "../services/mail/openers.ts";
import { refuseExposed } from "../services/sessions/trust.ts";

/** How the mailbox of each transport is opened; what is not in here answers 422. `onMended`: see `MailRootDeps`. */
export function mailboxOpeners(system: MailRootDeps, onMended: (what: string) => void): MailboxOpeners {
  const deps = { ...system, onMended };
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
