/** Examples of mail bodies, by component. Each is an instance of its schema. */

const identity = {
  schema_version: 1,
  transport: "filesystem",
  principal_id: "SVC-worker",
  address: "worker@svc.localhost",
};
const person = (address: string) => ({ address, display_name: null, principal_id: null });
const message = {
  message_ref: "filesystem:20261121-044700Z-9f86d081",
  thread_ref: "filesystem:20261121-044700Z-9f86d081",
  created_at_utc: "2026-11-21T04:47:00.000+00:00",
  subject: "The build is red",
  read: false,
  answered: false,
  archived: false,
  box: "inbox",
  unread: true,
  body_preview: "Two tests fail since noon.",
  body_text: null,
  sender: person("lead@svc.localhost"),
  to: [person("worker@svc.localhost")],
  cc: [],
  reply_to: [],
  attachments: [],
  notify_block: { text: "the build is red", placement: "append" },
  notify_auth: null,
};
const refs = { schema_version: 1, message_refs: [message.message_ref] };
const changed = { ...message, read: true, unread: false };
const body = "Two tests fail since noon. Please look.";

export const mailExamples: Readonly<Record<string, readonly unknown[]>> = {
  MailArchiveRequest: [refs],
  MailLifecycleResult: [{ ...identity, operation: "mark", message_count: 1, messages: [changed] }],
  MailList: [
    {
      ...identity,
      box: "inbox",
      message_count: 1,
      open_count: 1,
      unread_count: 1,
      messages: [message],
      next_cursor: null,
    },
  ],
  MailListRequest: [{ schema_version: 1, box: "inbox", read_state: "unread", limit: 20 }],
  MailMarkRequest: [{ ...refs, read: true }],
  MailMoveRequest: [{ ...refs, destination_box: "later" }],
  MailPostRequest: [{ schema_version: 1, subject: "Stop for today", body_content: body }],
  MailRefRequest: [{ schema_version: 1, message_ref: message.message_ref }],
  MailReplyRequest: [
    { schema_version: 1, message_ref: message.message_ref, body_content: "It is green again." },
  ],
  MailResult: [{ ...identity, operation: "read", message: { ...changed, body_text: body } }],
  MailSendRequest: [
    {
      schema_version: 1,
      to: ["worker@svc.localhost"],
      subject: "The build is red",
      body_content: body,
      notify_block: { text: "the build is red" },
    },
  ],
  MailStatus: [{ ...identity, bindings_version: "2026-11-21T04:40:00.000+00:00" }],
};
