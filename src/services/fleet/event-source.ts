import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { GatewayEvent } from "../../protocol/events.ts";

/** Turns the bytes of an event stream into events. */
export interface EventSource<Event = GatewayEvent> {
  /** The events that these bytes complete, in order; what is no event of ours is passed over. Never throws. */
  push(bytes: Uint8Array): Event[];
}

/** Longest line that is kept; a longer one, and the event it belongs to, is passed over. */
const maxCharacters = 1024 * 1024;

/** Reads server-sent events, whose `data` is one event of `schema` as JSON. Memory is bounded whatever is sent. */
export function createEventSource(): EventSource;
export function createEventSource<S extends TSchema>(schema: S): EventSource<Static<S>>;
export function createEventSource(schema: TSchema = GatewayEvent): EventSource<unknown> {
  const decoder = new TextDecoder();
  let line = "";
  let data: string[] = [];
  let dataLength = 0;
  let spoiled = false;

  function finishLine(events: unknown[]): void {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    line = "";
    if (text !== "") {
      if (text.startsWith("data:") && !spoiled) keep(text.slice("data:".length).replace(/^ /, ""));
      return;
    }
    const event = spoiled ? null : parseEvent(schema, data.join("\n"));
    if (event) events.push(event);
    data = [];
    dataLength = 0;
    spoiled = false;
  }

  function keep(text: string): void {
    data.push(text);
    dataLength += text.length;
    if (dataLength > maxCharacters) spoil();
  }

  function spoil(): void {
    spoiled = true;
    data = [];
  }

  return {
    push(bytes) {
      const events: unknown[] = [];
      const [first = "", ...rest] = decoder.decode(bytes, { stream: true }).split("\n");
      line += first;
      for (const next of rest) {
        finishLine(events);
        line = next;
      }
      if (line.length > maxCharacters) {
        spoil();
        // Not blank, so that its end is not taken for the end of the event.
        line = ":";
      }
      return events;
    },
  };
}

function parseEvent(schema: TSchema, text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(schema, value) ? value : null;
  } catch {
    return null;
  }
}
