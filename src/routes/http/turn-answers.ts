import type { TurnEvents } from "../../protocol/turns.ts";
import type { ArtifactPart, ArtifactReader, TurnEventReader } from "../../services/agent/agent.ts";

/**
 * What gateway and coordinator answer of a turn's files: whole and streamed, or the page that was asked for
 * (ruling 37).
 */

interface EventQuery {
  after: number;
  limit?: number;
}

/** One piece of a streamed answer is about this long. */
const pieceChars = 64 * 1024;

/** `events` begin after `query.after` of the turn. */
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

/** The document that a page is, written as its events are read: their number has no bound. */
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
 * One piece for each pull of the reader, so that a slow one costs no memory. The `method` HEAD gets the
 * headers alone.
 */
function streamed(pieces: Iterable<Uint8Array>, headers: Record<string, string>, method: string): Response {
  // The framework would read a body to its end, and this answer has none.
  if (method === "HEAD") return new Response(null, { headers });
  const left = pieces[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = left.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: () => void left.return?.(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}
