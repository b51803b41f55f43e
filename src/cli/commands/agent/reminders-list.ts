import { command } from "../../command.ts";
import { bodyOf } from "../../gateway-call.ts";
import { renderReminders } from "../../reminder-text.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "list",
  description: "list the gateway's reminders; the first is effective",
  examples: ["svc-mgr agents single --agent-name worker gateway reminders list"],
  async run(invocation) {
    const { link } = await openLiveTarget(invocation);
    const list = bodyOf(await link.client.call("listReminders", {}));
    return {
      json: list,
      text: list.reminders.length === 0 ? "no reminders" : renderReminders(list.reminders),
    };
  },
});
