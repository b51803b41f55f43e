import { command } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";
import { notifierText } from "./notifier-text.ts";

export default command({
  name: "status",
  description: "how the mail notifier is set up and what it last did",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier status"],
  async run(invocation) {
    const { link } = await openLiveTarget(invocation);
    const status = bodyOf(await link.client.call("readNotifier", {}));
    return { json: status, text: notifierText(status) };
  },
});
