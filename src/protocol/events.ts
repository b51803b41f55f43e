import { type Static, Type } from "@sinclair/typebox";
import { Timestamp } from "./wire.ts";

/**
 * One line of events.jsonl: flat, `kind` first-class, `seq` and `at_utc` on each (contract 6; spec/gateway.md 6).
 * Readers ignore keys they do not know; a line never holds a whole prompt or a mail body.
 */
export const GatewayEvent = Type.Object(
  {
    seq: Type.Integer({
      minimum: 1,
      description:
        "position in the history of this session: grows over restarts and rotation, may leave gaps",
    }),
    kind: Type.String(),
    at_utc: Timestamp,
  },
  { additionalProperties: Type.Unknown(), description: "one event of the gateway's log" },
);
export type GatewayEvent = Static<typeof GatewayEvent>;

/** How many may follow the events of one server at once; what is over that is answered 503. */
export const mostFollowers = 64;
