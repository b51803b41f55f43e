import { command } from "../../command.ts";
import { readPrompt } from "../../flag-values.ts";
import { bodyOf } from "../../gateway-call.ts";
import { planReminder, reminderFlags } from "../../reminder-flags.ts";
import { renderReminder } from "../../reminder-text.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "create",
  description: "have the gateway submit a prompt or press keys later, once or again and again",
  examples: [
    'svc-mgr agents single --agent-name worker gateway reminders create --title "look again" --prompt "Is the build done?" --start-after-seconds 600',
    'svc-mgr agents self gateway reminders create --title tidy --sequence "/compact" --deliver-at-utc 2030-01-01T06:00:00Z --interval-seconds 86400 --after-all',
  ],
  args: {
    title: { type: "string", required: true, description: "what it is for, for people", valueHint: "TEXT" },
    ...reminderFlags,
  },
  async run(invocation) {
    const { args, io } = invocation;
    const prompt = args.sequence === undefined ? await readPrompt(args.prompt, io) : args.prompt;
    const given = { ...args, prompt };
    // A command line that cannot work is told before anything is asked for.
    planReminder({ given, current: null, others: [] });
    const { link } = await openLiveTarget(invocation);
    const { reminders: others } = bodyOf(await link.client.call("listReminders", {}));
    const definition = planReminder({ given, current: null, others });
    const body = { schema_version: 1 as const, reminders: [definition] };
    const created = bodyOf(await link.client.call("createReminders", { body }));
    return { json: created, text: created.reminders.map(renderReminder).join("\n\n") };
  },
});
