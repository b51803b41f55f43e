import { Value } from "@sinclair/typebox/value";
import type { BodyOf, Endpoint, ResponseOf } from "../../protocol/endpoint.ts";
import { type GatewayEndpoints, gatewayEndpoints, streamEndpoints } from "../../protocol/endpoints.ts";
import { PromptRefusalBody, type PromptRefusalCode, type RequestRecord } from "../../protocol/gateway.ts";
import { ErrorBody, idempotencyHeader, ValidationErrorBody } from "../../protocol/wire.ts";
import type { Clock } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { SchemaCheck } from "./compiled-checks.ts";
import { type OpenedStream, openEventStream } from "./event-stream.ts";
import { type ListenerProof, wasRefused, whyUnreachable } from "./listener-proof.ts";

/**
 * What came of one call. `refused`: the gateway answered with an error; `detail` is for people, `body` is
 * what it sent. `unreachable`: no whole answer within the timeout, or one that does not fit the contract.
 */
export type CallResult<E extends Endpoint> =
  | { kind: "ok"; body: ResponseOf<E> }
  | { kind: "refused"; status: number; detail: string; body: unknown }
  /** `sent`: false when it certainly did not arrive; else it may have been carried out. */
  | { kind: "unreachable"; sent: boolean; detail: string };

interface CallOptions {
  /** Values of the `:name` parts of the path. */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  /** Default 5000; for direct prompts 25 000, since a context reset alone may take 15 s. */
  timeoutMs?: number;
  /** A challenge, and why the answer to it is none, as a clause: then nothing of the response is believed. */
  proof?: ListenerProof | undefined;
  /** The caller's key: the same one is not accepted twice. */
  idempotencyKey?: string | undefined;
}

type BodyOption<E extends Endpoint> =
  BodyOf<E> extends undefined ? { body?: undefined } : { body: BodyOf<E> };

/** Parameters, query and body of one call of the endpoint `Name`. */
export type CallRequest<Name extends keyof GatewayEndpoints> = CallOptions &
  BodyOption<GatewayEndpoints[Name]>;

/** One typed method for every declared endpoint of a gateway; never throws. */
export interface GatewayClient {
  readonly baseUrl: string;
  call<Name extends keyof GatewayEndpoints>(
    name: Name,
    options: CallRequest<Name>,
  ): Promise<CallResult<GatewayEndpoints[Name]>>;
  /**
   * Opens the event stream after `afterSeq` (null: only what is to come). The answer must begin within 5 s;
   * then the body is the caller's until it ends or `signal` aborts. Never rejects.
   */
  openEvents(options: { afterSeq: number | null; signal: AbortSignal }): Promise<OpenedStream>;
  /** The same of what the agent's terminal shows. */
  openScreen(options: { signal: AbortSignal }): Promise<OpenedStream>;
  /**
   * One request as it is, for who forwards: resolves when the answer begins, whatever its status. Rejects
   * when none does or `signal` aborts, which ends the body too.
   */
  forward(request: ForwardedRequest): Promise<Response>;
}

/** The typed methods alone. */
export type GatewayCalls = Pick<GatewayClient, "call">;

interface ForwardedRequest {
  method: string;
  /** Path and query, escaped. */
  target: string;
  headers: Record<string, string>;
  body: ArrayBuffer | ReadableStream<Uint8Array> | null;
  signal: AbortSignal;
}

/** The listener is not the server that it was; the message is a clause. */
class NotBelieved extends Error {}

/** Whether what failed with this error certainly did not reach the gateway. */
export function isUnsent(error: unknown): boolean {
  return error instanceof NotBelieved || wasRefused(error);
}

const defaultTimeoutMs = 5000;
const promptTimeoutMs = 25_000;

/**
 * Client of the gateway at `baseUrl`. `token`: sent as bearer, or null. Connects directly past proxy
 * variables unless `respectProxyEnvironment` (contract 4.4, proxy rule): Bun's fetch would send even loopback
 * through them.
 */
