import { Value } from "@sinclair/typebox/value";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { forwardedEndpoints } from "../../../protocol/endpoints.ts";
import { HostAnswer, type HostCall, type HostControl, maxPartBytes } from "../../../protocol/hosts.ts";
import type { Remedy } from "../../../protocol/remedy.ts";
import { idempotencyHeader, outcomeUnknownStatus } from "../../../protocol/wire.ts";
import type { Clock } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Ids } from "../../../system/ids.ts";
import { quotedLine } from "../../../system/visible.ts";
import { type AnswerBody, createAnswerBody } from "./answer-body.ts";
import {
  type HostLink,
  type HostRequest,
  handedBack,
  handedOn,
  isRead,
  maxWholeBytes,
  operationOf,
  readAtMost,
} from "./host-link.ts";

/** How messages of an operator reach hosts. */
interface OperatorCarrier {
  /** The largest body of a call. */
  maxBodyBytes(): number;
  /** Which process of the host is alive now; null while the host is away. */
  instanceOf(host: string): string | null;
  /** Sends to one process of the host; whether it arrives is not known. Never throws. */
  send(
    target: { host: string; instance: string },
    head: HostCall | HostControl,
    body: Uint8Array | null,
  ): void;
}

/** The calls of one operator to all hosts that one carrier reaches. */
export interface Caller {
  /** Under which this process calls. */
  readonly operator: string;
  linkTo(host: string): HostLink;
  /** A message of a host. What fits no call of ours to this host is dropped. Never throws. */
  receive(host: string, head: unknown, body: Uint8Array): void;
  /** No process of the host took the call with this id. */
  nobody(host: string, id: string): void;
  /** The way was interrupted and is open again: calls without an answer are sent again at once. */
  resume(): void;
  /** Ends the bodies of processes that another one of their host replaced: nothing more comes of them. */
  endReplaced(): void;
  counts(): { open: number; dropped: number; repeated: number };
  /** Ends every call as one whose outcome is not known. */
  stop(): void;
}

/** Without any sign of the host for so long, a call is sent again. */
const repeatAfterMs = 2500;
const usualTimeoutMs = 30_000;
/** Of an hour's wait the first minute is waited for at a host that is gone. */
const lostAfterMs = 20_000;
const maxQuoted = 500;
/** The outcome of these is found by their key. */
const listedByKey = new Set(["agentSubmitGatewayRequest", "submitTurn"]);

interface Pending {
  host: string;
  /** Of the process that the call was last sent to. */
  instance: string;
  run: number;
  nextSeq: number;
  onAnswer: (answer: HostAnswer, body: Uint8Array) => void;
  onNobody: () => void;
  onResume: () => void;
  onReplaced: () => void;
  fail: (error: ServiceError) => void;
}

