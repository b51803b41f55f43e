import { command } from "../../command.ts";
import { readId } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { renderReminder } from "../../reminder-text.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "get",
  description: "show one reminder and what it waits for",
  examples: ["svc-mgr agents single --agent-name worker gateway reminders get greminder-0a1b2c3d4e5f"],
  args: { id: { type: "positional", description: "the reminder's id" } },
  async run(invocation) {
    const params = { reminder_id: readId(invocation.args.id, invocation.path) };
    const { link } = await openLiveTarget(invocation);
    const record = bodyOf(await link.client.call("readReminder", { params }));
    return { json: record, text: renderReminder(record) };
  },
});
