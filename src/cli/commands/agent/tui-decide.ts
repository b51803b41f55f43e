import type { DecisionAnswer } from "../../../protocol/terminal.ts";
import { command, UsageError } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";

/** The gateway looks at the screen after each key that moves the mark. */
const timeoutMs = 30_000;

export default command({
  name: "decide",
  description:
    "answer what the agent asks a person; the question is checked on the screen before a key is pressed",
  examples: [
    "svc-mgr agents single --agent-name worker gateway tui decide --option 1",
    'svc-mgr agents single --agent-name worker gateway tui decide --option "yes" --question "Go on with this?"',
  ],
  args: {
    option: {
      type: "string",
      required: true,
      description: "the option's number as shown, or its text without regard to case",
      valueHint: "INDEX_OR_TEXT",
    },
    question: {
      type: "string",
      description: "the question you read; when another is asked by then, nothing is pressed",
      valueHint: "TEXT",
    },
  },
  async run(invocation) {
    const { option, question } = invocation.args;
    if (option.trim() === "") throw new UsageError("--option is empty", invocation.path);
    const body: DecisionAnswer = {
      schema_version: 1,
      option: /^[1-9]\d*$/.test(option.trim()) ? Number(option) : option,
      ...(question === undefined ? {} : { question }),
    };
    const { link } = await openLiveTarget(invocation);
    const result = bodyOf(await link.client.call("decide", { body, timeoutMs }));
    return { json: result, text: `answered ${result.option.index}. ${result.option.text}` };
  },
});
