import { command } from "../../command.ts";
import { clearFlags, runClear } from "./clear.ts";

export default command({
  name: "clear-messages",
  description: "remove all mail of all mailboxes; who is registered stays so",
  examples: ["svc-mgr mailbox clear-messages --dry-run", "svc-mgr mailbox clear-messages --yes"],
  args: clearFlags,
  run: (invocation) =>
    runClear(invocation, {
      address: null,
      dryRun: invocation.args["dry-run"],
      yes: invocation.args.yes,
    }),
});
