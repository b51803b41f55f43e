import { expect, test } from "bun:test";
import {
  charsOf,
  createReminderSet,
  effectiveOf,
  type Reminder,
} from "../../../src/services/reminders/reminder.ts";
import { randomFrom } from "../../support/load.ts";

const sample: Omit<Reminder, "reminder_id" | "order" | "ranking" | "prompt" | "independent"> = {
  mode: "one_off",
  delivery_kind: "prompt",
  title: "t",
  send_keys: null,
  paused: false,
  created_at_utc: "",
  interval_seconds: null,
  last_started_at_utc: null,
  durable: false,
  cron: null,
  time_zone: null,
  last_request_id: null,
  executing_request_id: null,
  dueMs: 0,
};

test("the sums and the effective reminder are those of all reminders in the set, after any change", () => {
  const random = randomFrom(20_261_129);
  const below = (limit: number) => Math.floor(random() * limit);
  const set = createReminderSet();
  const model = new Map<string, Reminder>();
  let highest = -1;
  for (let step = 0; step < 2000; step++) {
    const reminder_id = `r${below(12)}`;
    if (random() < 0.4) {
      set.remove(reminder_id);
      model.delete(reminder_id);
    } else {
      const order = model.get(reminder_id)?.order ?? set.nextOrder();
      const reminder: Reminder = {
        ...sample,
        reminder_id,
        order,
        ranking: below(4),
        prompt: "x".repeat(below(20)),
        independent: random() < 0.3,
      };
      set.put(reminder);
      model.set(reminder_id, reminder);
      highest = Math.max(highest, order);
    }
    const all = [...model.values()];
    expect([step, set.size(), set.chars(), set.nextOrder(), set.effective()]).toEqual([
      step,
      all.length,
      all.reduce((sum, one) => sum + charsOf(one), 0),
      highest + 1,
      effectiveOf(all),
    ]);
  }
  set.clear();
  expect([set.size(), set.chars(), set.effective()]).toEqual([0, 0, null]);
});
