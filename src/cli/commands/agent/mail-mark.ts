import { performOrAsk } from "../../agent-mail.ts";
import { command, UsageError } from "../../command.ts";
import { answerChanged } from "../../mail-answer.ts";
import { choice, readRefs, refsFlag } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";

export default command({
  name: "mark",
  description: "set or clear the flags of messages",
  examples: ["svc-mgr agents single --agent-name worker mail mark --message-ref REF --read --answered"],
  args: {
    ...refsFlag,
    read: { type: "boolean", description: "it was read" },
    unread: { type: "boolean", description: "it was not" },
    answered: { type: "boolean", description: "it was answered" },
    unanswered: { type: "boolean", description: "it was not" },
    archived: { type: "boolean", description: "move it to the box archive" },
    unarchived: { type: "boolean", description: "move it back to the inbox" },
  },
  async run(invocation) {
    const { args } = invocation;
    const flags = {
      read: choice(args.read, args.unread, ["read", "unread"]),
      answered: choice(args.answered, args.unanswered, ["answered", "unanswered"]),
      archived: choice(args.archived, args.unarchived, ["archived", "unarchived"]),
    };
    const given = Object.entries(flags).filter(([, value]) => value !== undefined);
    if (given.length === 0) throw new UsageError("say what to mark: --read, --unread, --answered, ...");
    const target = await openMailTarget(invocation);
    const outcome = await performOrAsk(
      target,
      "mark",
      {
        schema_version: 1,
        message_refs: readRefs(args["message-ref"]),
        ...(Object.fromEntries(given) as Partial<Record<keyof typeof flags, boolean>>),
      },
      invocation.io,
    );
    return answerChanged("marked", outcome);
  },
});
