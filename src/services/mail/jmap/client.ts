import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type Clock, sleep } from "../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { isLoopbackHost } from "../../../system/network.ts";
import { capability, type JmapSession, parseSession } from "./session.ts";
import { ApiReply, MethodError, toMethodFailure, Uploaded } from "./wire.ts";

export type Invocation = readonly [method: string, args: Record<string, unknown>, callId: string];

/** The answers to one request. `of` throws `transport_failed` when a method failed or answered oddly. */
export interface Answers {
  of<T extends TSchema>(schema: T, method: string, callId: string): Static<T>;
  /** Whether there is such an answer at all: some come unasked (RFC 8621 7.5). */
  has(method: string, callId: string): boolean;
}

/**
 * One login at one server. Everything throws ServiceError `transport_failed` with a cause that names neither
 * the password nor a message's content; its data says `reached: false` when the server certainly did nothing.
 */
export interface JmapClient {
  /** Kept until the server says that it has changed, or until something failed. */
  session(): Promise<JmapSession>;
  /** One request of several calls, in order. Repeated after a failure of the connection only when `safe`. */
  call(calls: readonly Invocation[], options: { safe: boolean }): Promise<Answers>;
  upload(stream: ReadableStream<Uint8Array>, mediaType: string): Promise<{ blobId: string; size: number }>;
  /** The server's stream of changes, or null where it offers none. Lives until `signal` aborts. */
  openEvents(types: readonly string[], signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null>;
}

export interface JmapLogin {
  identity: string;
  password: string;
}

const requestTimeoutMs = 10_000;
const uploadTimeoutMs = 60_000;
const retryDelaysMs = [100, 400];
const pingSeconds = 30;
/** What a server says to a login that it does not take, and when it asks to come again. */
const refusedLogin: readonly number[] = [401, 403];
const overloaded: readonly number[] = [429, 502, 503, 504];
const maxRedirects = 5;
const maxReplyBytes = 32 * 2 ** 20;

export function createJmapClient(deps: {
  clock: Clock;
  url: string;
  /** Asked whenever a session begins. */
  login: () => JmapLogin;
  timeoutMs?: number;
}): JmapClient {
  const { clock, url, timeoutMs = requestTimeoutMs } = deps;
  let opened: Promise<{ session: JmapSession; authorization: string }> | null = null;

  function open() {
    opened ??= begin().catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  }

  async function begin() {
    const { identity, password } = deps.login();
    const authorization = `Basic ${Buffer.from(`${identity}:${password}`).toString("base64")}`;
    const headers = { authorization, accept: "application/json" };
    const get = (target: string) =>
      repeatedly(() => exchange(target, { headers, redirect: "manual" }, timeoutMs));
    let answer = await get(url);
    for (let hops = 0; answer.location !== null && hops < maxRedirects; hops++) {
      answer = await get(planRedirect(answer.url, answer.location));
    }
    if (answer.location !== null) throw failed("the JMAP server redirects without end", true);
    return { session: parseSession(answer.body, answer.url), authorization };
  }

  async function exchange(target: string, init: RequestInit, withinMs: number) {
    const abort = new AbortController();
    const cancel = clock.after(withinMs, () => abort.abort(new Error(`no answer within ${withinMs} ms`)));
    try {
      const response = await request(target, { ...init, signal: abort.signal });
      const text = await readText(response);
      const location = response.headers.get("location");
      if (!response.ok && location !== null) return { url: target, location, body: null };
      if (!response.ok) throw toHttpFailure(response.status, text);
      return { url: target, location: null, body: parseJson(text) };
    } catch (error) {
      opened = null;
      throw error instanceof ServiceError ? error : toConnectionFailure(error);
    } finally {
      cancel();
    }
  }

  /** Only what never reached a working server is worth another try. */
  async function repeatedly<T>(work: () => Promise<T>): Promise<T> {
    for (const delayMs of retryDelaysMs) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ServiceError) || error.data?.["again"] !== true) throw error;
        await sleep(clock, delayMs);
      }
    }
    return work();
  }

  async function post(calls: readonly Invocation[]): Promise<Answers> {
    const { session, authorization } = await open();
    const methodCalls = calls.map(([method, args, id]) => [
      method,
      { accountId: session.accountId, ...args },
      id,
    ]);
    const answer = await exchange(
      session.apiUrl,
      {
        method: "POST",
        redirect: "error",
        headers: { authorization, "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({ using: Object.values(capability), methodCalls }),
      },
      timeoutMs,
    );
    if (!Value.Check(ApiReply, answer.body))
      throw failed("the JMAP server's answer is not one of JMAP", true);
    const { methodResponses, sessionState } = answer.body;
    if (sessionState !== undefined && sessionState !== session.state) opened = null;
    return toAnswers(methodResponses);
  }

  return {
    session: async () => (await open()).session,
    call: (calls, { safe }) => (safe ? repeatedly(() => post(calls)) : post(calls)),
    async upload(stream, mediaType) {
      const { session, authorization } = await open();
      const { body } = await exchange(
        session.uploadUrl,
        {
          method: "POST",
          redirect: "error",
          headers: { authorization, "content-type": mediaType },
          body: stream,
        },
        uploadTimeoutMs,
      );
      if (!Value.Check(Uploaded, body)) throw failed("the JMAP server did not take an attachment", true);
      return body;
    },
    async openEvents(types, signal) {
      const { session, authorization } = await open();
      if (session.eventSourceUrl === null) return null;
      const target = session.eventSourceUrl
        .replace("{types}", types.join(","))
        .replace("{closeafter}", "no")
        .replace("{ping}", String(pingSeconds));
      const late = new AbortController();
      const cancel = clock.after(timeoutMs, () => late.abort(new Error(`no answer within ${timeoutMs} ms`)));
      try {
        const response = await request(target, {
          headers: { authorization, accept: "text/event-stream" },
          redirect: "error",
          signal: AbortSignal.any([signal, late.signal]),
        });
        const pushes = response.ok && response.headers.get("content-type")?.startsWith("text/event-stream");
        if (pushes && response.body) return response.body;
        await response.body?.cancel();
        return null;
      } catch (error) {
        throw toConnectionFailure(error);
      } finally {
        cancel();
      }
    },
  };
}

