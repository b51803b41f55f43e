import type { MailboxMaintenanceAnswer } from "../../../protocol/mailbox-admin.ts";
import { clearMessages } from "../../../services/mail/filesystem/clear.ts";
import type { Answer, Flags, Invocation } from "../../command.ts";
import { confirmed } from "../../confirm.ts";
import { renderMaintenance } from "./maintenance-text.ts";
import { withProgress } from "./progress.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export const clearFlags = {
  "dry-run": { type: "boolean", description: "say what would be removed and change nothing" },
  yes: { type: "boolean", description: "do not ask; needed where nobody can be asked" },
} satisfies Flags;

/** Removes mail of one address, or of all where `address` is null. */
export async function runClear(
  invocation: Pick<Invocation, "inherited" | "io">,
  options: { address: string | null; dryRun: boolean; yes: boolean },
): Promise<Answer> {
  const { io } = invocation;
  const { address, dryRun } = options;
  const meant = meantRoot(invocation, { creates: false });
  const result = await withMailRoot(meant, async (open) => {
    if (!dryRun) {
      const whose = address === null ? `every mailbox in ${meant.root}` : address;
      await confirmed(io, `Remove all mail of ${whose} for good?`, options.yes);
    }
    return withProgress(io, "what was removed so far is gone; run it again for the rest", (progress) =>
      clearMessages(meant.deps, open, { address, dryRun, ...progress }),
    );
  });
  const { mailbox_root, mailbox_root_detail } = meant.heading;
  const answer: MailboxMaintenanceAnswer = {
    ...meant.heading,
    resolution: { mailbox_root, mailbox_root_detail },
    ...result,
  };
  return {
    json: answer,
    text: renderMaintenance(result),
    exitCode: result.summary.blocked_count > 0 ? 1 : 0,
  };
}
