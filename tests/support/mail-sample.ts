import type { Mail } from "../../src/services/mail/mailbox.ts";

/** A message in an inbox, unread, with `change` over it. */
export function mailSample(change: Partial<Mail> = {}): Mail {
  return {
    message_ref: "filesystem:m1",
    thread_ref: "filesystem:t1",
    created_at_utc: "2026-01-01T00:00:00.000+00:00",
    subject: "A subject",
    read: false,
    answered: false,
    archived: false,
    box: "inbox",
    unread: true,
    body_preview: "",
    body_text: null,
    sender: { address: "sender@svc.localhost", display_name: null, principal_id: "SVC-sender" },
    to: [],
    cc: [],
    reply_to: [],
    attachments: [],
    notify_block: null,
    notify_auth: null,
    ...change,
  };
}
