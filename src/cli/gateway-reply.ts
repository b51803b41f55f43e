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
