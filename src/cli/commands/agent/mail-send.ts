import { performOrAsk } from "../../agent-mail.ts";
import { command, UsageError } from "../../command.ts";
import { answerSent } from "../../mail-answer.ts";
import { contentFlags, readContent } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";

export default command({
  name: "send",
  description: "send mail from the mailbox",
  examples: [
    'svc-mgr agents single --agent-name worker mail send --to other@svc.localhost --subject "hello" --body-content "text"',
    "svc-mgr agents self mail send --to other@svc.localhost --subject report --attach report.pdf < report.md",
  ],
  args: {
    to: {
      type: "string",
      multiple: true,
      description: "full address",
      valueHint: "ADDRESS",
      offers: "addresses",
    },
    cc: {
      type: "string",
      multiple: true,
      description: "the same, for a copy",
      valueHint: "ADDRESS",
      offers: "addresses",
    },
    subject: { type: "string", required: true, description: "one line", valueHint: "TEXT" },
    ...contentFlags,
  },
  async run(invocation) {
    const { args, io } = invocation;
    if (args.to.length === 0) throw new UsageError("give --to, once for each recipient");
    const target = await openMailTarget(invocation);
    const content = await readContent(args, io, target.world.files);
    const outcome = await performOrAsk(
      target,
      "send",
      {
        ...{ schema_version: 1, to: args.to, cc: args.cc, subject: args.subject },
        ...content,
      },
      invocation.io,
    );
    return answerSent("sent", outcome);
  },
});
