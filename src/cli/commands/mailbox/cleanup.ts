import type { MailboxMaintenanceAnswer } from "../../../protocol/mailbox-admin.ts";
import { cleanUpMailRoot } from "../../../services/mail/filesystem/cleanup.ts";
import { command } from "../../command.ts";
import { confirmed } from "../../confirm.ts";
import { toWholeNumber } from "../../flag-values.ts";
import { renderMaintenance } from "./maintenance-text.ts";
import { meantRoot, withMailRoot } from "./root.ts";

const longestSeconds = 100 * 365 * 86_400;

export default command({
  name: "cleanup",
  description: "remove mailboxes that are inactive or stashed; never an active one, never mail",
  examples: [
    "svc-mgr mailbox cleanup --dry-run",
    "svc-mgr mailbox cleanup --inactive-older-than-seconds 604800 --yes",
  ],
  args: {
    "inactive-older-than-seconds": {
      type: "string",
      description: "only those inactive for this long",
      default: "0",
      valueHint: "SECONDS",
    },
    "stashed-older-than-seconds": {
      type: "string",
      description: "only those stashed for this long",
      default: "0",
      valueHint: "SECONDS",
    },
    "dry-run": { type: "boolean", description: "say what would be removed and change nothing" },
    yes: { type: "boolean", description: "do not ask at the terminal" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const seconds = (name: "inactive-older-than-seconds" | "stashed-older-than-seconds") =>
      toWholeNumber(name, args[name], 0, longestSeconds) ?? 0;
    const meant = meantRoot(invocation, { creates: false });
    const options = {
      inactiveOlderThanSeconds: seconds("inactive-older-than-seconds"),
      stashedOlderThanSeconds: seconds("stashed-older-than-seconds"),
    };
    const result = await withMailRoot(meant, async (open) => {
      if (!args["dry-run"] && io.stdinIsTty && !args.yes) {
        const { summary } = await cleanUpMailRoot(meant.deps, open, { ...options, dryRun: true });
        if (summary.planned_count > 0) {
          await confirmed(io, `Remove ${summary.planned_count} records and folders?`, false);
        }
      }
      return cleanUpMailRoot(meant.deps, open, { ...options, dryRun: args["dry-run"] });
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
  },
});
