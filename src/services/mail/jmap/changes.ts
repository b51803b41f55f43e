import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { ViewState } from "../view-state.ts";
import { type Boxes, ensureBoxes } from "./boxes.ts";
import type { JmapClient } from "./client.ts";
import { keyword, viewStateOf } from "./message.ts";
import { type JmapEmail, SetReply, toSetFailure } from "./wire.ts";

export interface EmailChange {
  email: JmapEmail;
  state: ViewState;
}

type Patch = Record<string, true | null | Record<string, true>>;

/**
 * Brings messages to the states given, all of them or none: should the server change some and refuse others, the
 * first are put back. Throws ServiceError.
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