/**
 * Where to look for the session next: a password goes to the place that was named for it, and to no other.
 * Pure.
 */
export function planRedirect(from: string, location: string): string {
  const next = URL.canParse(location, from) ? new URL(location, from) : null;
  if (next?.origin === new URL(from).origin) return next.href;
  throw failed(
    `the JMAP server sends its callers to ${next?.origin ?? "no address"}: give that address instead`,
    true,
  );
}

/** The body as text. Throws for one that is too long without holding it. */
async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxReplyBytes) throw failed(`the answer is larger than ${maxReplyBytes / 2 ** 20} MiB`, true);
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

/** A proxy of the environment is for what lies outside; Bun's fetch would send loopback through it too. */
function request(target: string, init: RequestInit): Promise<Response> {
  const direct = isLoopbackHost(new URL(target).hostname) ? { proxy: false } : {};
  return fetch(target, { ...init, ...direct } as BunFetchRequestInit);
}

/** Pure. */
export function toAnswers(responses: Static<typeof ApiReply>["methodResponses"]): Answers {
  const find = (method: string, callId: string) =>
    responses.find(([name, , id]) => id === callId && name === method);
  return {
    has: (method, callId) => find(method, callId) !== undefined,
    of(schema, method, callId) {
      const found = find(method, callId);
      if (found) {
        if (Value.Check(schema, found[1])) return found[1];
        const first = Value.Errors(schema, found[1]).First();
        throw failed(`the JMAP server's ${method} is not as it should be at ${first?.path || "/"}`, true);
      }
      const error = find("error", callId)?.[1];
      if (Value.Check(MethodError, error)) throw toMethodFailure(method, error);
      throw failed(`the JMAP server did not answer ${method}`, true);
    },
  };
}

/** Pure. `text`: a problem of RFC 7807, or anything. */
export function toHttpFailure(status: number, text: string): ServiceError {
  if (refusedLogin.includes(status)) {
    return failed(`the JMAP server refuses the login (status ${status})`, false);
  }
  const problem = /"type"\s*:\s*"(urn:ietf:params:jmap:error:\w+)"/.exec(text)?.[1];
  const again = overloaded.includes(status);
  return new ServiceError(
    "transport_failed",
    `the JMAP server failed with status ${status}${problem ? ` (${problem})` : ""}`,
    { data: { reached: Math.floor(status / 100) === 5, ...(again ? { again } : {}) } },
  );
}

function toConnectionFailure(error: unknown): ServiceError {
  const code = (error as { code?: unknown }).code;
  const refused = code === "ConnectionRefused" || code === "ECONNREFUSED";
  const late = (error as Error).name === "AbortError" || messageOf(error).startsWith("no answer within");
  return new ServiceError("transport_failed", `the JMAP server cannot be reached: ${messageOf(error)}`, {
    cause: error,
    data: { reached: !refused, ...(late ? {} : { again: true }) },
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw failed("the JMAP server's answer is not JSON", true);
  }
}

function failed(message: string, reached: boolean): ServiceError {
  return new ServiceError("transport_failed", message, { data: { reached } });
}
