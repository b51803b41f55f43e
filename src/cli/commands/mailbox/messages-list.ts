import type { MessagesListAnswer } from "../../../protocol/mailbox-admin.ts";
import { listMessages } from "../../../services/mail/filesystem/accounts.ts";
import { dropControl } from "../../../services/terminal/control-characters.ts";
import { command } from "../../command.ts";
import { renderTable } from "../../format.ts";
import { addressFlag } from "../../mail-flags.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export default command({
  name: "list",
  description: "list the messages of one mailbox and where they lie, newest first",
  examples: ["svc-mgr mailbox messages list --address ann@svc.localhost --json"],
  args: {
    ...addressFlag,
  },
  async run(invocation) {
    const { address } = invocation.args;
    const meant = meantRoot(invocation, { creates: false });
    const messages = await withMailRoot(meant, (open) => listMessages(meant.deps, open, address));
    const answer: MessagesListAnswer = {
      ...meant.heading,
      address,
      message_count: messages.length,
      messages,
    };
    return {
      json: answer,
      text:
        messages.length === 0
          ? `${address} holds no messages`
          : renderTable(
              ["CREATED", "FROM", "BOX", "ID", "SUBJECT"],
              messages.map((one) => [
                one.created_at_utc,
                one.sender.address,
                one.folder,
                one.message_id,
                dropControl(one.subject),
              ]),
            ),
    };
  },
});
