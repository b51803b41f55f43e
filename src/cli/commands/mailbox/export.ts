import type { MailboxExportAnswer } from "../../../protocol/mailbox-admin.ts";
import { exportMailRoot } from "../../../services/mail/filesystem/export.ts";
import { command, UsageError } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { withProgress } from "./progress.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export default command({
  name: "export",
  description: "copy mailboxes and their mail into a new folder that needs nothing else",
  examples: [
    "svc-mgr mailbox export --output-dir backup --all-accounts",
    "svc-mgr mailbox export --output-dir ann --address ann@svc.localhost --symlink-mode preserve",
  ],
  args: {
    "output-dir": {
      type: "string",
      required: true,
      description: "a folder that is not there yet",
      valueHint: "DIR",
    },
    "all-accounts": { type: "boolean", description: "every mailbox, the former too" },
    address: {
      type: "string",
      multiple: true,
      description: "only this mailbox",
      valueHint: "NAME@DOMAIN",
      offers: "addresses",
    },
    "symlink-mode": {
      type: "enum",
      options: ["materialize", "preserve"],
      default: "materialize",
      description: "messages in boxes as files of their own, or as links inside of the folder",
    },
  },
  async run(invocation) {
    const { args, io, path } = invocation;
    if (args["all-accounts"] === args.address.length > 0) {
      throw new UsageError("give exactly one of --all-accounts and --address", path);
    }
    const meant = meantRoot(invocation, { creates: false });
    const result = await withMailRoot(meant, (open) =>
      withProgress(io, "nothing was exported", (options) =>
        exportMailRoot(meant.deps, open, {
          ...options,
          outputDir: meant.absolute(args["output-dir"]),
          addresses: args["all-accounts"] ? null : args.address,
          symlinkMode: args["symlink-mode"],
        }),
      ),
    );
    const answer: MailboxExportAnswer = { ...meant.heading, ...result };
    return {
      json: answer,
      text: renderPairs([
        ["exported to", result.output_dir],
        ["mailboxes", result.account_count],
        ["messages", result.message_count],
        ["attachments", result.attachment_count],
        ["not in it", result.skipped_artifacts.length || null],
        ["blocked", result.blocked_artifacts.length || null],
        ["contents", result.manifest_path],
      ]),
    };
  },
});
