import type { AccountsListAnswer } from "../../../protocol/mailbox-admin.ts";
import { listAccounts } from "../../../services/mail/filesystem/accounts.ts";
import { command } from "../../command.ts";
import { renderTable } from "../../format.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export default command({
  name: "list",
  description: "list all mailboxes, the present and the former",
  examples: ["svc-mgr mailbox accounts list", "svc-mgr mailbox accounts list --json"],
  async run(invocation) {
    const meant = meantRoot(invocation, { creates: false });
    const accounts = await withMailRoot(meant, listAccounts);
    const answer: AccountsListAnswer = { ...meant.heading, account_count: accounts.length, accounts };
    return {
      json: answer,
      text:
        accounts.length === 0
          ? "no mailboxes. Make one with: svc-mgr mailbox register"
          : renderTable(
              ["ADDRESS", "OWNER", "STATUS", "KIND", "MESSAGES", "SINCE"],
              accounts.map((one) => [
                one.address,
                one.owner_principal_id,
                one.status,
                one.mailbox_kind,
                String(one.message_count),
                one.created_at_utc,
              ]),
            ),
    };
  },
});
