import { ServiceError } from "../../../system/errors.ts";
import { shown } from "../address.ts";
import { archive, inbox, sent } from "../view-state.ts";
import type { JmapClient } from "./client.ts";
import { boxProperties, firstRefusal, type JmapBox, MailboxGet, SetReply, toSetFailure } from "./wire.ts";

/**
 * The boxes of an account by the names that callers use: a role where there is one, else the server's name.
 */
export interface Boxes {
  names: readonly string[];
  idOf(box: string): string | undefined;
  /** The one box in which a message counts as lying; `preferred` when it lies there too. */
  boxOf(mailboxIds: Readonly<Record<string, boolean>>, preferred?: string): string;
}

export const drafts = "drafts";

/** Boxes that every mailbox is expected to have: made when they are needed, empty until then. */
const expected: Readonly<Record<string, string>> = {
  [archive]: "Archive",
  [sent]: "Sent",
  [drafts]: "Drafts",
};

/** In which order a message in several boxes is looked for. */
const order = [inbox, archive, sent, drafts];

export const mailboxGet = (callId: string) =>
  ["Mailbox/get", { ids: null, properties: boxProperties }, callId] as const;

/** Pure. */
export function toBoxes(list: readonly JmapBox[]): Boxes {
  const idOf = new Map<string, string>();
  const nameOf = new Map<string, string>();
  const take = (name: string, id: string) => {
    const free = idOf.has(name) ? `${name} ${id}` : name;
    idOf.set(free, id);
    nameOf.set(id, free);
  };
  for (const { id, role } of list) if (role) take(role, id);
  const others = list.filter(({ role }) => !role);
  // Those at the top keep their name when one further down has the same.
  for (const { id, name } of others.filter(({ parentId }) => !parentId)) take(name, id);
  for (const { id, name } of others.filter(({ parentId }) => parentId)) take(name, id);
  return {
    names: [...idOf.keys()],
    idOf: (box) => idOf.get(box),
    boxOf(mailboxIds, preferred) {
      const inside = Object.keys(mailboxIds).flatMap((id) => nameOf.get(id) ?? []);
      if (preferred !== undefined && inside.includes(preferred)) return preferred;
      return order.find((box) => inside.includes(box)) ?? inside.sort()[0] ?? "";
    },
  };
}

/** The box to list, or null where it is only not there yet. Throws `invalid_request` for any other. */
export function boxToList(boxes: Boxes, box: string): string | null {
  const id = boxes.idOf(box);
  if (id !== undefined) return id;
  if (Object.hasOwn(expected, box)) return null;
  throw new ServiceError("invalid_request", `there is no such box; there are ${boxes.names.join(", ")}`);
}

export async function readBoxes(client: JmapClient): Promise<Boxes> {
  const answers = await client.call([mailboxGet("boxes")], { safe: true });
  return toBoxes(answers.of(MailboxGet, "Mailbox/get", "boxes").list);
}

/** The boxes with all of `wanted` among them; those that are missing are made. */
export async function ensureBoxes(client: JmapClient, wanted: readonly string[]): Promise<Boxes> {
  const boxes = await readBoxes(client);
  const missing = wanted.filter((box) => boxes.idOf(box) === undefined);
  if (missing.length === 0) return boxes;
  for (const box of missing) await make(client, boxes, box);
  return readBoxes(client);
}

async function make(client: JmapClient, boxes: Boxes, box: string): Promise<void> {
  const name = expected[box];
  const same = name === undefined ? undefined : boxes.idOf(name);
  const change =
    same === undefined
      ? { create: { box: { name: name ?? box, role: name === undefined ? null : box, parentId: null } } }
      : { update: { [same]: { role: box } } };
  const answers = await client.call([["Mailbox/set", change, "made"]], { safe: false });
  const refusal = firstRefusal(answers.of(SetReply, "Mailbox/set", "made"));
  // Someone else may have made it meanwhile: then it is there now.
  if (refusal && (await readBoxes(client)).idOf(box) === undefined) {
    throw toSetFailure(`the box ${shown(box)} could not be made`, refusal);
  }
}
