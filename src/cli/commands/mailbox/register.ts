import type { MailboxRegisterAnswer } from "../../../protocol/mailbox-admin.ts";
import type { RegisterRequest } from "../../../services/mail/filesystem/registrations.ts";
import { ServiceError } from "../../../system/errors.ts";
import { command } from "../../command.ts";
import { confirmed } from "../../confirm.ts";
import { renderPairs } from "../../format.ts";
import { meantRoot, withMailRoot } from "./root.ts";

export default command({
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
    role: { type: "string", description: "what its owner is there for", valueHint: "ROLE" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const meant = meantRoot(invocation, { creates: true });
    const request: RegisterRequest = {
      address: args.address,
      principalId: args["principal-id"],
      mode: args.mode,
      ...(args["mailbox-path"] === undefined
        ? {}
        : { kind: "symlink" as const, mailboxPath: meant.absolute(args["mailbox-path"]) }),
      ...(args["display-name"] === undefined ? {} : { displayName: args["display-name"] }),
      ...(args.role === undefined ? {} : { role: args.role }),
    };
    const result = await withMailRoot(
      meant,
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
    const answer: MailboxRegisterAnswer = { ...meant.heading, ...result };
    return {
      json: answer,
      text: renderPairs([
        ["address", result.address],
        ["owner", result.owner_principal_id],
        ["registration", result.active_registration_id],
        ["was there already", result.reused_existing ? "yes" : null],
        ["replaced", result.replaced_registration_id],
        ["put aside", result.stashed_mailbox_path],
        ["mailboxes in", meant.root],
      ]),
    };
  },
});
