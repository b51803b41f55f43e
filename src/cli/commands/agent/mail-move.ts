import { performMail } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { answerChanged } from "../../mail-answer.ts";
import { readRefs, refsFlag } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";

export default command({
  name: "move",
  description: "move messages to a box, which is made when it is not there",
  examples: ["svc-mgr agents single --agent-name worker mail move --message-ref REF --destination-box later"],
  args: {
    ...refsFlag,
    "destination-box": {
      type: "string",
      required: true,
      description: "inbox, archive or any name",
      valueHint: "BOX",
    },
  },
  async run(invocation) {
    const { args } = invocation;
    const target = await openMailTarget(invocation);
    const outcome = await performMail(target, "move", {
      schema_version: 1,
      message_refs: readRefs(args["message-ref"]),
      destination_box: args["destination-box"],
    });
    return answerChanged("moved", outcome);
  },
});
