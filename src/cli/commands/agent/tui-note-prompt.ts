import { command } from "../../command.ts";
import { readPrompt } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";
import { renderTerminal } from "../../terminal-text.ts";

export default command({
  name: "note-prompt",
  description: "tell the tracker of a prompt that was typed by other means; nothing is typed",
  examples: ['svc-mgr agents single --agent-name worker gateway tui note-prompt --prompt "hello"'],
  args: {
    prompt: { type: "string", description: "the text; without it standard input is read", valueHint: "TEXT" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const prompt = await readPrompt(args.prompt, io);
    const { link } = await openLiveTarget(invocation);
    const state = bodyOf(await link.client.call("notePrompt", { body: { schema_version: 1, prompt } }));
    return { json: state, text: renderTerminal(state) };
  },
});
