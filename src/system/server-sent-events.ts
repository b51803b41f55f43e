/** One event of an event stream. `name` is `message` for an event without a name. */
interface ServerSentEvent {
  name: string;
  data: string;
}

/** Maximum length of an event; a longer one is dropped. */
const maxCharacters = 1024 * 1024;

/**
 * Returns a parser of `text/event-stream`. It takes pieces of the stream and returns the events that they
 * complete, in order. An event without data or longer than 1 Mi characters is dropped, so memory is bounded.
 * Never throws. Source: the HTML standard, 9.2.
 */
export function createEventParser(): (bytes: Uint8Array) => ServerSentEvent[] {
  const decoder = new TextDecoder();
  let line = "";
  let name = "";
  let data: string[] = [];
  let length = 0;
  let dropped = false;

  function finishLine(events: ServerSentEvent[]): void {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    line = "";
    if (text === "") {
      finishEvent(events);
      return;
    }
    if (text.startsWith("event:")) name = text.slice("event:".length).trim();
    if (!text.startsWith("data:") || dropped) return;
    const value = text.slice("data:".length).replace(/^ /, "");
    data.push(value);
    length += value.length;
    if (length > maxCharacters) drop();
  }

  function finishEvent(events: ServerSentEvent[]): void {
    if (!dropped && data.length > 0) events.push({ name: name || "message", data: data.join("\n") });
    name = "";
    data = [];
    length = 0;
    dropped = false;
  }

  function drop(): void {
    dropped = true;
    data = [];
  }

  return (bytes) => {
    const events: ServerSentEvent[] = [];
    const [first = "", ...rest] = decoder.decode(bytes, { stream: true }).split("\n");
    line += first;
    for (const next of rest) {
      finishLine(events);
      line = next;
    }
    if (line.length > maxCharacters) {
      drop();
      // Not blank, so that the end of the line does not end the event.
      line = ":";
    }
    return events;
  };
}
