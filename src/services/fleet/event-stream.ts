import type { Static, TSchema } from "@sinclair/typebox";
import { GatewayEvent } from "../../protocol/events.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Clock } from "../../system/clock.ts";
import { createEventParser } from "../../system/server-sent-events.ts";

/** The one client of our event streams: those of gateways and that of the coordination server. */

/** A response that has begun, or the reason why none did. */
export type OpenedStream =
  | { kind: "ok"; body: ReadableStream<Uint8Array> }
  | { kind: "refused"; status: number; detail: string }
  | { kind: "unreachable"; detail: string };

/**
 * Opens an event stream. The response must begin within `timeoutMs`; then the body is the caller's until it
 * ends or `signal` aborts. Never rejects. `request` sends the request; `describe` words its failure.
 */
export async function openEventStream(options: {
  clock: Clock;
  timeoutMs: number;
  signal: AbortSignal;
  request: (init: { headers: Record<string, string>; signal: AbortSignal }) => Promise<Response>;
  describe: (error: unknown) => string;
}): Promise<OpenedStream> {
  const { clock, timeoutMs, signal, describe } = options;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () =>
    late.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
  );
  try {
    const response = await options.request({
      headers: { accept: "text/event-stream" },
      signal: AbortSignal.any([signal, late.signal]),
    });
    if (response.ok && response.body) return { kind: "ok", body: response.body };
    return { kind: "refused", status: response.status, detail: await response.text() };
  } catch (error) {
    return { kind: "unreachable", detail: describe(error) };
  } finally {
    cancel();
  }
}

/** Turns the bytes of an event stream into events. */
interface EventSource<Event = GatewayEvent> {
  /**
   * The events that these bytes complete, in order. What does not fit the schema is dropped. Never throws.
   */
  push(bytes: Uint8Array): Event[];
}

/** Reads events whose `data` is one value of `schema` as JSON. */
export function createEventSource(): EventSource;
export function createEventSource<S extends TSchema>(schema: S): EventSource<Static<S>>;
export function createEventSource(schema: TSchema = GatewayEvent): EventSource<unknown> {
  const parse = createEventParser();
  return {
    push: (bytes) => parse(bytes).flatMap(({ data }) => parseEvent(schema, data)),
  };
}

/** Empty for what is not an event of the schema. */
function parseEvent(schema: TSchema, text: string): unknown[] {
  const event = parseJson(schema, text);
  return event === null ? [] : [event];
}
