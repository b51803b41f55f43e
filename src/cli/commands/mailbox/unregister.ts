import type { MailboxUnregisterAnswer } from "../../../protocol/mailbox-admin.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { addressFlag } from "../../mail-flags.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export default command({
  name: "unregister",
  description: "end the mailbox of an address; the messages themselves stay",
  examples: [
    "svc-mgr mailbox unregister --address ann@svc.localhost",
    "svc-mgr mailbox unregister --address ann@svc.localhost --mode purge",
  ],
  args: {
    ...addressFlag,
    mode: {
      type: "enum",
      options: ["deactivate", "purge"],
      default: "deactivate",
      description: "deactivate keeps its folder and state, purge removes them",
    },
  },
  async run(invocation) {
    const { address, mode } = invocation.args;
    const meant = meantRoot(invocation, { creates: false });
    const result = await withMailRoot(meant, ({ registrations }) =>
      registrations.deregister({ address, mode }),
    );
    const answer: MailboxUnregisterAnswer = { ...meant.heading, ...result };
    return {
      json: answer,
      text: renderPairs([
        ["address", result.address],
        ["registration", result.target_registration_id],
        ["now", result.resulting_status],
        ["mailboxes in", meant.root],
      ]),
    };
  },
});
