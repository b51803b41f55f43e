import { resolve } from "node:path";
import type { DesiredConfig } from "../../protocol/files.ts";
import { TrackingTimings } from "../../protocol/terminal.ts";
import { wishedByCaller } from "../../services/sessions/announcement.ts";
import { noEndpoint, toTracesUrl } from "../../services/sessions/otlp-endpoint.ts";
import { defaultRulesFile } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { type CliIo, type Flag, type Flags, UsageError } from "../command-line/command.ts";
import { fieldFlags } from "../command-line/field-flags.ts";
import { warn } from "../command-line/narrate.ts";

export const originFlag = {
  "allow-origin": {
    type: "string",
    multiple: true,
    valueHint: "ORIGIN",
    description: "let web pages of this origin call, such as http://localhost:3000; others are refused",
  },
} satisfies Flags;

export const attachmentRootFlag = {
  "attachment-root": {
    type: "string",
    multiple: true,
    valueHint: "FOLDER",
    description:
      "let mail take attachments from this folder too, besides the agent's working directory; kept",
  },
} satisfies Flags;

export const otlpFlag = {
  "otlp-endpoint": {
    type: "string",
    valueHint: "URL",
    description:
      "send traces of requests to the OpenTelemetry collector at this address, such as http://localhost:4318; none sends none; kept",
  },
} satisfies Flags;

/** The wish for `--otlp-endpoint`; undefined keeps what is kept. UsageError for what is no address. */
export function toOtlpEndpoint(text: string | undefined): string | undefined {
  if (text === undefined || text === noEndpoint) return text;
  try {
    toTracesUrl(text);
    return text;
  } catch (error) {
    throw new UsageError(`--otlp-endpoint: ${messageOf(error)}`);
  }
}

/**
 * A warning where a gateway of this session cannot export the traces that the session or this environment
 * asks for.
 */
export async function warnOfTraces(io: CliIo, files: Files, sessionRoot: string): Promise<void> {
  const { decideOtlp } = await import("../../services/sessions/otlp-settings.ts");
  try {
    decideOtlp(openSessionFolder(files, sessionRoot).readDesiredConfig().desired_otlp_endpoint, io.env);
  } catch (error) {
    await warn(io, `no traces are exported: ${messageOf(error)}`);
  }
}

/** Absolute; undefined for none, which keeps those of before. UsageError for what is no folder. */
export function toAttachmentRoots(
  folders: readonly string[],
  { cwd, files }: { cwd: string; files: Pick<Files, "stat"> },
): string[] | undefined {
  if (folders.length === 0) return undefined;
  return folders.map((folder) => {
    const path = resolve(cwd, folder);
    if (files.stat(path)?.directory) return path;
    throw new UsageError(`--attachment-root: there is no folder ${path}`);
  });
}

export const rulesFlag = {
  rules: {
    type: "string",
    valueHint: "FILE",
    description: "rules of deliveries to the outside; default: ~/.config/svc/deliveries.yaml",
  },
} satisfies Flags;

/** The rule file. UsageError for a file that a person named and that is not there. */
export function toRulesFile(
  given: string | undefined,
  { io, files }: { io: Pick<CliIo, "cwd" | "env" | "home">; files: Pick<Files, "exists"> },
): string {
  if (given === undefined) return defaultRulesFile(io.env, io.home);
  const path = resolve(io.cwd, given);
  if (files.exists(path)) return path;
  throw new UsageError(`--rules: there is no file ${path}`);
}

const noTokenFlag = {
  "no-token": {
    type: "boolean",
    description:
      "ask for no token, although one was asked for before or this system cannot distinguish users",
  },
} satisfies Flags;

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
    description:
      "serve an address other than loopback without a token: every caller that reaches it drives the agent",
  },
  ...noTokenFlag,
  ...originFlag,
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
      "serve an address other than loopback without a token: every caller that reaches it drives every agent",
  },
  token: {
    type: "boolean",
    description: "make a token, which our own programs find, and ask every caller for it from now on",
  },
  ...noTokenFlag,
  ...originFlag,
} satisfies Flags;

interface ListenerWish {
  host?: string | undefined;
  port?: number | undefined;
}

