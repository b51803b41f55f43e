import { after } from "../browser/browser.ts";

export type StreamState = "connecting" | "live" | "lost";

/** Pauses between attempts to connect again. */
const pausesMs = [500, 1_000, 2_000, 4_000];

/**
 * Follows one event stream for as long as it is wanted. It connects again by itself, after growing pauses,
 * from the event after the last one that came. Returns what ends it.
 */
export function followStream(options: {
  /** Address of the stream; `after`: id of the last event that came. */
  address: (after: string | null) => string;
  kinds: readonly string[];
  onEvent: (data: unknown) => void;
  onState: (state: StreamState) => void;
}): () => void {
  let source: EventSource | null = null;
  let cancelRetry = () => {};
  let failures = 0;
  let last: string | null = null;

  function open(): void {
    source = new EventSource(options.address(last));
    source.onopen = () => {
      failures = 0;
      options.onState("live");
    };
    source.onerror = () => {
      source?.close();
      options.onState("lost");
      cancelRetry = after(pausesMs[Math.min(failures, pausesMs.length - 1)] ?? 4_000, open);
      failures += 1;
    };
    const take = ({ data, lastEventId }: MessageEvent<string>) => {
      if (lastEventId !== "") last = lastEventId;
      options.onEvent(JSON.parse(data));
    };
    for (const kind of options.kinds) source.addEventListener(kind, take);
  }

  options.onState("connecting");
  open();
  return () => {
    cancelRetry();
    source?.close();
  };
}
