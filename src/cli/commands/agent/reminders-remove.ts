import { command } from "../../command.ts";
import { readId } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "remove",
  description: "delete a reminder; a delivery under way goes on to its end",
  examples: ["svc-mgr agents single --agent-name worker gateway reminders remove greminder-0a1b2c3d4e5f"],
  args: { id: { type: "positional", description: "the reminder's id" } },
  async run(invocation) {
    const params = { reminder_id: readId(invocation.args.id, invocation.path) };
    const { link } = await openLiveTarget(invocation);
    const deleted = bodyOf(await link.client.call("deleteReminder", { params }));
    return { json: deleted, text: `${deleted.reminder_id}: ${deleted.detail}` };
  },
});
