import { giveMailbox, mailboxRootFlag } from "../../agent-mailbox.ts";
import { command } from "../../command.ts";
import { describeMailbox } from "../../mailbox-answer.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "register",
  description: "give the agent a mailbox; it need not be launched again",
  examples: [
    "svc-mgr agents single --agent-name worker mailbox register",
    "svc-mgr agents single --agent-name worker mailbox register --address w@svc.localhost --mode stash",
  ],
  args: {
    ...mailboxRootFlag,
    address: { type: "string", description: "default: NAME@svc.localhost", valueHint: "ADDRESS" },
    "principal-id": { type: "string", description: "whose it is; default: SVC-NAME", valueHint: "ID" },
    mode: {
      type: "enum",
      options: ["safe", "force", "stash"],
      description:
        "what becomes of a mailbox that has this address: keep it and refuse, remove it, set it aside",
      default: "safe",
    },
    yes: { type: "boolean", description: "where safe would refuse, remove what is there (force)" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const { world, agent, words } = await openTarget(invocation);
    const { manifest, binding, shared, rootDetail } = await giveMailbox(world, io, agent, {
      rootFlag: args["mailbox-root"],
      address: args.address,
      principalId: args["principal-id"],
      mode: args.yes && args.mode === "safe" ? "force" : args.mode,
    });
    const { json, text } = describeMailbox(manifest, binding, null);
    return {
      json: { ...json, mailbox_root_detail: rootDetail, shared_registration: shared },
      text: `${text}\nlook at it:  ${words} mail list`,
    };
  },
});
