import { command, UsageError } from "../../command.ts";
import { readId } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { planReminder, reminderFlags } from "../../reminder-flags.ts";
import { renderReminder } from "../../reminder-text.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "set",
  description: "change a reminder; what no flag names stays, the due time included",
  examples: [
    "svc-mgr agents single --agent-name worker gateway reminders set greminder-0a1b2c3d4e5f --paused yes",
    "svc-mgr agents single --agent-name worker gateway reminders set greminder-0a1b2c3d4e5f --before-all --start-after-seconds 60",
  ],
  args: {
    id: { type: "positional", description: "the reminder's id" },
    title: { type: "string", description: "what it is for, for people", valueHint: "TEXT" },
    ...reminderFlags,
  },
  async run(invocation) {
    const { id: givenId, ...given } = invocation.args;
    const id = readId(givenId, invocation.path);
    if (Object.values(given).every((value) => value === undefined || value === false)) {
      throw new UsageError("nothing is to be changed", invocation.path);
    }
    const { link } = await openLiveTarget(invocation);
    const params = { reminder_id: id };
    const current = bodyOf(await link.client.call("readReminder", { params }));
    const { reminders } = bodyOf(await link.client.call("listReminders", {}));
    const others = reminders.filter((one) => one.reminder_id !== id);
    const definition = planReminder({ given, current, others });
    const body = { schema_version: 1 as const, ...definition };
    const record = bodyOf(await link.client.call("updateReminder", { params, body }));
    return { json: record, text: renderReminder(record) };
  },
});
