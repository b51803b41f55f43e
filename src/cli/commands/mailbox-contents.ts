import type {
  AccountsGetAnswer,
  AccountsListAnswer,
  MessagesGetAnswer,
  MessagesListAnswer,
} from "../../protocol/mailbox-admin.ts";
import {
  getAccount,
  getMessage,
  listAccounts,
  listMessages,
} from "../../services/mail/filesystem/accounts.ts";
import { dropControl } from "../../system/visible.ts";
import { command } from "../command.ts";
import { renderPairs, renderTable } from "../format.ts";
import { chooseRoot, withMailRoot } from "../mailbox-root.ts";
import { addressFlag } from "../shared-flags.ts";

const accountsList = command({
  name: "list",
  description: "list all mailboxes, the present and the former",
  examples: ["svc-mgr mailbox accounts list", "svc-mgr mailbox accounts list --json"],
  async run(invocation) {
    const chosen = chooseRoot(invocation, { creates: false });
    const accounts = await withMailRoot(chosen, listAccounts);
    const answer: AccountsListAnswer = { ...chosen.heading, account_count: accounts.length, accounts };
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

const accountsGet = command({
  name: "get",
  description: "show one mailbox: whose it is, where it lies, what its boxes hold",
  examples: ["svc-mgr mailbox accounts get --address ann@svc.localhost"],
  args: addressFlag,
  async run(invocation) {
    const chosen = chooseRoot(invocation, { creates: false });
    const found = await withMailRoot(chosen, (open) =>
      getAccount(chosen.deps, open, invocation.args.address),
    );
    const answer: AccountsGetAnswer = { ...chosen.heading, ...found };
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

const messagesList = command({
  name: "list",
  description: "list the messages of one mailbox and where they lie, newest first",
  examples: ["svc-mgr mailbox messages list --address ann@svc.localhost --json"],
  args: addressFlag,
  async run(invocation) {
    const { address } = invocation.args;
    const chosen = chooseRoot(invocation, { creates: false });
    const messages = await withMailRoot(chosen, (open) => listMessages(chosen.deps, open, address));
    const answer: MessagesListAnswer = {
      ...chosen.heading,
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

const messagesGet = command({
  name: "get",
  description: "show one message as it is stored; it counts as unread still",
  examples: ["svc-mgr mailbox messages get --address ann@svc.localhost --message-id ID"],
  args: {
    ...addressFlag,
    "message-id": { type: "string", required: true, description: "its id or reference", valueHint: "ID" },
  },
  async run(invocation) {
    const { address, "message-id": id } = invocation.args;
    const chosen = chooseRoot(invocation, { creates: false });
    const message = await withMailRoot(chosen, (open) => getMessage(chosen.deps, open, address, id));
    const answer: MessagesGetAnswer = { ...chosen.heading, address, message };
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

export const accountCommands = { list: accountsList, get: accountsGet };
export const messageCommands = { list: messagesList, get: messagesGet };
