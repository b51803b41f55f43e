import { Value } from "@sinclair/typebox/value";
import { type AgentIdentity, AgentList } from "../../../protocol/agents.ts";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import type { HostState } from "../../../protocol/host-states.ts";
import { hostOperations, hostQueryPattern } from "../../../protocol/hosts.ts";
import { idempotencyHeader } from "../../../protocol/wire.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";

/** One agent of a host, as the host shows it to itself. */
export interface HostAgent {
  host: string;
  identity: AgentIdentity;
}

/**
 * Which agents a host or several hosts have. Two implementations: the folders of this machine, and what
 * others publish.
 */
export interface HostDirectory {
  hosts(): readonly HostState[];
  agents(): Promise<readonly HostAgent[]>;
}

/** One operation of `hostOperations`. */
export interface HostRequest {
  operation: string;
  /** HEAD where the operation is a GET. */
  method?: "HEAD";
  params: Readonly<Record<string, string>>;
  /** With its question mark, or empty. */
  query: string;
  /** Those of `handedOn` are sent. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array | null;
  signal: AbortSignal;
}

/**
 * How one host is reached: the operations of its coordination server, on its agents. Implementations: the
 * server in this very process (over folders and loopback HTTP), a message bus, a secure shell.
 */
export interface HostLink {
  /**
   * The answer of the host, whatever its status; its body ends with `signal`. Throws `unavailable` when the
   * operation was certainly not carried out, `outcome_unknown` when it may have been, `too_large` for a body
   * that the way does not take.
   */
  send(request: HostRequest): Promise<Response>;
}

/** Of an answer that is read whole: all are small but those that are handed on as they come. */
export const maxWholeBytes = 8 * 1024 * 1024;

/** Headers of a request that reach the host, and of an answer that come back. */
export const handedOn = ["content-type", "accept", "last-event-id", idempotencyHeader] as const;
export const handedBack = ["content-type", "cache-control"] as const;

/** Throws `unavailable`: an operator that is newer than its host asks for what the host does not know. */
export function operationOf(name: string): Endpoint {
  const operation = hostOperations.get(name);
  if (operation) return operation;
  throw new ServiceError("unavailable", `the host has no operation "${name}"`);
}

/** Whether an operation changes nothing, so that it may be carried out twice. Pure. */
export function isRead({ method }: Pick<Endpoint, "method">): boolean {
  return method === "GET";
}

/**
 * Path of an operation with its parameters filled in; throws `invalid_request` when one is missing or no
 * name. Pure.
 */
function pathOfOperation({ path }: Pick<Endpoint, "path">, params: HostRequest["params"]): string {
  return path.replace(/:([a-z_]+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new ServiceError("invalid_request", `no value for "${name}"`);
    // A URL has no form of these that is not a step in its path.
    if (value === "" || value === "." || value === "..") {
      throw new ServiceError("invalid_request", `"${value}" is no value for "${name}"`);
    }
    return encodeURIComponent(value);
  });
}

const queryPattern = new RegExp(hostQueryPattern);

/** The link to the server in this process. `fetch` is its app, which asks for no token. */
export function createLocalLink(fetch: (request: Request) => Response | Promise<Response>): HostLink {
  return {
    async send({ operation, method, params, query, headers, body, signal }) {
      const endpoint = operationOf(operation);
      if (!queryPattern.test(query)) throw new ServiceError("invalid_request", "the query is none");
      const url = `http://127.0.0.1${pathOfOperation(endpoint, params)}${query}`;
      const given = handedOn.flatMap((name) => {
        const value = headers[name];
        return value === undefined ? [] : [[name, value] as [string, string]];
      });
      const request = new Request(url, {
        method: method ?? endpoint.method,
        headers: [
          ...given,
          ...(body === null ? [] : [["content-length", String(body.length)] as [string, string]]),
        ],
        signal,
        ...(body === null ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      });
      return await fetch(request);
    },
  };
}

/** The agents of the server in this process, by its list. */
export function createLocalDirectory(deps: {
  host: string;
  version: string;
  list: () => Promise<{ agents: AgentIdentity[] }>;
}): HostDirectory {
  let count = 0;
  return {
    hosts: () => [
      {
        host: deps.host,
        via: "local",
        state: "live",
        since_utc: null,
        agents: count,
        version: deps.version,
      },
    ],
    async agents() {
      const list: unknown = await deps.list();
      if (!Value.Check(AgentList, list)) throw new Error("the list of agents breaks its schema");
      count = list.agents.length;
      return list.agents.map((identity) => ({ host: deps.host, identity }));
    },
  };
}

/**
 * The body of an answer, counted as it arrives. Throws `too_large` beyond `maxBytes`, and nothing more of it
 * is read.
 */
export async function readAtMost(answer: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.length;
    // Leaving the loop cancels the body.
    if (size > maxBytes) throw new ServiceError("too_large", `the answer is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** What a person reads of a failure of a link. Pure. */
export function wordsOf(error: unknown): string {
  return messageOf(error).slice(0, 500);
}
