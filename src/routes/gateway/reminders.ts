import { Elysia } from "elysia";
import { reminderEndpoints as endpoints } from "../../protocol/reminder-endpoints.ts";
import { repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import type { GatewayServices } from "./services.ts";

/** Reminders of the live gateway (contract 4.1, 4.3). */
export const reminderRoutes = ({ reminders }: Pick<GatewayServices, "reminders">) =>
  new Elysia({ name: "gateway-reminders" })
    .use(jsonBody)
    .post(endpoints.createReminders.path, ({ body }) => reminders.create(body.reminders), {
      ...takes(endpoints.createReminders),
      response: repliesOf(endpoints.createReminders),
    })
    .get(endpoints.listReminders.path, () => reminders.list(), {
      response: repliesOf(endpoints.listReminders),
    })
    .get(endpoints.readReminder.path, ({ params }) => reminders.get(params.reminder_id), {
      response: repliesOf(endpoints.readReminder),
    })
    .put(
      endpoints.updateReminder.path,
      ({ params, body: { schema_version: _version, ...definition } }) =>
        reminders.update(params.reminder_id, definition),
      {
        ...takes(endpoints.updateReminder),
        response: repliesOf(endpoints.updateReminder),
      },
    )
    .delete(endpoints.deleteReminder.path, ({ params }) => reminders.remove(params.reminder_id), {
      response: repliesOf(endpoints.deleteReminder),
    });
