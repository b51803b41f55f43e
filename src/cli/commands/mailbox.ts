import { join } from "node:path";
import {
  type AccountsGetAnswer,
  type AccountsListAnswer,
  DeregistrationMode,
  type MailboxInitAnswer,
  type MailboxRegisterAnswer,
  type MailboxStatusAnswer,
  type MailboxUnregisterAnswer,
  type MessagesGetAnswer,
  type MessagesListAnswer,
  RegistrationMode,
} from "../../protocol/mailbox-admin.ts";
import { toRemedyRecord } from "../../protocol/remedy.ts";
import {
  getAccount,
  getMessage,
  listAccounts,
  listMessages,
} from "../../services/mail/filesystem/registration/accounts.ts";
import type { RegisterRequest } from "../../services/mail/filesystem/registration/registrations.ts";
import { initMailRoot, mailRootStatus } from "../../services/mail/filesystem/root.ts";
import { ServiceError } from "../../system/errors.ts";
import { dropControl } from "../../system/visible.ts";
import { command } from "../command-line/command.ts";
import { confirmed } from "../command-line/confirm.ts";
import { wordFlag } from "../command-line/field-flags.ts";
import { givenFields } from "../command-line/flag-values.ts";
import { renderPairs, renderTable } from "../command-line/format.ts";
import { withRemedy } from "../command-line/remedies.ts";
import { addressFlag } from "../command-line/shared-flags.ts";
import { chooseRoot, prepareRoot, withMailRoot } from "../mail/mailbox-root.ts";

const init = command({
  name: "init",
  description: "make the folder of the mailboxes ready; doing it again changes nothing",
  examples: ["svc-mgr mailbox init", "svc-mgr mailbox init --mailbox-root /srv/mail --json"],
  async run(invocation) {
    const { deps, root, heading } = await prepareRoot(invocation);
    const status = initMailRoot(deps, root);
    const { error, remedy } = status;
    if (error !== null) throw new ServiceError("precondition_failed", error, { data: { remedy } });
    const answer: MailboxInitAnswer = {
      ...heading,
      bootstrapped: status.bootstrapped,
      supported: status.supported,
      protocol_version: Number(status.protocol_version),
      sqlite_path: status.sqlite_path,
      rules_dir: join(root, "rules"),
      mailboxes_dir: status.mailboxes_dir,
      status: "ready",
    };
    return {
      json: answer,
      text: [
        renderPairs([
          ["mailboxes in", root],
          ["chosen", heading.mailbox_root_detail],
          ["status", "ready"],
        ]),
        "",
        `Next: ${invocation.io.program} mailbox register --address NAME@svc.localhost --principal-id SVC-NAME`,
      ].join("\n"),
    };
  },
});

const status = command({
  name: "status",
  description: "say which folder of mailboxes is used and whether it is in order; changes nothing",
  examples: ["svc-mgr mailbox status", "svc-mgr mailbox status --mailbox-root /srv/mail --json"],
  async run(invocation) {
    const { deps, root, heading } = chooseRoot(invocation);
    const { remedy, ...status } = mailRootStatus(deps, root);
    const version = Number(status.protocol_version ?? Number.NaN);
    const answer: MailboxStatusAnswer = {
      ...heading,
      exists: status.exists,
      bootstrapped: status.bootstrapped,
      supported: status.supported,
      protocol_version: Number.isInteger(version) ? version : null,
      registration_counts: status.registration_counts,
      error: status.error,
      ...(remedy ? { remedy: toRemedyRecord(remedy) } : {}),
    };
    const { active, inactive, stashed } = status.registration_counts;
    return {
      json: answer,
      text: renderPairs([
        ["mailboxes in", root],
        ["chosen", heading.mailbox_root_detail],
        ["status", status.error === null ? "ready" : status.exists ? "needs a look" : "not there yet"],
        ["trouble", status.error && withRemedy(status.error, remedy, invocation.io.advise)],
        ["registered", `${active} active, ${inactive} inactive, ${stashed} stashed`],
      ]),
      exitCode: status.exists && status.error !== null ? 1 : 0,
    };
  },
});