interface ListenerChoice {
  host: string;
  port: number;
  /** Callers must show it; null lets everyone in who reaches the address. */
  token: string | null;
  /** A token is made where none was given. */
  makesToken: boolean;
  /** Neither a remembered nor a new token is wanted. */
  noToken: boolean;
  /** Web pages that may call besides those that we serve. */
  allowedOrigins: string[];
  /** A warning for the operator at start. */
  warning: string | null;
}

/**
 * What our caller asks for: flags, then SVC_AGENT_GATEWAY_HOST and _PORT. Throws UsageError for a port that
 * is none. Pure.
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

/**
 * Origins as browsers write them, each once, in the order given. Throws UsageError for what is none: a
 * wildcard and `null` would let in pages that nobody chose. Pure.
 */
export function toOrigins(texts: readonly string[]): string[] {
  return [...new Set(texts.map(toOrigin))];
}

function toOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const bare = url && url.pathname === "/" && !/[?#@*]/.test(text);
  if (bare && (url.protocol === "http:" || url.protocol === "https:")) return url.origin;
  throw new UsageError(
    `--allow-origin takes one origin, such as http://localhost:3000 or https://app.example, not "${text}"`,
  );
}

/** Only this machine reaches a listener on `host`. Pure. */
export function isLoopback(host: string): boolean {
  return ["127.0.0.1", "localhost", "::1"].includes(host);
}

/**
 * Where to listen and who may call: what the caller asks for, then what the session's desired-config.json
 * keeps, then a free port of 127.0.0.1. Throws when an open address would be left without a token, and for an
 * origin that is none (ruling 12). Pure. Source: spec/gateway.md "Process, attach, detach".
 */
export function chooseListener(
  wish: ListenerWish,
  desired: Pick<DesiredConfig, "desired_host" | "desired_port"> | null,
  access: {
    token: string | undefined;
    allowUnauthenticated: boolean;
    allowOrigins: readonly string[];
    makesToken?: boolean;
    noToken?: boolean;
  },
  server = { tokenVariable: "SVC_GATEWAY_TOKEN", drives: "the agent" },
): ListenerChoice {
  const host = wish.host ?? desired?.desired_host ?? "127.0.0.1";
  const port = wish.port ?? desired?.desired_port ?? 0;
  const allowedOrigins = toOrigins(access.allowOrigins);
  const { makesToken = false, noToken = false } = access;
  if (noToken && makesToken) throw new UsageError("--no-token contradicts --token");
  if (noToken && access.token)
    throw new UsageError(`--no-token contradicts ${server.tokenVariable}, which is set`);
  const choice = {
    host,
    port,
    token: access.token || null,
    makesToken,
    noToken,
    allowedOrigins,
    warning: null,
  };
  if (isLoopback(host) || choice.token !== null || makesToken) return choice;
  if (!access.allowUnauthenticated) {
    throw new ServiceError(
      "precondition_failed",
      `refusing to listen on ${host} without a token: set ${server.tokenVariable}, or say --allow-unauthenticated${wish.host === undefined ? "; that address was asked for before and is remembered: --host 127.0.0.1 takes it back" : ""}`,
    );
  }
  return {
    ...choice,
    warning: `listening on ${host} WITHOUT authentication: every caller that reaches it drives ${server.drives}`,
  };
}

const watchFields = fieldFlags(TrackingTimings);
type Prefix = "gateway-tui-" | "tui-";

const withPrefix = (prefix: Prefix): Flags =>
  Object.fromEntries(Object.entries<Flag>(watchFields.flags).map(([name, flag]) => [prefix + name, flag]));

/** Flags of `gateway attach` that set how the terminal is watched (contract 4.4 rule 7). */
export const attachTimingFlags = withPrefix("gateway-tui-");

/** The same of `svc-gateway serve`. */
export const serveTimingFlags = withPrefix("tui-");

/** The timings that were given. Throws UsageError for one that is not above zero. Pure. */
export function readTimings(
  prefix: Prefix,
  args: Readonly<Record<string, unknown>>,
): Partial<TrackingTimings> {
  return watchFields.read(args, prefix);
}
