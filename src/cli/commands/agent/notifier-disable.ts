import { command } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";
import { notifierText } from "./notifier-text.ts";

export default command({
  name: "disable",
  description: "wake the agent no more when mail arrives; its settings are kept",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier disable"],
  async run(invocation) {
    const { link } = await openLiveTarget(invocation);
    const status = bodyOf(await link.client.call("disableNotifier", {}));
    return { json: status, text: notifierText(status) };
  },
});
