import type { Endpoint } from "../protocol/endpoint.ts";
import type { Reply } from "../services/fleet/gateway-client.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";

/** The body of a call that went well; any other outcome ends the command with what the gateway said. */
export function bodyOf<E extends Endpoint>(reply: Reply<E>): Extract<Reply<E>, { kind: "ok" }>["body"] {
  switch (reply.kind) {
    case "ok":
      return reply.body;
    case "refused":
      throw new CommandFailure(exitCodes.refused, reply.detail, reply.body);
    case "unreachable":
      throw new CommandFailure(exitCodes.unreachable, reply.detail, {
        error: "unreachable",
        detail: reply.detail,
      });
  }
}

/**
 * The same for what is accepted at most once: an answer that is missing does not mean that it did not arrive. `look`: the
 * command that tells whether it did.
 */
export function acceptanceOf<E extends Endpoint>(
  reply: Reply<E>,
  look: string,
): Extract<Reply<E>, { kind: "ok" }>["body"] {
  if (reply.kind !== "unreachable" || !reply.sent) return bodyOf(reply);
  const detail = `whether it was accepted is not known: ${reply.detail}. See: ${look}`;
  throw new CommandFailure(exitCodes.unreachable, detail, { error: "unknown", detail });
}
