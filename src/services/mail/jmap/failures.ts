import { ServiceError, type ServiceErrorCode } from "../../../system/errors.ts";
import type { SetError, SetReply } from "./wire.ts";

/** What a server refuses, in the words of the port. Pure. */

/** The sender can do something about these; the rest is the server's. */
const callers: Readonly<Record<string, ServiceErrorCode>> = {
  notFound: "not_found",
  emailNotFound: "not_found",
  invalidRecipients: "invalid_request",
  noRecipients: "invalid_request",
  tooManyRecipients: "invalid_request",
  tooLarge: "invalid_request",
  invalidEmail: "invalid_request",
  forbiddenMailFrom: "invalid_request",
  forbiddenFrom: "invalid_request",
  forbiddenToSend: "invalid_request",
};

/** An error of one thing that was to be made or changed. `what`: begins the sentence. */
export function toSetFailure(what: string, error: SetError): ServiceError {
  return new ServiceError(callers[error.type] ?? "transport_failed", `${what}: ${told(error)}`, {
    data: { jmap_error: error.type },
  });
}

/** An error of a whole method. */
export function toMethodFailure(method: string, error: SetError): ServiceError {
  return new ServiceError("transport_failed", `the JMAP server failed at ${method}: ${told(error)}`, {
    data: { jmap_error: error.type },
  });
}

/** The first thing that was not done, or null. */
export function firstRefusal(reply: SetReply): SetError | null {
  for (const refused of [reply.notCreated, reply.notUpdated, reply.notDestroyed]) {
    const [first] = Object.values(refused ?? {});
    if (first) return first;
  }
  return null;
}

/** Another's text: on one line, cut. */
function told({ type, description }: SetError): string {
  const text = (description ?? "").replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " ").trim();
  const cut = text.length > 200 ? `${text.slice(0, 199)}…` : text;
  return cut === "" ? type : `${type} (${cut})`;
}
