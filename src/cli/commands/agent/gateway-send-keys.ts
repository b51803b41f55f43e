import { command, UsageError } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { refuseLongSequence } from "../../reminder-flags.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "send-keys",
  description: "press keys and type text at once, whatever the agent shows; <[Enter]> is a key",
  examples: [
    'svc-mgr agents single --agent-name worker gateway send-keys --sequence "<[Down]><[Enter]>"',
    'svc-mgr agents single --agent-name worker gateway send-keys --sequence "as <[Text]>" --escape-special-keys',
  ],
  args: {
    sequence: {
      type: "string",
      required: true,
      description:
        "text, and the keys Enter Escape Tab BSpace Up Down Left Right C-c C-d C-u C-z in <[ and ]>, at most 65536 characters; no Enter is added",
      valueHint: "TEXT",
    },
    "escape-special-keys": { type: "boolean", description: "type all of it as text" },
  },
  async run(invocation) {
    const { sequence, "escape-special-keys": literal } = invocation.args;
    if (sequence.trim() === "") throw new UsageError("--sequence is empty", invocation.path);
    refuseLongSequence(sequence);
    const { link } = await openLiveTarget(invocation);
    const body = { schema_version: 1 as const, sequence, escape_special_keys: literal };
    const result = bodyOf(await link.client.call("sendKeys", { body }));
    return { json: result, text: result.detail };
  },
});