export function createCaller(deps: { clock: Clock; ids: Ids; carrier: OperatorCarrier }): Caller {
  const { clock, carrier } = deps;
  const operator = deps.ids.hex(8);
  const pending = new Map<string, Pending>();
  let lastSeq = 0;
  let dropped = 0;
  let repeated = 0;

  function drop(): void {
    dropped += 1;
  }

  async function send(host: string, request: HostRequest): Promise<Response> {
    const endpoint = operationOf(request.operation);
    const { body } = request;
    if (body !== null && body.length > carrier.maxBodyBytes()) {
      const most = carrier.maxBodyBytes();
      throw new ServiceError("too_large", `the way to host "${host}" takes bodies of at most ${most} bytes`);
    }
    const instance = carrier.instanceOf(host);
    if (instance === null) throw new ServiceError("unavailable", `host "${host}" does not answer now`);
    const id = deps.ids.hex(16);
    lastSeq += 1;
    const reads = isRead(endpoint);
    const headers: Record<string, string> = {};
    for (const name of handedOn) {
      const value = request.headers[name];
      if (value !== undefined) headers[name] = value;
    }
    if (!reads) headers[idempotencyHeader] ??= `${operator}-${id}`;
    const call: HostCall = {
      kind: "call",
      id,
      operator,
      seq: lastSeq,
      operation: request.operation,
      params: { ...request.params },
      query: request.query,
      headers,
      has_body: body !== null,
      head_only: request.method === "HEAD",
    };
    const { response, arrivals } = await answerOf(host, instance, { call, endpoint, request });
    if (reads) return response;
    const whole = await gathered(response, host, call);
    if (whole.status === outcomeUnknownStatus)
      throw notKnownTo(host, call, "its agent's gateway did not answer");
    // A gateway knows the key again. What refused this may not have asked it, and the one before may have.
    if (arrivals > 1 && !whole.ok) {
      throw notKnownTo(host, call, `it was sent again, and was refused then (${whole.status})`);
    }
    return whole;
  }

  /** Resolves when the answer begins. `arrivals`: how many of what was sent may have reached the host. */
  function answerOf(
    host: string,
    instance: string,
    { call, endpoint, request }: { call: HostCall; endpoint: Endpoint; request: HostRequest },
  ): Promise<{ response: Response; arrivals: number }> {
    const { id } = call;
    const begun = Promise.withResolvers<{ response: Response; arrivals: number }>();
    const reads = isRead(endpoint);
    const deadlineMs = clock.monotonicMs() + timeoutOf(call.operation);
    const lostMs = () => clock.monotonicMs() + lostAfterMs;
    let silentUntilMs = lostMs();
    let arrivals = 0;
    let cancelTimer = () => {};
    let bodySink: AnswerBody | null = null;

    const transmit = () => {
      carrier.send({ host, instance: one.instance }, call, request.body);
      arrivals += 1;
    };
    const notKnown = (why: string) =>
      reads ? new ServiceError("unavailable", `host "${host}": ${why}`) : notKnownTo(host, call, why);
    const late = () => notKnown(`no answer within ${timeoutOf(call.operation)} ms`);
    const settle = () => {
      cancelTimer();
      request.signal.removeEventListener("abort", leave);
    };
    const fail = (error: ServiceError) => {
      settle();
      pending.delete(id);
      begun.reject(error);
      bodySink?.fail(error);
    };
    const leave = () => {
      carrier.send({ host, instance: one.instance }, { kind: "cancel", id, operator, consumed: 0 }, null);
      fail(notKnown("the caller left before it answered"));
    };
    /** Again, to the process that is alive now. */
    const repeat = () => {
      repeated += 1;
      const alive = carrier.instanceOf(host);
      if (alive === null) return;
      one.instance = alive;
      transmit();
    };
    const watch = () => {
      cancelTimer = clock.after(repeatAfterMs, () => {
        const now = clock.monotonicMs();
        if (now >= deadlineMs) return fail(late());
        if (now >= silentUntilMs) return fail(notKnown(`no sign of it for ${lostAfterMs} ms`));
        repeat();
        watch();
      });
    };
    const one: Pending = {
      host,
      instance,
      run: 0,
      nextSeq: 0,
      fail,
      onNobody() {
        if (bodySink) return;
        arrivals -= 1;
        const alive = carrier.instanceOf(host);
        // The process ended between two messages of its directory, or it is not subscribed yet.
        if (alive === null || alive === one.instance) return;
        repeat();
      },
      onResume() {
        if (!bodySink) repeat();
      },
      onReplaced() {
        if (bodySink) fail(new ServiceError("unavailable", `host "${host}": its process was replaced`));
      },
      onAnswer(answer, part) {
        silentUntilMs = lostMs();
        if (answer.kind === "taken") {
          if (!bodySink && clock.monotonicMs() >= deadlineMs) return fail(late());
          cancelTimer();
          if (!bodySink) watch();
          return;
        }
        if (answer.kind === "failed") {
          const why =
            answer.detail === undefined ? "it failed" : `it says ${quotedLine(answer.detail, maxQuoted)}`;
          // Of several that were sent this refuses one.
          const isCertain = answer.reason !== "lost" && answer.reason !== undefined && arrivals <= 1;
          if (!isCertain) return fail(notKnown(why));
          const reason = answer.reason === "too_large" ? "too_large" : "unavailable";
          return fail(new ServiceError(reason, `host "${host}": ${why}`));
        }
        if (answer.kind === "head") {
          if (bodySink) return;
          if (answer.status === undefined) return drop();
          settle();
          one.run = answer.run;
          one.nextSeq = 1;
          bodySink = createAnswerBody({
            clock,
            signal: request.signal,
            consumed: (count) =>
              carrier.send(
                { host, instance: one.instance },
                { kind: "more", id, operator, consumed: count },
                null,
              ),
            cancel() {
              pending.delete(id);
              carrier.send(
                { host, instance: one.instance },
                { kind: "cancel", id, operator, consumed: 0 },
                null,
              );
            },
          });
          // An outcome is all of its answer; what is handed on as it comes ends with its reader.
          if (!reads)
            cancelTimer = clock.after(Math.max(0, deadlineMs - clock.monotonicMs()), () => fail(late()));
          return begun.resolve({ response: toResponse(answer, endpoint, bodySink.stream), arrivals });
        }
        if (!bodySink || answer.run !== one.run || answer.seq < one.nextSeq) return;
        if (answer.seq > one.nextSeq) {
          pending.delete(id);
          return bodySink.fail(
            new ServiceError("unavailable", `host "${host}": a part of its answer was lost`),
          );
        }
        one.nextSeq += 1;
        if (answer.kind === "part") return bodySink.push(part);
        cancelTimer();
        pending.delete(id);
        bodySink.end();
      },
    };
    if (request.signal.aborted) return Promise.reject(new ServiceError("unavailable", "the caller has left"));
    request.signal.addEventListener("abort", leave, { once: true });
    pending.set(id, one);
    transmit();
    watch();
    return begun.promise;
  }

  /** An answer is the outcome only when all of it is here. */
  async function gathered(response: Response, host: string, call: HostCall): Promise<Response> {
    try {
      const bytes = await readAtMost(response, maxWholeBytes);
      return new Response(bytes, { status: response.status, headers: response.headers });
    } catch {
      throw notKnownTo(host, call, "its answer was cut off");
    }
  }

  return {
    operator,
    linkTo: (host) => ({ send: (request) => send(host, request) }),
    receive(host, head, body) {
      if (!Value.Check(HostAnswer, head) || body.length > maxPartBytes) return drop();
      const one = pending.get(head.id);
      // A host answers its own calls; a late answer has nobody to read it.
      if (one?.host !== host) return drop();
      one.onAnswer(head, body);
    },
    nobody(host, id) {
      const one = pending.get(id);
      if (one?.host === host) one.onNobody();
    },
    resume() {
      for (const one of [...pending.values()]) one.onResume();
    },
    endReplaced() {
      for (const one of [...pending.values()]) {
        const alive = carrier.instanceOf(one.host);
        if (alive !== null && alive !== one.instance) one.onReplaced();
      }
    },
    counts: () => ({ open: pending.size, dropped, repeated }),
    stop() {
      for (const one of [...pending.values()]) one.fail(new ServiceError("unavailable", "this server ends"));
    },
  };
}

