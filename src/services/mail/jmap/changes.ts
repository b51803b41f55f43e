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
  let reported: string | null = null;
  let known: string | null = null;
  let failures = 0;
  let noStreamUntilMs = 0;
  let begun = false;

  async function turn(signal: AbortSignal): Promise<number | null> {
    if (!begun) {
      begun = true;
      return firstLookMs;
    }
    try {
      const pauseMs = await look(signal);
      failures = 0;
      reported = null;
      return pauseMs;
    } catch (error) {
      report(messageOf(error));
      failures += 1;
      known = null;
      return Math.min(maxRetryMs, 1000 * 2 ** Math.min(failures - 1, 6));
    }
  }

  function report(why: string): void {
    if (why !== reported) deps.onFault?.(why);
    reported = why;
  }

  async function look(signal: AbortSignal): Promise<number> {
    if (clock.monotonicMs() >= noStreamUntilMs) {
      const followed = await follow(signal);
      if (followed || signal.aborted) return 0;
      noStreamUntilMs = clock.monotonicMs() + streamRetryMs;
    }
    if (await changed()) notify();
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

  async function changed(): Promise<boolean> {
    if (known === null) {
      const answers = await client.call([["Email/get", { ids: [] }, "state"]], { safe: true });
      known = answers.of(EmailState, "Email/get", "state").state;
      return true;
    }
    const answers = await client.call([["Email/changes", { sinceState: known }, "changes"]], { safe: true });
    const { newState, created, hasMoreChanges } = answers.of(EmailChanges, "Email/changes", "changes");
    known = hasMoreChanges ? null : newState;
    return created.length > 0 || hasMoreChanges;
  }

  const loop = createLoop({ clock, turn, onError: (error) => report(messageOf(error)) });
  loop.start();
  return () => void loop.stop();
}