export function createGatewayClient(deps: {
  clock: Clock;
  baseUrl: string;
  token: string | null;
  respectProxyEnvironment: boolean;
  /** Asked before each request: why the listener is not believed, or null. Nothing is sent then. */
  disprove?: () => string | null;
  /** Instead of the runtime's own: for a gateway in this very process. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Of answers; one by one where none is given. */
  check?: SchemaCheck | undefined;
}): GatewayClient {
  const { clock, baseUrl, token, check = Value.Check } = deps;
  const send = deps.fetch ?? fetch;

  const request = async (
    url: string,
    init: { method: string; signal: AbortSignal; headers: Record<string, string>; body?: BodyInit },
  ) => {
    const why = deps.disprove?.() ?? null;
    if (why !== null) throw new NotBelieved(why);
    return send(url, {
      ...init,
      redirect: "error",
      headers: { ...init.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      ...(deps.respectProxyEnvironment ? {} : { proxy: false }),
    } as BunFetchRequestInit);
  };

  async function exchange(endpoint: Endpoint, url: string, options: CallOptions & { body?: unknown }) {
    const { body, proof, idempotencyKey: key, timeoutMs = defaultTimeoutMs } = options;
    const abort = new AbortController();
    const cancel = clock.after(timeoutMs, () => abort.abort(new Error(`no answer within ${timeoutMs} ms`)));
    try {
      const response = await request(url, {
        method: endpoint.method,
        signal: abort.signal,
        headers: {
          ...proof?.headers,
          ...(key === undefined ? {} : { [idempotencyHeader]: key }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const why = proof?.disprove(response.headers) ?? null;
      if (why !== null) throw new NotBelieved(`${baseUrl} ${why}`);
      return { status: response.status, text: await response.text() };
    } finally {
      cancel();
    }
  }

  const openStream = (
    { method, path }: Endpoint,
    query: Readonly<Record<string, number>>,
    signal: AbortSignal,
  ) =>
    openEventStream({
      clock,
      signal,
      timeoutMs: defaultTimeoutMs,
      request: (init) => request(toUrl(baseUrl, path, {}, query), { method, ...init }),
      describe: (error) => (error instanceof NotBelieved ? error.message : whyUnreachable(error, baseUrl)),
    });

  return {
    baseUrl,
    async call(name, options) {
      const endpoint: GatewayEndpoints[typeof name] = gatewayEndpoints[name];
      const timeoutMs = options.timeoutMs ?? (name === "controlPrompt" ? promptTimeoutMs : defaultTimeoutMs);
      const url = toUrl(baseUrl, endpoint.path, options.params ?? {}, options.query ?? {});
      let answer: { status: number; text: string };
      try {
        answer = await exchange(endpoint, url, { ...options, timeoutMs });
      } catch (error) {
        const detail = error instanceof NotBelieved ? error.message : whyUnreachable(error, baseUrl);
        return { kind: "unreachable", sent: !isUnsent(error), detail };
      }
      return readAnswer(endpoint, answer, { baseUrl, check });
    },
    forward: ({ method, target, headers, body, signal }) =>
      request(`${baseUrl}${target}`, { method, headers, signal, ...(body === null ? {} : { body }) }),
    openEvents: ({ afterSeq, signal }) =>
      openStream(streamEndpoints.events, afterSeq === null ? {} : { after: afterSeq }, signal),
    openScreen: ({ signal }) => openStream(streamEndpoints.screenEvents, {}, signal),
  };
}

function readAnswer<E extends Endpoint>(
  endpoint: E,
  answer: { status: number; text: string },
  { baseUrl, check }: { baseUrl: string; check: SchemaCheck },
): CallResult<E> {
  const odd = (what: string): CallResult<E> => ({
    kind: "unreachable",
    sent: true,
    detail: `${baseUrl}: ${what}`,
  });
  let body: unknown;
  try {
    body = JSON.parse(answer.text);
  } catch {
    return odd(`status ${answer.status} with a body that is not JSON`);
  }
  if (answer.status === endpoint.status) {
    if (check(endpoint.response, body)) return { kind: "ok", body: body as ResponseOf<E> };
    // A later gateway may say more than we know (ruling 17): only what we know must fit, all is handed on.
    const known = Value.Clean(endpoint.response, structuredClone(body));
    if (Value.Check(endpoint.response, known)) return { kind: "ok", body: body as ResponseOf<E> };
    const first = Value.Errors(endpoint.response, known).First();
    return odd(`its answer does not fit the contract at ${first?.path || "/"}: ${first?.message}`);
  }
  return { kind: "refused", status: answer.status, detail: toDetail(body), body };
}

/** The reason in any error body of the contract, as one line. Pure. */
export function toDetail(body: unknown): string {
  if (Value.Check(ErrorBody, body)) return body.detail;
  if (Value.Check(PromptRefusalBody, body)) return `${body.detail.error_code}: ${body.detail.detail}`;
  if (Value.Check(ValidationErrorBody, body)) {
    return body.detail.map((issue) => `${issue.loc.join(".")}: ${issue.msg}`).join("; ");
  }
  return JSON.stringify(body);
}

/** The code with which a direct prompt was refused; null for any other body. Pure. */
export function toRefusalCode(body: unknown): PromptRefusalCode | null {
  return Value.Check(PromptRefusalBody, body) ? body.detail.error_code : null;
}

/** Base URL, path with its `:name` parts filled in and escaped, and query. Pure. */
export function toUrl(
  baseUrl: string,
  path: string,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | number>>,
): string {
  const filled = path.replace(/:([a-z_]+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`no value for the path parameter ${name}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
  return `${baseUrl}${filled}${search.size > 0 ? `?${search}` : ""}`;
}

/**
 * What came of an operation that a gateway had a part in; its refusal keeps status and body (contract 4.4).
 */
export type Answer<T> = { kind: "done"; body: T } | { kind: "refused"; status: number; body: unknown };

/**
 * A response that is no good one, as an answer. Throws `unavailable` when the gateway could not be reached.
 */
export function refusalOf<E extends Endpoint>(
  response: Exclude<CallResult<E>, { kind: "ok" }>,
): Extract<Answer<never>, { kind: "refused" }> {
  if (response.kind === "unreachable")
    throw new ServiceError("unavailable", `its gateway: ${response.detail}`);
  return { kind: "refused", status: response.status, body: response.body };
}

/** Whether the request waits or is being executed. Pure. */
export function isOpen({ state }: RequestRecord): boolean {
  return state === "accepted" || state === "running";
}

/**
 * The request that answers for one that was coalesced with it, whose own record has no outcome; else null.
 * Pure.
 */
export function coalescedInto({ state, result_json: result }: RequestRecord): string | null {
  const into = state === "coalesced" ? result?.["coalesced_into_request_id"] : null;
  return typeof into === "string" ? into : null;
}
