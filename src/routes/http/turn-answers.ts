import type { TurnEvents } from "../../protocol/turns.ts";
import type { ArtifactPart, ArtifactReader, TurnEventReader } from "../../services/agent/agent.ts";

/**
 * Answers of gateway and coordinator from the files of a turn: all of it as a stream, or one page (ruling
 * 37).
 */

interface EventQuery {
  after: number;
  limit?: number;
}

/** Approximate length of one piece of a streamed answer. */
const pieceChars = 64 * 1024;

/** The events of a turn; `events` begin after `query.after`. */
export function turnEventsAnswer(
  turn: Pick<TurnEvents, "tracked_agent_id" | "turn_id">,
  events: TurnEventReader,
  { after, limit }: EventQuery,
  method: string,
): TurnEvents | Response {
  if (limit === undefined) {
    return streamed(wholeEvents(turn, events), { "content-type": "application/json" }, method);
  }
  const found = events.take(limit + 1).toArray();
  const entries = found.slice(0, limit);
  return { ...turn, entries, next: found.length > limit ? after + limit : null };
}

/** The JSON of a page with all events, written while they are read, since their number has no limit. */
function* wholeEvents(
  turn: Pick<TurnEvents, "tracked_agent_id" | "turn_id">,
  events: TurnEventReader,
): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  let text = `${JSON.stringify(turn).slice(0, -1)},"entries":[`;
  let separator = "";
  for (const event of events) {
    text += separator + JSON.stringify(event);
    separator = ",";
    if (text.length < pieceChars) continue;
    yield encoder.encode(text);
    text = "";
  }
  yield encoder.encode(`${text}],"next":null}`);
}

export function toArtifactPart(query: { offset: number; max_bytes?: number }): ArtifactPart {
  return { offset: query.offset, maxBytes: query.max_bytes ?? null };
}

export function artifactAnswer(
  { pieces, next }: ArtifactReader,
  part: ArtifactPart,
  method: string,
): Response {
  const following = next === null ? {} : { link: `<?offset=${next}&max_bytes=${part.maxBytes}>; rel="next"` };
  return streamed(pieces, { "content-type": "text/plain; charset=utf-8", ...following }, method);
}

/**
 * Sends one piece for each pull, so that a slow reader costs no memory. The `method` HEAD gets only the
 * headers.
 */
function streamed(pieces: Iterable<Uint8Array>, headers: Record<string, string>, method: string): Response {
  // For HEAD the framework would read the body to its end.
  if (method === "HEAD") return new Response(null, { headers });
  const iterator = pieces[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = iterator.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => void iterator.return?.(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}