function timeoutOf(operation: string): number {
  const forwarded = (forwardedEndpoints as Readonly<Record<string, { timeoutMs: number }>>)[operation];
  return (forwarded?.timeoutMs ?? usualTimeoutMs) + 5000;
}

/** Names the command that finds out. Pure. */
function notKnownTo(host: string, { operation, params, headers }: HostCall, why: string): ServiceError {
  const agent = params["agent_ref"] ?? "the agent";
  const key = headers[idempotencyHeader] ?? "";
  const remedy: Remedy = listedByKey.has(operation)
    ? { code: "find_outcome", key, agent_name: `${agent}@${host}` }
    : { code: "show_remote_state", agent_id: agent };
  return new ServiceError("outcome_unknown", `it is not known whether host "${host}" did it: ${why}`, {
    data: { remedy },
  });
}

/**
 * Of what a host sends only the status, the form and the bytes are used: it must not speak as a page of ours.
 */
function toResponse(answer: HostAnswer, endpoint: Endpoint, body: ReadableStream<Uint8Array>): Response {
  const headers = new Headers({ "x-content-type-options": "nosniff" });
  for (const name of handedBack) {
    const value = answer.headers?.[name];
    if (value !== undefined && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value);
  }
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (!plainTypes.has(type)) headers.set("content-type", "application/octet-stream");
  const status = answer.status ?? endpoint.status;
  const isEmpty = [204, 205, 304].includes(status);
  if (isEmpty) void body.cancel();
  return new Response(isEmpty ? null : body, { status, headers });
}

const plainTypes = new Set([
  "application/json",
  "application/x-ndjson",
  "application/octet-stream",
  "text/event-stream",
  "text/plain",
]);
