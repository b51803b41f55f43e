import { ServiceError } from "../../system/errors.ts";
import type { Diagnostic } from "../diagnostics/diagnostic-entry.ts";
import type { MailFacade } from "./facade.ts";

/**
 * The same facade, with diagnostics of what begins, ends well and fails: the operation, references and counts, never a
 * word of a message. Source: spec/gateway.md "Diagnostics".
 */
export function observeMail(facade: MailFacade, record: (diagnostic: Diagnostic) => void): MailFacade {
  function observed<R, T>(operation: keyof MailFacade, act: (request: R) => Promise<T>) {
    return async (request: R): Promise<T> => {
      const fields = { operation, ...facts(request) };
      record({ level: "info", event: "gateway.mailbox_operation_started", fields });
      try {
        const result = await act(request);
        record({
          level: "info",
          event: "gateway.mailbox_operation_completed",
          fields: { ...fields, ...outcome(result) },
        });
        return result;
      } catch (error) {
        record(toFailure(operation, fields, error));
        throw error;
      }
    };
  }

  const status = observed("status", () => facade.status());
  return {
    status: () => status(undefined),
    list: observed("list", facade.list),
    peek: observed("peek", facade.peek),
    read: observed("read", facade.read),
    send: observed("send", facade.send),
    post: observed("post", facade.post),
    reply: observed("reply", facade.reply),
    mark: observed("mark", facade.mark),
    move: observed("move", facade.move),
    archive: observed("archive", facade.archive),
  };
}

function toFailure(operation: string, fields: Record<string, unknown>, error: unknown): Diagnostic {
  const reason = error instanceof ServiceError ? error.reason : "internal";
  const carrierFailed = reason === "transport_failed" || reason === "internal";
  return {
    level: carrierFailed ? "error" : "warning",
    event: "gateway.mailbox_operation_failed",
    dedupKey: `gateway.mailbox_operation_failed ${operation} ${reason}`,
    fields: { ...fields, error_reason: reason },
  };
}

const counted = ["to", "cc", "attachments", "message_refs"];
const shown = ["message_ref", "message_refs", "box", "destination_box", "limit", "reply_policy"];
const noticed = ["notify_block", "notify_auth", "query", "cursor"];

/** What of a request may be reported. Pure. */
function facts(request: unknown): Record<string, unknown> {
  const reported: Record<string, unknown> = {};
  for (const [name, value] of Object.entries((request ?? {}) as Record<string, unknown>)) {
    if (value === null || value === undefined) continue;
    if (shown.includes(name)) reported[name] = value;
    if (counted.includes(name) && Array.isArray(value)) reported[`${name}_count`] = value.length;
    if (noticed.includes(name)) reported[`${name}_present`] = true;
  }
  return reported;
}

/** The same of a result. Pure. */
function outcome(result: unknown): Record<string, unknown> {
  const { message_count: count, message } = result as {
    message_count?: number;
    message?: { message_ref: string };
  };
  return {
    ...(count === undefined ? {} : { message_count: count }),
    ...(message === undefined ? {} : { result_message_ref: message.message_ref }),
  };
}
