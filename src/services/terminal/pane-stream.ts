import { type Clock, sleep } from "../../system/clock.ts";
import type { ControlConnection } from "./tmux-control.ts";
import { overpaint, pictureCommand, pictureReplies, readPicture } from "./tmux-picture.ts";

/** What a viewer of the pane is given, in order. */
export type PaneFrame =
  /** The viewer resets its terminal and takes this size; the next bytes begin with the whole picture. */
  | { kind: "picture"; why: "first" | "resized" | "skipped" | "repaint"; width: number; height: number }
  | { kind: "bytes"; bytes: Uint8Array }
  | { kind: "heartbeat" };

/** Bytes that wait for one viewer. Beyond it they are thrown away, and the viewer gets the newest picture instead. */
const maxWaiting = 256 * 1024;
/** Between two pictures for a viewer who is too slow. */
const skipGapMs = 150;
/** After the last output: what a terminal drew otherwise than tmux is painted over. */
const idleMs = 400;
const heartbeatMs = 15_000;

type Why = Extract<PaneFrame, { kind: "picture" }>["why"];

/**
 * What the pane shows and writes, until `signal` aborts or the pane cannot be read any more. The first picture and the
 * bytes after it fit together without a gap. Never more than `maxWaiting` bytes wait for a reader, however slow it is. A
 * viewer never changes the size of the pane.
 */
export async function* followPane(options: {
  control: ControlConnection;
  clock: Clock;
  paneId: () => string | null;
  signal: AbortSignal;
}): AsyncGenerator<PaneFrame> {
  const { control, clock, signal } = options;
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let due = "first" as Why | null;
  let quiet = true;
  let wake = () => {};
  const target = options.paneId();
  if (target === null) return;

  const drop = () => {
    waiting = [];
    waitingBytes = 0;
  };
  const ask = (why: Why) => {
    due ??= why;
    drop();
    wake();
  };
  const ends = [
    control.onBytes(target, (bytes) => {
      // A picture that is due shows it.
      if (due !== null) return;
      quiet = false;
      waitingBytes += bytes.length;
      if (waitingBytes > maxWaiting) ask("skipped");
      else waiting.push(bytes);
      wake();
    }),
    control.onEvent((event) => {
      if (event.kind === "connected") ask("repaint");
      else if (event.kind === "notice" && event.name === "layout-change") ask("resized");
      else wake();
    }),
  ];

  /** Resolves after something came, or after `ms`. */
  async function pause(ms: number): Promise<boolean> {
    const nap = new AbortController();
    const woken = new Promise<boolean>((resolve) => {
      wake = () => resolve(true);
    });
    const late = sleep(clock, ms, AbortSignal.any([nap.signal, signal])).then(() => false);
    const some = await Promise.race([woken, late]);
    wake = () => {};
    nap.abort();
    return some;
  }

  /** What came before the answer is in the picture, what comes after it waits: decided as the answer is read. */
  function takePicture<T>(read: (parts: readonly (readonly string[])[]) => T): Promise<T> {
    let picture: { of: T } | null = null;
    return control
      .batch(pictureCommand(target ?? ""), pictureReplies, (parts) => {
        picture = { of: read(parts) };
        due = null;
        drop();
      })
      .then(() => (picture as { of: T } | null)?.of as T);
  }

  const encoder = new TextEncoder();
  let skippedMs = Number.NEGATIVE_INFINITY;
  let size = "";
  try {
    while (!signal.aborted) {
      if (!control.connected()) {
        if (!(await pause(heartbeatMs)) && !signal.aborted) yield { kind: "heartbeat" };
        if (control.connected()) due ??= "repaint";
        continue;
      }
      if (due !== null) {
        const why = due as Why;
        const restMs = why === "skipped" ? skippedMs + skipGapMs - clock.monotonicMs() : 0;
        if (restMs > 0) await sleep(clock, restMs, signal);
        const picture = await takePicture((parts) => readPicture(target, parts)).catch(() => undefined);
        if (picture === null) return;
        if (picture === undefined) {
          // The connection broke: its next event wakes us.
          due ??= why;
          await pause(skipGapMs);
          continue;
        }
        if (why === "skipped") skippedMs = clock.monotonicMs();
        size = `${picture.width}x${picture.height}`;
        quiet = true;
        yield { kind: "picture", why, width: picture.width, height: picture.height };
        yield { kind: "bytes", bytes: encoder.encode(picture.text) };
        continue;
      }
      const [bytes] = waiting;
      if (bytes !== undefined) {
        const all = waiting.length === 1 ? bytes : Buffer.concat(waiting);
        drop();
        yield { kind: "bytes", bytes: all };
        continue;
      }
      if (await pause(quiet ? heartbeatMs : idleMs)) continue;
      if (signal.aborted) return;
      if (quiet) {
        yield { kind: "heartbeat" };
        continue;
      }
      quiet = true;
      const painted = await takePicture((parts) => {
        const now = readPicture(target, parts);
        return now && `${now.width}x${now.height}` === size ? overpaint(target, parts) : null;
      }).catch(() => null);
      if (painted === null) due ??= "repaint";
      else yield { kind: "bytes", bytes: encoder.encode(painted) };
    }
  } finally {
    for (const end of ends) end();
  }
}
