import type { Selection } from "../../../db/mailbox/state.ts";
import type { MailParticipant } from "../../../protocol/mail.ts";
import { maxListed } from "../../../protocol/wire.ts";
import { parseTimestamp, toTimestamp } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import { hopsOf } from "../draft.ts";
import type { Mail } from "../mailbox.ts";
import { previewOf } from "../message-body.ts";
import { createAnswerBudget, isArchived, type ViewState } from "../view-state.ts";
import { type Boxes, boxToList, mailboxGet, readBoxes, toBoxes } from "./boxes.ts";
import type { JmapClient } from "./client.ts";
import type { JmapSession } from "./session.ts";
import {
  BodyGet,
  EmailGet,
  EmailQuery,
  emailProperties,
  type JmapAddress,
  type JmapEmail,
  MailboxGet,
} from "./wire.ts";

/** Messages of a JMAP server in the form of this service. Source: spec/mailbox-agui.md A3, A9, B. Pure. */

const refPrefix = "jmap:";
const threadPrefix = "jmap-thread:";

export const keyword = { read: "$seen", answered: "$answered", draft: "$draft" } as const;

/** The id in a reference of this transport; a bare id is one too. Throws `invalid_request` for another's. */
export function emailIdOf(ref: string): string {
  if (ref.startsWith(refPrefix)) return ref.slice(refPrefix.length);
  if (!ref.includes(":")) return ref;
  throw new ServiceError("invalid_request", `a message reference of this mailbox begins with ${refPrefix}`);
}

export function viewStateOf(email: JmapEmail, boxes: Boxes, preferredBox?: string): ViewState {
  return {
    box: boxes.boxOf(email.mailboxIds, preferredBox),
    read: email.keywords[keyword.read] === true,
    answered: email.keywords[keyword.answered] === true,
  };
}

/** `body`: whether the text is included. */
export function toMail(email: JmapEmail, state: ViewState, { body }: { body: boolean }): Mail {
  const { box, read, answered } = state;
  const hops = hopsOf(email["header:X-Svc-Hops:asText"]);
  const receivedMs = parseTimestamp(email.receivedAt);
  if (receivedMs === null)
    throw new ServiceError("transport_failed", "the JMAP server returned an invalid time");
  return {
    message_ref: `${refPrefix}${email.id}`,
    thread_ref: `${threadPrefix}${email.threadId}`,
    created_at_utc: toTimestamp(receivedMs),
    subject: email.subject?.trim() || "(no subject)",
    read,
    answered,
    archived: isArchived(box),
    box,
    unread: !read,
    body_preview: previewOf(email.preview ?? ""),
    body_text: body ? bodyOf(email) : null,
    sender: toParticipant(email.from?.[0] ?? { email: "" }),
    to: (email.to ?? []).map(toParticipant),
    cc: (email.cc ?? []).map(toParticipant),
    reply_to: (email.replyTo ?? []).map(toParticipant),
    attachments: (email.attachments ?? []).map(({ blobId, type, size, name }) => ({
      attachment_id: blobId ?? "",
      kind: "transport_owned" as const,
      media_type: type ?? "application/octet-stream",
      locator: blobId ? `blob:${blobId}` : null,
      size_bytes: size ?? null,
      sha256: null,
      label: name ?? null,
    })),
    notify_block: null,
    notify_auth: null,
    // A mail server does not prove who the sender of a message is.
    attestation: "unsigned",
    ...(hops === 0 ? {} : { hops }),
  };
}

/** Whether a part of the text was left out, since it is long. */
function isCut({ bodyValues }: JmapEmail): boolean {
  return Object.values(bodyValues ?? {}).some(({ isTruncated }) => isTruncated === true);
}

/** The newline that ends the last line belongs to the wire: it is added on sending and removed on reading. */
export function toWireBody(body: string): string {
  return `${body}\n`;
}

function bodyOf({ textBody, bodyValues }: JmapEmail): string {
  const text = (textBody ?? []).map(({ partId }) => bodyValues?.[partId ?? ""]?.value ?? "").join("");
  return text.replaceAll("\r\n", "\n").replace(/\n$/, "");
}

function toParticipant({ email, name }: JmapAddress): MailParticipant {
  return { address: email, display_name: name?.trim() || null, principal_id: null };
}

/** A long thread names its root and the latest of its messages. */
const maxReferences = 100;

