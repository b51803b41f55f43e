import type { MessagesGetAnswer } from "../../../protocol/mailbox-admin.ts";
import { getMessage } from "../../../services/mail/filesystem/accounts.ts";
import { dropControl } from "../../../services/terminal/control-characters.ts";
import { command } from "../../command.ts";
import { renderPairs } from "../../format.ts";
import { addressFlag } from "../../mail-flags.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export default command({
  name: "get",
  description: "show one message as it is stored; it counts as unread still",
  examples: ["svc-mgr mailbox messages get --address ann@svc.localhost --message-id ID"],
  args: {
    ...addressFlag,
    "message-id": { type: "string", required: true, description: "its id or reference", valueHint: "ID" },
  },
  async run(invocation) {
    const { address, "message-id": id } = invocation.args;
    const meant = meantRoot(invocation, { creates: false });
    const message = await withMailRoot(meant, (open) => getMessage(meant.deps, open, address, id));
    const answer: MessagesGetAnswer = { ...meant.heading, address, message };
    const named = (kind: "to" | "cc") =>
      message.recipients
        .filter((one) => one.kind === kind)
        .map((one) => one.address)
        .join(", ") || null;
    return {
      json: answer,
      text: [
        renderPairs([
          ["subject", dropControl(message.subject)],
          ["from", message.sender.address],
          ["to", named("to")],
          ["cc", named("cc")],
          ["created", message.created_at_utc],
          ["box", message.folder],
          ["file", message.canonical_path],
          ...message.attachments.map((one) => ["attached", dropControl(one.path)] as const),
        ]),
        "",
        dropControl(message.body),
      ].join("\n"),
    };
  },
});
