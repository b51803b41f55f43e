import { performMail } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { boxFlag, refFlag } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";
import { renderMail } from "../../mail-text.ts";

export default command({
  name: "read",
  description: "show one message and mark it read",
  examples: ["svc-mgr agents single --agent-name worker mail read --message-ref REF"],
  args: { ...refFlag, ...boxFlag },
  async run(invocation) {
    const { args } = invocation;
    const target = await openMailTarget(invocation);
    const { done } = await performMail(target, "read", {
      schema_version: 1,
      message_ref: args["message-ref"],
      ...(args.box === undefined ? {} : { box: args.box }),
    });
    return { json: done, text: renderMail(done.message) };
  },
});