/** How a reply refers to its parent. Throws `invalid_request` when nobody can be answered. Pure. */
export function planReply(parent: JmapEmail): {
  to: string[];
  subject: string;
  inReplyTo: string[];
  references: string[];
  hops: number;
} {
  const to = (parent.replyTo?.length ? parent.replyTo : (parent.from ?? [])).map(({ email }) => email);
  if (to.length === 0) throw new ServiceError("invalid_request", "the message does not say who wrote it");
  const subject = parent.subject?.trim() || "(no subject)";
  const inReplyTo = (parent.messageId ?? []).slice(-1);
  const all = [...(parent.references ?? []), ...inReplyTo];
  return {
    to,
    subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`,
    inReplyTo,
    hops: hopsOf(parent["header:X-Svc-Hops:asText"]) + 1,
    references: all.length > maxReferences ? [...all.slice(0, 1), ...all.slice(1 - maxReferences)] : all,
  };
}

type Position = NonNullable<Selection["after"]>;

/** A longer body is fetched by itself. */
const bodyBytes = 256 * 1024;
/** Most of a body that is fetched at all; an answer holds no more of texts. */
const maxBodyBytes = 8 * 2 ** 20;
/** Most messages that are asked for at a time, without and with their bodies. */
const pageSize = 256;
const pageSizeWithBodies = 32;

export function createEmailReader(client: JmapClient) {
  let known: Boxes | null = null;

  const bodyArgs = (maxBodyValueBytes: number) => ({ fetchTextBodyValues: true, maxBodyValueBytes });

  /** With the whole text in the place of one that was cut. */
  async function whole(email: JmapEmail): Promise<JmapEmail> {
    if (!isCut(email)) return email;
    const { id } = email;
    const args = { ids: [id], properties: ["id", "bodyValues"], ...bodyArgs(maxBodyBytes) };
    const answers = await client.call([["Email/get", args, "whole"]], { safe: true });
    const [found] = answers.of(BodyGet, "Email/get", "whole").list;
    return { ...email, bodyValues: found?.bodyValues ?? email.bodyValues ?? null };
  }

  async function fetchPage(
    boxId: string,
    plan: Selection,
    after: Position | null,
    body: boolean,
    { offset, size }: { offset: number; size: number },
  ) {
    const query = {
      filter: toFilter(boxId, plan, after),
      sort: newestFirst(await client.session()),
      position: offset,
      limit: size,
    };
    const get = {
      "#ids": { resultOf: "query", name: "Email/query", path: "/ids" },
      properties: emailProperties,
      ...(body ? bodyArgs(bodyBytes) : {}),
    };
    const answers = await client.call(
      [["Email/query", query, "query"], ["Email/get", get, "get"], mailboxGet("boxes")],
      { safe: true },
    );
    const boxes = toBoxes(answers.of(MailboxGet, "Mailbox/get", "boxes").list);
    known = boxes;
    if (boxes.idOf(plan.box) !== boxId) return null;
    const { ids, limit } = answers.of(EmailQuery, "Email/query", "query");
    const byId = new Map(answers.of(EmailGet, "Email/get", "get").list.map((email) => [email.id, email]));
    // A message may be destroyed between the two calls.
    const found = ids.flatMap((id) => byId.get(id) ?? []);
    return {
      emails: found.filter(isBehind(after)),
      all: ids.length < Math.min(size, limit ?? size),
      count: ids.length,
      boxes,
    };
  }

  return {
    /**
     * In the order of `refs`; texts beyond what one answer holds are null. Throws `not_found` when one of them
     * is not here.
     */
    async get(refs: readonly string[]): Promise<{ emails: JmapEmail[]; boxes: Boxes }> {
      const ids = refs.map(emailIdOf);
      const { maxObjects } = await client.session();
      if (ids.length > maxObjects) {
        throw new ServiceError("invalid_request", `at most ${maxObjects} messages at a time`);
      }
      const budget = createAnswerBudget();
      const emails: JmapEmail[] = [];
      let boxes: Boxes | null = null;
      for (let from = 0; boxes === null || from < ids.length; from += pageSizeWithBodies) {
        const part = ids.slice(from, from + pageSizeWithBodies);
        const args = { ids: part, properties: emailProperties, ...bodyArgs(bodyBytes) };
        const answers = await client.call([["Email/get", args, "get"], mailboxGet("boxes")], { safe: true });
        const { list } = answers.of(EmailGet, "Email/get", "get");
        const byId = new Map(list.map((email) => [email.id, email]));
        boxes = toBoxes(answers.of(MailboxGet, "Mailbox/get", "boxes").list);
        for (const id of part) {
          const email = byId.get(id);
          if (!email) throw new ServiceError("not_found", "this mailbox holds no such message");
          const shown = await whole(email);
          const fits = budget.takes(JSON.stringify(shown.bodyValues ?? null).length) || ids.length === 1;
          emails.push(fits ? shown : { ...shown, bodyValues: null });
        }
      }
      known = boxes;
      return { emails, boxes };
    },
    /** `next`: where more begins, or null. Throws `invalid_request` for a box that nobody has. */
    async page(
      plan: Selection,
      { body }: { body: boolean },
    ): Promise<{
      emails: JmapEmail[];
      boxes: Boxes;
      next: Position | null;
    }> {
      const { maxObjects } = await client.session();
      const max = Math.min(plan.limit ?? maxListed, maxListed);
      const atOnce = body ? pageSizeWithBodies : pageSize;
      const budget = createAnswerBudget();
      const emails: JmapEmail[] = [];
      let position = plan.after;
      let offset = 0;
      for (;;) {
        // What is not known yet may have been made since.
        if (known?.idOf(plan.box) === undefined) known = await readBoxes(client);
        const boxes: Boxes = known;
        const boxId = boxToList(boxes, plan.box);
        if (boxId === null) return { emails, boxes, next: null };
        const wanted = max - emails.length;
        // One more shows whether there is a next page; messages of the last page come again and are passed
        // over.
        const size = Math.min(Math.min(wanted + 1, atOnce) + returnedAt(position).length, maxObjects);
        const page = await fetchPage(boxId, plan, position, body, { offset, size }).catch(
          (error: unknown) => {
            known = null;
            throw error;
          },
        );
        // The box is another one by now.
        if (page === null) continue;
        const taken: JmapEmail[] = [];
        let full = false;
        for (const email of page.emails.slice(0, wanted)) {
          const shown = body ? await whole(email) : email;
          const first = emails.length + taken.length === 0;
          full = !budget.takes(JSON.stringify(shown).length) && !first;
          if (full) break;
          taken.push(shown);
        }
        emails.push(...taken);
        position = positionAfter(taken, position);
        const more = !page.all || page.emails.length > taken.length;
        if (full || emails.length >= max || !more) {
          return { emails, boxes: page.boxes, next: more ? position : null };
        }
        // A server may give so few that all of them were on the last page.
        offset = taken.length === 0 ? offset + page.count : 0;
      }
    },
  };
}

// Pages of a box. A server gives times in whole seconds and orders ids as it likes, so a position is a second
// with the messages of it that were returned already; `messageId` of a cursor holds them.

/** Newest first; of one second the server decides, by the ids where it can. */
function newestFirst({ sortsById }: Pick<JmapSession, "sortsById">) {
  const byTime = { property: "receivedAt", isAscending: false };
  return sortsById ? [byTime, { property: "id", isAscending: false }] : [byTime];
}

/** All conditions hold on the server, before it counts to the limit. */
export function toFilter(boxId: string, plan: Selection, after: Position | null): Record<string, unknown> {
  const flag = (name: string, wanted: boolean | null) =>
    wanted === null ? [] : [wanted ? { hasKeyword: name } : { notKeyword: name }];
  return {
    operator: "AND",
    conditions: [
      { inMailbox: boxId },
      ...flag(keyword.read, plan.read),
      ...flag(keyword.answered, plan.answered),
      ...(plan.sinceUtc === null ? [] : [{ after: toUtc(Math.ceil(secondsOf(plan.sinceUtc)) * 1000) }]),
      // The end of that second. Not the next one: Cyrus 3.6 takes `before` to include the time itself.
      ...(after === null ? [] : [{ before: toUtc(Math.floor(secondsOf(after.createdAtUtc)) * 1000 + 999) }]),
    ],
  };
}

/** Whether a message comes after a position; those of its second come with it once more. */
function isBehind(position: Position | null): (email: JmapEmail) => boolean {
  if (position === null) return () => true;
  const returned = new Set(returnedAt(position));
  const latest = secondsOf(position.createdAtUtc);
  return ({ id, receivedAt }) => !returned.has(id) && secondsOf(receivedAt) <= latest;
}

function returnedAt(position: Position | null): string[] {
  return position === null ? [] : position.messageId.split(",");
}

/** Where the next page begins; `page`: the messages of this one, at least one. */
function positionAfter(page: readonly JmapEmail[], before: Position | null): Position | null {
  const last = page.at(-1);
  if (!last) return before;
  const returned = page.filter(({ receivedAt }) => receivedAt === last.receivedAt).map(({ id }) => id);
  const earlier = before?.createdAtUtc === last.receivedAt ? returnedAt(before) : [];
  return { createdAtUtc: last.receivedAt, messageId: [...earlier, ...returned].join(",") };
}

function secondsOf(timestamp: string): number {
  return (parseTimestamp(timestamp) ?? 0) / 1000;
}

/** A time as servers take it. */
function toUtc(epochMs: number): string {
  return toTimestamp(epochMs).replace(/(\.000)?\+00:00$/, "Z");
}