const register = command({
  name: "register",
  description: "give an address a mailbox; the same again changes nothing",
  examples: [
    "svc-mgr mailbox register --address ann@svc.localhost --principal-id SVC-ann",
    "svc-mgr mailbox register --address ann@svc.localhost --principal-id SVC-ann --mode stash",
  ],
  args: {
    address: { type: "string", required: true, description: "the full address", valueHint: "NAME@DOMAIN" },
    "principal-id": { type: "string", required: true, description: "whose it is", valueHint: "SVC-NAME" },
    mode: wordFlag(RegistrationMode),
    yes: { type: "boolean", description: "replace what is in the way without asking" },
    "mailbox-path": {
      type: "string",
      description: "keep the mail in this folder outside of the root instead, linked from it",
      valueHint: "DIR",
    },
    "display-name": { type: "string", description: "a name for people", valueHint: "NAME" },
    role: {
      type: "string",
      description: "what its owner is there for; unread mail of a `person` waits for that person",
      valueHint: "ROLE",
    },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const chosen = await prepareRoot(invocation);
    const request: RegisterRequest = {
      address: args.address,
      principalId: args["principal-id"],
      mode: args.mode,
      ...(args["mailbox-path"] === undefined
        ? {}
        : { kind: "symlink" as const, mailboxPath: chosen.absolute(args["mailbox-path"]) }),
      ...givenFields({ displayName: args["display-name"], role: args.role }),
    };
    const result = await withMailRoot(
      chosen,
      async ({ registrations }) => {
        try {
          return registrations.register(request);
        } catch (error) {
          const inTheWay = error instanceof ServiceError && error.reason === "conflict";
          if (!inTheWay || request.mode !== "safe" || !(args.yes || io.stdinIsTty)) throw error;
          await confirmed(io, `${error.message}. Replace it and remove its mail?`, args.yes);
          return registrations.register({ ...request, mode: "force" });
        }
      },
      { init: true },
    );
    const answer: MailboxRegisterAnswer = { ...chosen.heading, ...result };
    return {
      json: answer,
      text: renderPairs([
        ["address", result.address],
        ["owner", result.owner_principal_id],
        ["registration", result.active_registration_id],
        ["was there already", result.reused_existing ? "yes" : null],
        ["replaced", result.replaced_registration_id],
        ["put aside", result.stashed_mailbox_path],
        ["mailboxes in", chosen.root],
      ]),
    };
  },
});

const unregister = command({
  name: "unregister",
  description: "end the mailbox of an address; the messages themselves stay",
  examples: [
    "svc-mgr mailbox unregister --address ann@svc.localhost",
    "svc-mgr mailbox unregister --address ann@svc.localhost --mode purge",
  ],
  args: {
    ...addressFlag,
    mode: wordFlag(DeregistrationMode),
  },
  async run(invocation) {
    const { address, mode } = invocation.args;
    const chosen = chooseRoot(invocation);
    const result = await withMailRoot(chosen, ({ registrations }) =>
      registrations.deregister({ address, mode }),
    );
    const answer: MailboxUnregisterAnswer = { ...chosen.heading, ...result };
    return {
      json: answer,
      text: renderPairs([
        ["address", result.address],
        ["registration", result.target_registration_id],
        ["now", result.resulting_status],
        ["mailboxes in", chosen.root],
      ]),
    };
  },
});

export const mailboxCommands = { init, status, register, unregister };

const accountsList = command({
  name: "list",
  description: "list all mailboxes, the present and the former",
  examples: ["svc-mgr mailbox accounts list", "svc-mgr mailbox accounts list --json"],
  async run(invocation) {
    const chosen = chooseRoot(invocation);
    const accounts = await withMailRoot(chosen, listAccounts);
    const answer: AccountsListAnswer = { ...chosen.heading, account_count: accounts.length, accounts };
    return {
      json: answer,
      text:
        accounts.length === 0
          ? `no mailboxes. Make one with: ${invocation.io.program} mailbox register`
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
    const chosen = chooseRoot(invocation);
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
    const chosen = chooseRoot(invocation);
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
    const chosen = chooseRoot(invocation);
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
