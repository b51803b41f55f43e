import { performMail } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { answerChanged } from "../../mail-answer.ts";
import { readRefs, refsFlag } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";

export default command({
  name: "archive",
  description: "archive messages whose work is done",
  examples: ["svc-mgr agents single --agent-name worker mail archive --message-ref REF"],
  args: refsFlag,
  async run(invocation) {
    const target = await openMailTarget(invocation);
    const outcome = await performMail(target, "archive", {
      schema_version: 1,
      message_refs: readRefs(invocation.args["message-ref"]),
    });
    return answerChanged("archived", outcome);
  },
});
