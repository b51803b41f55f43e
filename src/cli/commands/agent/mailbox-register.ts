import { ServiceError } from "../../../system/errors.ts";
import { giveMailbox, mailboxRootFlag } from "../../agent-mailbox.ts";
import { giveJmapMailbox, jmapFlags } from "../../agent-mailbox-jmap.ts";
import { command } from "../../command.ts";
import { describeMailbox } from "../../mailbox-answer.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "register",
  description: "give the agent a mailbox; it need not be launched again",
  examples: [
    "svc-mgr agents single --agent-name worker mailbox register",
    "svc-mgr agents single --agent-name worker mailbox register --address w@svc.localhost --mode stash",
    "svc-mgr agents single --agent-name worker mailbox register --transport jmap --jmap-url https://mail.example/.well-known/jmap --login-identity w@mail.example --password-file w.password",
  ],
  args: {
    transport: {
      type: "enum",
      options: ["filesystem", "jmap"],
      description: "in a folder of this machine, or on a mail server",
      default: "filesystem",
    },
    ...mailboxRootFlag,
    address: {
      type: "string",
      description: "default: NAME@svc.localhost; jmap: the login identity",
      valueHint: "ADDRESS",
    },
    "principal-id": { type: "string", description: "whose it is; default: SVC-NAME", valueHint: "ID" },
    mode: {
      type: "enum",
      options: ["safe", "force", "stash"],
      description:
        "what becomes of a mailbox that has this address: keep it and refuse, remove it, set it aside",
      default: "safe",
    },
    yes: { type: "boolean", description: "where safe would refuse, remove what is there (force)" },
    ...jmapFlags,
  },
  async run(invocation) {
    const { args, io } = invocation;
    const { world, agent, words } = await openTarget(invocation);
    const next = `look at it:  ${words} mail list`;
    if (args.transport === "jmap") {
      const given = { root: args["mailbox-root"] !== undefined, mode: args.mode !== "safe", yes: args.yes };
      if (given.root || given.mode || given.yes) {
        throw new ServiceError(
          "invalid_request",
          "--mailbox-root, --mode and --yes are for the filesystem transport",
        );
      }
      const { manifest, binding } = await giveJmapMailbox(world, io, agent, {
        url: args["jmap-url"],
        loginIdentity: args["login-identity"],
        passwordFile: args["password-file"],
        address: args.address,
        principalId: args["principal-id"],
      });
      const { json, text } = describeMailbox(manifest, binding, null);
      return { json: { ...json, shared_registration: null }, text: `${text}\n${next}` };
    }
    for (const name of ["jmap-url", "login-identity", "password-file"] as const) {
      if (args[name] !== undefined) {
        throw new ServiceError("invalid_request", `--${name} is for --transport jmap`);
      }
    }
    const { manifest, binding, shared, rootDetail } = await giveMailbox(world, io, agent, {
      rootFlag: args["mailbox-root"],
      address: args.address,
      principalId: args["principal-id"],
      mode: args.yes && args.mode === "safe" ? "force" : args.mode,
    });
    const { json, text } = describeMailbox(manifest, binding, null);
    return {
      json: { ...json, mailbox_root_detail: rootDetail, shared_registration: shared },
      text: `${text}\n${next}`,
    };
  },
});
