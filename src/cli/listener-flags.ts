import type { DesiredConfig } from "../protocol/files.ts";
import { wishedByCaller } from "../services/sessions/live-variables.ts";
import { ServiceError } from "../system/errors.ts";
import { type CliIo, type Flags, UsageError } from "./command.ts";

/** Flags of every command that starts a listener. */
export const listenerFlags = {
  host: {
    type: "string",
    valueHint: "ADDRESS",
    description: "address to listen on (default 127.0.0.1); anything but loopback needs SVC_GATEWAY_TOKEN",
  },
  port: { type: "string", valueHint: "PORT", description: "port to listen on; 0 takes a free one (default)" },
  "allow-unauthenticated": {
    type: "boolean",
    description: "serve an address other than loopback without a token: whoever reaches it drives the agent",
  },
} satisfies Flags;

/** The same of the server over all agents. */
export const coordinatorListenerFlags = {
  host: {
    type: "string",
    valueHint: "ADDRESS",
    description: "address to listen on (default 127.0.0.1); anything but loopback needs SVC_COORD_TOKEN",
  },
  port: {
    type: "string",
    valueHint: "PORT",
    description: "port to listen on (default 9891); 0 takes a free one",
  },
  "allow-unauthenticated": {
    type: "boolean",
    description:
      "serve an address other than loopback without a token: whoever reaches it drives every agent",
  },
} satisfies Flags;

export interface ListenerWish {
  host?: string | undefined;
  port?: number | undefined;
}

export interface ListenerChoice {
  host: string;
  port: number;
  /** Callers must show it; null lets everyone in who reaches the address. */
  token: string | null;
  /** Something the operator must be told at start. */
  warning: string | null;
}

/**
 * What whoever calls us asks for: flags, then SVC_AGENT_GATEWAY_HOST and _PORT. Throws UsageError for a port that is
 * none. Pure.
 */
export function readListenerWish(
  flags: { host: string | undefined; port: string | undefined },
  env: CliIo["env"],
): ListenerWish {
  const caller = wishedByCaller(env);
  return {
    host: flags.host ?? caller.host,
    port: toPort("--port", flags.port) ?? toPort("SVC_AGENT_GATEWAY_PORT", caller.port),
  };
}

export function toPort(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`${name} takes a number from 0 to 65535, not "${text}"`);
}

/** Only this machine reaches a listener on `host`. Pure. */
export function isLoopback(host: string): boolean {
  return ["127.0.0.1", "localhost", "::1"].includes(host);
}

/**
 * Where to listen and who may call: what the caller asks for, then what the session's desired-config.json keeps, then
 * a free port of 127.0.0.1. Throws when an open address would be left without a token (ruling 12). Pure. Source:
 * spec/gateway.md "Process, attach, detach".
 */
export function chooseListener(
  wish: ListenerWish,
  desired: Pick<DesiredConfig, "desired_host" | "desired_port"> | null,
  access: { token: string | undefined; allowUnauthenticated: boolean },
  server = { tokenVariable: "SVC_GATEWAY_TOKEN", drives: "the agent" },
): ListenerChoice {
  const host = wish.host ?? desired?.desired_host ?? "127.0.0.1";
  const port = wish.port ?? desired?.desired_port ?? 0;
  const choice = { host, port, token: access.token || null, warning: null };
  if (isLoopback(host) || choice.token !== null) return choice;
  if (!access.allowUnauthenticated) {
    throw new ServiceError(
      "precondition_failed",
      `refusing to listen on ${host} without a token: set ${server.tokenVariable}, or say --allow-unauthenticated`,
    );
  }
  return {
    ...choice,
    warning: `listening on ${host} WITHOUT authentication: whoever reaches it drives ${server.drives}`,
  };
}
