import { inMailbox } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { mailOf } from "../../mail-target.ts";
import { describeMailbox } from "../../mailbox-answer.ts";
import { openTarget } from "../../target.ts";

export default command({
  name: "status",
  description: "show whether the agent has a mailbox and whether it can be used",
  examples: ["svc-mgr agents single --agent-name worker mailbox status"],
  async run(invocation) {
    const target = mailOf(await openTarget(invocation), invocation.io);
    const { manifest } = target.agent;
    const binding = manifest.launch_plan.mailbox ?? null;
    const obstacle = binding && (await inMailbox(target, async (bound) => bound.supported().error));
    const { json, text } = describeMailbox(manifest, binding, obstacle);
    const next = binding ? "" : `\ngive it one:  ${target.words} mailbox register`;
    return { json, text: `${text}${next}` };
  },
});
