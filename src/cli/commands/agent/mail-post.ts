import { performMail } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { answerSent } from "../../mail-answer.ts";
import { contentFlags, readContent } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";

export default command({
  name: "post",
  description: "leave a note of the operator in the mailbox (filesystem mailboxes only)",
  examples: [
    'svc-mgr agents single --agent-name worker mail post --subject "priorities" --body-content "tests first"',
    "svc-mgr agents single --agent-name worker mail post --subject note --reply-policy none < note.md",
  ],
  args: {
    subject: { type: "string", required: true, description: "one line", valueHint: "TEXT" },
    "reply-policy": {
      type: "enum",
      options: ["operator_mailbox", "none"],
      description: "whether one may reply to the operator",
      default: "operator_mailbox",
    },
    ...contentFlags,
  },
  async run(invocation) {
    const { args, io } = invocation;
    const target = await openMailTarget(invocation);
    const content = await readContent(args, io, target.world.files);
    const outcome = await performMail(target, "post", {
      ...{ schema_version: 1, subject: args.subject, reply_policy: args["reply-policy"] },
      ...content,
    });
    return answerSent("posted", outcome);
  },
});
