import { command } from "../../command.ts";
import { addressFlag } from "../../mail-flags.ts";
import { clearFlags, runClear } from "./clear.ts";

export default command({
  name: "clear",
  description: "remove all mail of one mailbox; what another one holds too stays there",
  examples: ["svc-mgr mailbox messages clear --address ann@svc.localhost --dry-run"],
  args: {
    ...addressFlag,
    ...clearFlags,
  },
  run: (invocation) =>
    runClear(invocation, {
      address: invocation.args.address,
      dryRun: invocation.args["dry-run"],
      yes: invocation.args.yes,
    }),
});
