import { command } from "../../command.ts";
import { describeMailbox } from "../../mailbox-answer.ts";
import { mailboxOpeners } from "../../mailbox-openers.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "status",
  description: "show whether the agent has a mailbox and whether it can be used",
  examples: ["svc-mgr agents single --agent-name worker mailbox status"],
  async run(invocation) {
    const { world, agent, words } = await openTarget(invocation);
    const { manifest } = agent;
    const binding = manifest.launch_plan.mailbox ?? null;
    const opener = binding && mailboxOpeners(world)[binding.transport];
    const unknown = binding && `no mailbox of the transport "${binding.transport}" can be opened here`;
    const obstacle = opener ? opener.obstacle(binding) : unknown;
    opener?.close();
    const { json, text } = describeMailbox(manifest, binding, obstacle);
    return binding ? { json, text } : { json, text: `${text}\ngive it one:  ${words} mailbox register` };
  },
});
