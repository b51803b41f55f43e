import type { AccountsGetAnswer } from "../../../protocol/mailbox-admin.ts";
import { getAccount } from "../../../services/mail/filesystem/accounts.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { addressFlag } from "../../mail-flags.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export default command({
  name: "get",
  description: "show one mailbox: whose it is, where it lies, what its boxes hold",
  examples: ["svc-mgr mailbox accounts get --address ann@svc.localhost"],
  args: {
    ...addressFlag,
  },
  async run(invocation) {
    const meant = meantRoot(invocation, { creates: false });
    const found = await withMailRoot(meant, (open) => getAccount(meant.deps, open, invocation.args.address));
    const answer: AccountsGetAnswer = { ...meant.heading, ...found };
    const { account, boxes, other_registrations: others } = found;
    return {
      json: answer,
      text: renderPairs([
        ["address", account.address],
        ["owner", account.owner_principal_id],
        ["name", account.display_name],
        ["role", account.role],
        ["status", account.status],
        ["registration", account.registration_id],
        ["since", account.created_at_utc],
        ["inactive since", account.deactivated_at_utc],
        ["folder", account.mailbox_path],
        ["messages", account.message_count],
        ...boxes.map(({ box, message_count }) => [`  in ${box}`, message_count] as const),
        ["earlier registrations", others.length || null],
      ]),
    };
  },
});
