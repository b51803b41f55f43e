/** Text as it was written, one piece for each pull of the reader. */
export function plainText(pieces: Iterable<Uint8Array>): Response {
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
  return new Response(body, { headers: { "content-type": "text/plain; charset=utf-8" } });
}
