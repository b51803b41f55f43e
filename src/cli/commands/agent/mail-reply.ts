import { performOrAsk } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { answerSent } from "../../mail-answer.ts";
import { contentFlags, readContent, refFlag } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";

export default command({
  name: "reply",
  description: "reply to a message, which is read and answered then",
  examples: [
    'svc-mgr agents single --agent-name worker mail reply --message-ref REF --body-content "done"',
    "svc-mgr agents self mail reply --message-ref REF --body-file answer.md",
  ],
  args: { ...refFlag, ...contentFlags },
  async run(invocation) {
    const { args, io } = invocation;
    const target = await openMailTarget(invocation);
    const content = await readContent(args, io, target.world.files);
    const outcome = await performOrAsk(
      target,
      "reply",
      {
        ...{ schema_version: 1, message_ref: args["message-ref"] },
        ...content,
      },
      invocation.io,
    );
    return answerSent("replied", outcome);
  },
});
