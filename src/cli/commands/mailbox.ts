import { join } from "node:path";
import type {
  MailboxInitAnswer,
  MailboxRegisterAnswer,
  MailboxStatusAnswer,
  MailboxUnregisterAnswer,
} from "../../protocol/mailbox-admin.ts";
import type { RegisterRequest } from "../../services/mail/filesystem/registrations.ts";
import { initMailRoot, mailRootStatus } from "../../services/mail/filesystem/root.ts";
import { ServiceError } from "../../system/errors.ts";
import { command } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { givenFields } from "../flag-values.ts";
import { renderPairs } from "../format.ts";
import { chooseRoot, withMailRoot } from "../mailbox-root.ts";
import { addressFlag } from "../shared-flags.ts";

const init = command({
  name: "init",
  description: "make the folder of the mailboxes ready; doing it again changes nothing",
  examples: ["svc-mgr mailbox init", "svc-mgr mailbox init --mailbox-root /srv/mail --json"],
  async run(invocation) {
    const { deps, root, heading } = chooseRoot(invocation, { creates: true });
    const status = initMailRoot(deps, root);
    if (status.error !== null) throw new ServiceError("precondition_failed", status.error);
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
        "Next: svc-mgr mailbox register --address NAME@svc.localhost --principal-id SVC-NAME",
      ].join("\n"),
    };
  },
});

const status = command({
  name: "status",
  description: "say which folder of mailboxes is used and whether it is in order; changes nothing",
  examples: ["svc-mgr mailbox status", "svc-mgr mailbox status --mailbox-root /srv/mail --json"],
  async run(invocation) {
    const { deps, root, heading } = chooseRoot(invocation, { creates: false });
    const status = mailRootStatus(deps, root);
    const version = Number(status.protocol_version ?? Number.NaN);
    const answer: MailboxStatusAnswer = {
      ...heading,
      exists: status.exists,
      bootstrapped: status.bootstrapped,
      supported: status.supported,
      protocol_version: Number.isInteger(version) ? version : null,
      registration_counts: status.registration_counts,
      error: status.error,
    };
    const { active, inactive, stashed } = status.registration_counts;
    return {
      json: answer,
      text: renderPairs([
        ["mailboxes in", root],
        ["chosen", heading.mailbox_root_detail],
        ["status", status.error === null ? "ready" : status.exists ? "needs a look" : "not there yet"],
        ["trouble", status.error],
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
    mode: {
      type: "enum",
      options: ["safe", "force", "stash"],
      default: "safe",
      description: "what is in the way: safe refuses, force replaces it, stash puts it aside",
    },
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
    const chosen = chooseRoot(invocation, { creates: true });
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
    mode: {
      type: "enum",
      options: ["deactivate", "purge"],
      default: "deactivate",
      description: "deactivate keeps its folder and state, purge removes them",
    },
  },
  async run(invocation) {
    const { address, mode } = invocation.args;
    const chosen = chooseRoot(invocation, { creates: false });
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
