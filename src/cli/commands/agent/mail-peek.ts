import { performMail } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { boxFlag, refFlag } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";
import { renderMail } from "../../mail-text.ts";

export default command({
  name: "peek",
  description: "show one message and leave it unread",
  examples: ["svc-mgr agents single --agent-name worker mail peek --message-ref REF"],
  args: { ...refFlag, ...boxFlag },
  async run(invocation) {
    const { args } = invocation;
    const target = await openMailTarget(invocation);
    const { done } = await performMail(target, "peek", {
      schema_version: 1,
      message_ref: args["message-ref"],
      ...(args.box === undefined ? {} : { box: args.box }),
    });
    return { json: done, text: renderMail(done.message) };
  },
});
