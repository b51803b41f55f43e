import { bindingOf } from "../../../services/mail/binding.ts";
import { unregisterMailbox } from "../../../services/mail/binding-register.ts";
import { openMailRoot } from "../../../services/mail/filesystem/root.ts";
import { unregisterJmapMailbox } from "../../../services/mail/jmap/register.ts";
import { command } from "../../command.ts";
import { describeMailbox } from "../../mailbox-answer.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "unregister",
  description: "take the agent's mailbox from it; its mail is kept unless it is purged",
  examples: ["svc-mgr agents single --agent-name worker mailbox unregister"],
  args: {
    mode: {
      type: "enum",
      options: ["deactivate", "purge"],
      description: "keep what is in it for a later registration, or remove it; jmap: the stored login",
      default: "deactivate",
    },
  },
  async run(invocation) {
    const { world, agent } = await openTarget(invocation);
    const bound = bindingOf(() => agent.manifest);
    if (bound.transport === "jmap") {
      const manifest = await unregisterJmapMailbox(world, agent, bound, invocation.args.mode);
      const { json } = describeMailbox(manifest, null, null);
      return {
        json: { ...json, shared_unregistration: null },
        text: `${manifest.agent_name} has no mailbox any more; the mail of ${bound.address} stays on its server`,
      };
    }
    using roots = new DisposableStack();
    const openRoot = (path: string) => roots.adopt(openMailRoot(world, path), (root) => root.close());
    const { manifest, binding, shared } = await unregisterMailbox(
      world,
      agent,
      openRoot,
      invocation.args.mode,
    );
    const { json } = describeMailbox(manifest, null, null);
    return {
      json: { ...json, shared_unregistration: shared },
      text: `${manifest.agent_name} has no mailbox any more; ${binding.address} is ${shared?.resulting_status ?? "not its own"}`,
    };
  },
});
