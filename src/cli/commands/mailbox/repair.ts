import type { MailboxRepairAnswer } from "../../../protocol/mailbox-admin.ts";
import { repairMailRoot } from "../../../services/mail/filesystem/repair.ts";
import { command, UsageError } from "../../command.ts";
import { renderPairs, renderTable } from "../../format.ts";
import { withProgress } from "./progress.ts";
import { meantRoot } from "./root.ts";

export default command({
  name: "repair",
  description: "put index and mailboxes in order again from the messages on disk; loses no mail and no flag",
  examples: ["svc-mgr mailbox repair", "svc-mgr mailbox repair --remove-staging --json"],
  args: {
    "cleanup-staging": {
      type: "boolean",
      description: "clear away what interrupted writes left (the default)",
    },
    "no-cleanup-staging": { type: "boolean", description: "leave it where it is" },
    "quarantine-staging": { type: "boolean", description: "keep it in staging/quarantine (the default)" },
    "remove-staging": { type: "boolean", description: "remove it instead" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    if (args["cleanup-staging"] && args["no-cleanup-staging"]) {
      throw new UsageError("--cleanup-staging and --no-cleanup-staging exclude each other", invocation.path);
    }
    if (args["quarantine-staging"] && args["remove-staging"]) {
      throw new UsageError("--quarantine-staging and --remove-staging exclude each other", invocation.path);
    }
    const { deps, root, heading } = meantRoot(invocation, { creates: false });
    const result = await withProgress(
      io,
      "what was repaired so far holds; run it again for the rest",
      (options) =>
        repairMailRoot(deps, root, {
          ...options,
          cleanupStaging: !args["no-cleanup-staging"],
          quarantineStaging: !args["remove-staging"],
        }),
    );
    const answer: MailboxRepairAnswer = { ...heading, ...result };
    const { findings } = result;
    return {
      json: answer,
      text: [
        renderPairs([
          ["mailboxes in", root],
          ["messages", result.message_count],
          ["mailboxes", result.registration_count],
          ["of these found by their folder alone", result.restored_registration_count || null],
          ["messages in boxes", result.projection_count],
          ["kept as they were seen", result.restored_state_count],
          ["begun with the flags of new mail", result.defaulted_state_count],
          ["left over by interrupted writes", result.staging_artifact_count],
          ["old index", result.backed_up_index_path],
        ]),
        ...(findings.length > 0
          ? [
              "",
              renderTable(
                ["LOOK AT", "BECAUSE", "NOW IN"],
                findings.map((one) => [one.path, one.problem, one.moved_to ?? "(where it was)"]),
              ),
            ]
          : []),
      ].join("\n"),
    };
  },
});
