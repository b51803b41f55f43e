import { type Clock, sleep } from "../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { createLoop } from "../../../system/lifecycle.ts";
import { createEventParser } from "../../../system/server-sent-events.ts";
import type { ViewState } from "../view-state.ts";
import { type Boxes, ensureBoxes } from "./boxes.ts";
import type { JmapClient } from "./client.ts";
import { keyword, viewStateOf } from "./emails.ts";
import { EmailChanges, EmailState, type JmapEmail, SetReply, toSetFailure } from "./wire.ts";

interface EmailChange {
  email: JmapEmail;
  state: ViewState;
}

type Patch = Record<string, true | null | Record<string, true>>;

/**
 * Brings messages to the states given, all of them or none: should the server change some and refuse others,
 * the first are put back. Throws ServiceError.
 */
export async function applyChanges(
  client: JmapClient,
  boxes: Boxes,
  changes: readonly EmailChange[],
): Promise<void> {
  const moved = changes.filter(({ email, state }) => state.box !== viewStateOf(email, boxes).box);
  const wanted = [...new Set(moved.map(({ state }) => state.box))];
  const missing = wanted.some((box) => boxes.idOf(box) === undefined);
  const present = missing ? await ensureBoxes(client, wanted) : boxes;
  const patches = new Map<string, Patch>();
  for (const change of changes) {
    const patch = toPatch(change, present);
    if (Object.keys(patch).length > 0) patches.set(change.email.id, patch);
  }
  if (patches.size === 0) return;
  const refused = await update(client, Object.fromEntries(patches));
  const [first] = Object.values(refused);
  if (!first) return;
  const done = changes.filter(({ email }) => patches.has(email.id) && !Object.hasOwn(refused, email.id));
  await putBack(client, done);
  throw toSetFailure("the JMAP server refused a change; nothing was changed", first);
}

/** Only what differs is named. Keywords are set by true and unset by null. Pure. */
export function toPatch({ email, state }: EmailChange, boxes: Boxes): Patch {
  const now = viewStateOf(email, boxes);
  const patch: Patch = {};
  if (state.read !== now.read) patch[`keywords/${keyword.read}`] = state.read || null;
  if (state.answered !== now.answered) patch[`keywords/${keyword.answered}`] = state.answered || null;
  if (state.box !== now.box) patch["mailboxIds"] = { [boxes.idOf(state.box) ?? ""]: true };
  return patch;
}

async function update(client: JmapClient, patches: Record<string, Patch>) {
  // The same patches again change nothing more.
  const answers = await client.call([["Email/set", { update: patches }, "set"]], { safe: true });
  return answers.of(SetReply, "Email/set", "set").notUpdated ?? {};
}

async function putBack(client: JmapClient, changes: readonly EmailChange[]): Promise<void> {
  if (changes.length === 0) return;
  const patches = changes.map(({ email }): [string, Patch] => [
    email.id,
    {
      mailboxIds: Object.fromEntries(
        Object.entries(email.mailboxIds).flatMap(([id, inside]) => (inside ? [[id, true]] : [])),
      ),
      [`keywords/${keyword.read}`]: email.keywords[keyword.read] || null,
      [`keywords/${keyword.answered}`]: email.keywords[keyword.answered] || null,
    },
  ]);
  const say = (why: string) =>
    new ServiceError("transport_failed", `the JMAP server changed some of the messages only: ${why}`);
  try {
    const [first] = Object.values(await update(client, Object.fromEntries(patches)));
    if (first) throw say(first.type);
  } catch (error) {
    throw error instanceof ServiceError ? error : say(messageOf(error));
  }
}

/** How often a server without an event stream is asked whether mail came. */
export const defaultPollMs = 5000;

const firstLookMs = 500;
const maxRetryMs = 60_000;
/** A server pings twice in this time; one that is silent for longer is gone. */
const silenceMs = 75_000;
/** When a server without a working stream is asked for one again. */
const streamRetryMs = 300_000;

export interface ArrivalsState {
  /** The first look waits for what else begins with the mailbox. */
  isBegun: boolean;
  /** The server's state of the mail as of the last answer; null: the next look asks for it. */
  mailState: string | null;
  /** Looks that failed in a row. */
  failures: number;
  /** The last failure, as it was reported; null since the server answered. */
  reported: string | null;
  /** Until then the server is not asked for a stream. Monotonic. */
  noStreamUntilMs: number;
}

