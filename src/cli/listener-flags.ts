import { ServiceError } from "../system/errors.ts";
import { type Flags, UsageError } from "./command.ts";

/** Flags of every command that listens. */
export const listenerFlags = {
  host: {
    type: "string",
    default: "127.0.0.1",
    valueHint: "ADDRESS",
    description: "address to listen on; anything but loopback needs SVC_GATEWAY_TOKEN",
  },
  port: {
    type: "string",
    default: "0",
    valueHint: "PORT",
    description: "port to listen on; 0 takes a free one",
  },
  "allow-unauthenticated": {
    type: "boolean",
    description: "serve an address other than loopback without a token: whoever reaches it drives the agent",
  },
} satisfies Flags;

export interface ListenerChoice {
  host: string;
  port: number;
  /** Callers must show it; null lets everyone in who reaches the address. */
  token: string | null;
  /** Something the operator must be told at start. */
  warning: string | null;
}

/** Where to listen and who may call (ruling 12). Throws when an open address would be left without a token. */
export function chooseListener(
  flags: { host: string; port: string; "allow-unauthenticated": boolean },
  token: string | undefined,
): ListenerChoice {
  const port = Number(flags.port);
  if (!/^\d+$/.test(flags.port) || port > 65_535) {
    throw new UsageError(`--port takes a number from 0 to 65535, not "${flags.port}"`);
  }
  const loopback = ["127.0.0.1", "localhost", "::1"].includes(flags.host);
  const choice = { host: flags.host, port, token: token || null, warning: null };
  if (loopback || choice.token !== null) return choice;
  if (!flags["allow-unauthenticated"]) {
    throw new ServiceError(
      "precondition_failed",
      `refusing to listen on ${flags.host} without a token: set SVC_GATEWAY_TOKEN, or say --allow-unauthenticated`,
    );
  }
  return {
    ...choice,
    warning: `listening on ${flags.host} WITHOUT authentication: whoever reaches it drives the agent`,
  };
}
