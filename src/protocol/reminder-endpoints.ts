import { endpoint } from "./endpoint.ts";
import {
  ReminderCreateRequest,
  ReminderDeleted,
  ReminderList,
  ReminderRecord,
  ReminderUpdateRequest,
} from "./reminders.ts";
import { ErrorBody, ValidationErrorBody } from "./wire.ts";

const path = "/v1/reminders/:reminder_id";

/** The routes of reminders (contract 4.1). */
export const reminderEndpoints = {
  createReminders: endpoint({
    method: "POST",
    path: "/v1/reminders",
    summary: "Create reminders",
    description:
      "Answers with the created ones, in their order. They live in the gateway's memory and make no queue rows: the effective one (smallest ranking, then oldest) is delivered when it is due, the queue is empty and, for a prompt, the agent can begin a turn. A gateway holds at most 1000; 409 then.",
    body: ReminderCreateRequest,
    status: 200,
    reply: ReminderList,
    errors: { 409: ErrorBody, 422: ValidationErrorBody, 503: ErrorBody },
  }),
  listReminders: endpoint({
    method: "GET",
    path: "/v1/reminders",
    summary: "The reminders of the live gateway",
    description: "In the order in which they become effective.",
    status: 200,
    reply: ReminderList,
  }),
  readReminder: endpoint({
    method: "GET",
    path,
    summary: "One reminder",
    status: 200,
    reply: ReminderRecord,
    errors: { 404: ErrorBody },
  }),
  updateReminder: endpoint({
    method: "PUT",
    path,
    summary: "Redefine a reminder",
    description:
      "The whole definition, not a part of it; the due time counts from this request. Refused with 409 while the reminder is being delivered.",
    body: ReminderUpdateRequest,
    status: 200,
    reply: ReminderRecord,
    errors: { 404: ErrorBody, 409: ErrorBody, 422: ValidationErrorBody },
  }),
  deleteReminder: endpoint({
    method: "DELETE",
    path,
    summary: "Delete a reminder",
    description: "A delivery under way goes on to its end; nothing follows it.",
    status: 200,
    reply: ReminderDeleted,
    errors: { 404: ErrorBody },
  }),
} as const;