export type ArrivalsEvent =
  | { kind: "began" }
  /** `mailState`: null when more changes remain than one answer has. */
  | { kind: "asked"; mailState: string | null }
  | { kind: "stream_absent"; nowMs: number }
  | { kind: "looked" }
  | { kind: "failed"; why: string };

export const initialState: ArrivalsState = {
  isBegun: false,
  mailState: null,
  failures: 0,
  reported: null,
  noStreamUntilMs: 0,
};

/** Pure. */
export function next(state: ArrivalsState, event: ArrivalsEvent): ArrivalsState {
  switch (event.kind) {
    case "began":
      return { ...state, isBegun: true };
    case "asked":
      return { ...state, mailState: event.mailState };
    case "stream_absent":
      return { ...state, noStreamUntilMs: event.nowMs + streamRetryMs };
    case "looked":
      return { ...state, failures: 0, reported: null };
    case "failed":
      // What came meanwhile is unknown: the next answer is a reason to look.
      return { ...state, failures: state.failures + 1, reported: event.why, mailState: null };
  }
}

/** The pause after a failed look. Pure. */
export function retryAfterMs({ failures }: Pick<ArrivalsState, "failures">): number {
  return Math.min(maxRetryMs, 1000 * 2 ** Math.min(failures - 1, 6));
}

/**
 * Calls `notify` after mail may have come: by the server's event stream where it has one, else by asking for
 * changes every `pollMs`; also whenever the server is reached again. After a failure it tries again, in
 * growing pauses of at most a minute; `onFault` gets each distinct failure once, until the server answers.
 * Returns the function that ends it.
 */
export function watchArrivals(deps: {
  client: JmapClient;
  clock: Clock;
  pollMs: number;
  notify: () => void;
  onFault?: (why: string) => void;
}): () => void {
  const { client, clock, notify, pollMs } = deps;
  let state = initialState;

  function apply(event: ArrivalsEvent): void {
    const { reported } = state;
    state = next(state, event);
    if (state.reported !== null && state.reported !== reported) deps.onFault?.(state.reported);
  }

  async function turn(signal: AbortSignal): Promise<number | null> {
    if (!state.isBegun) {
      apply({ kind: "began" });
      return firstLookMs;
    }
    try {
      const pauseMs = await look(signal);
      apply({ kind: "looked" });
      return pauseMs;
    } catch (error) {
      apply({ kind: "failed", why: messageOf(error) });
      return retryAfterMs(state);
    }
  }

  async function look(signal: AbortSignal): Promise<number> {
    if (clock.monotonicMs() >= state.noStreamUntilMs) {
      const isFollowed = await follow(signal);
      if (isFollowed || signal.aborted) return 0;
      apply({ kind: "stream_absent", nowMs: clock.monotonicMs() });
    }
    if (await askForChanges()) notify();
    return pollMs;
  }

  /** Resolves at the end of the stream with true, or with false when there is none. */
  async function follow(signal: AbortSignal): Promise<boolean> {
    const silence = new AbortController();
    const both = AbortSignal.any([signal, silence.signal]);
    const stream = await client.openEvents(["Email", "EmailDelivery"], both).catch(() => null);
    if (stream === null) return false;
    // The stream says nothing of mail that came before it.
    notify();
    let cancel = () => {};
    const heard = () => {
      cancel();
      cancel = clock.after(silenceMs, () => silence.abort());
    };
    heard();
    try {
      const parse = createEventParser();
      for await (const bytes of stream) {
        heard();
        if (parse(bytes).some(({ name }) => name === "state")) notify();
      }
    } catch (error) {
      if (!silence.signal.aborted) throw error;
    } finally {
      cancel();
    }
    await sleep(clock, 1000, signal);
    return true;
  }

  /** Whether mail may have come. */
  async function askForChanges(): Promise<boolean> {
    const { mailState: sinceState } = state;
    if (sinceState === null) {
      const answers = await client.call([["Email/get", { ids: [] }, "state"]], { safe: true });
      apply({ kind: "asked", mailState: answers.of(EmailState, "Email/get", "state").state });
      return true;
    }
    const answers = await client.call([["Email/changes", { sinceState }, "changes"]], { safe: true });
    const { newState, created, hasMoreChanges } = answers.of(EmailChanges, "Email/changes", "changes");
    apply({ kind: "asked", mailState: hasMoreChanges ? null : newState });
    return created.length > 0 || hasMoreChanges;
  }

  const loop = createLoop({
    clock,
    turn,
    onError: (error) => apply({ kind: "failed", why: messageOf(error) }),
  });
  loop.start();
  return () => void loop.stop();
}
