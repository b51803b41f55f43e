import type { Clock } from "../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import { parseAddress } from "../address.ts";
import { parseBody, parseSubject, planRecipients } from "../draft.ts";
import type { Mail, Mailbox, ReplyDraft } from "../mailbox.ts";
import {
  archive,
  inbox,
  parseBox,
  planList,
  planMark,
  planMove,
  sent,
  toCursor,
  type ViewState,
} from "../view-state.ts";
import type { Boxes } from "./boxes.ts";
import { applyChanges, defaultPollMs, watchArrivals } from "./changes.ts";
import type { JmapClient } from "./client.ts";
import { createEmailReader, planReply, toMail, viewStateOf } from "./emails.ts";
import { createSubmission, uploadAll } from "./submission.ts";
import type { JmapEmail } from "./wire.ts";

/**
 * A mailbox on a mail server. The server is the truth for everything, flags included; what the transport does
 * not know (notes of the operator, notices, a search that all servers understand alike) is `unsupported`. Who
 * is shown as the sender is what the message says: no server vouches for it. Source: spec/mailbox-agui.md B.
 */
export function createJmapMailbox(deps: {
  client: JmapClient;
  clock: Clock;
  ids: Ids;
  files: Pick<Files, "open">;
  address: string;
  principalId: string;
  /** See `watchArrivals`. */
  pollMs?: number;
  onFault?: (what: string) => void;
}): Mailbox {
  const { client, clock, files } = deps;
  const address = parseAddress(deps.address);
  const reader = createEmailReader(client);
  const submission = createSubmission({ client, ids: deps.ids, address });
  const ends = new Set<() => void>();

  const shown = (email: JmapEmail, boxes: Boxes) => toMail(email, viewStateOf(email, boxes), { body: true });

  async function one(ref: string, box: string | null | undefined) {
    const { emails, boxes } = await reader.get([ref]);
    const [email] = emails;
    if (!email) throw new ServiceError("not_found", "this mailbox holds no such message");
    const state = viewStateOf(email, boxes, box?.trim());
    if (box != null && box.trim() !== state.box) {
      throw new ServiceError("invalid_request", `the message is not in that box but in ${state.box}`);
    }
    return { email, boxes, state };
  }

  async function change(
    refs: readonly string[],
    plan: (state: ViewState, email: JmapEmail) => ViewState,
  ): Promise<Mail[]> {
    if (refs.length === 0) throw new ServiceError("invalid_request", "no message is named");
    const { emails, boxes } = await reader.get(refs);
    const changes = emails.map((email) => ({ email, state: plan(viewStateOf(email, boxes), email) }));
    await applyChanges(client, boxes, changes);
    return changes.map(({ email, state }) => toMail(email, state, { body: email.bodyValues != null }));
  }

  /** To where the message was delivered: what the owner sent does not come back as mail to him. */
  function homeOf({ from, to, cc }: JmapEmail): string {
    const isOwn = ({ email }: { email: string }) => email.toLowerCase() === address.toLowerCase();
    const received = [...(to ?? []), ...(cc ?? [])].some(isOwn);
    return from?.some(isOwn) && !received ? sent : inbox;
  }

  /** What of a draft goes out, its attachments taken to the server. */
  async function content({ body, attachments, notifyBlock, notifyAuth }: ReplyDraft) {
    if (notifyBlock || notifyAuth) throw unsupported("carries neither notify_block nor notify_auth");
    const text = parseBody(body);
    return { body: text, attachments: await uploadAll({ client, files }, attachments) };
  }

  return {
    transport: "jmap",
    principalId: deps.principalId,
    address,
    capabilities: { post: false, notify: false, search: false, refusesUnknownRecipients: false },
    async list(query) {
      if (query.query !== null) throw unsupported("cannot search");
      const plan = planList(query);
      if (!plan) return { messages: [], nextCursor: null };
      const { emails, boxes, next } = await reader.page(plan, { body: query.includeBody });
      return {
        messages: emails.map((email) =>
          toMail(email, viewStateOf(email, boxes, plan.box), { body: query.includeBody }),
        ),
        nextCursor: next && toCursor(next),
      };
    },
    async peek(ref, options) {
      const { email, state } = await one(ref, options?.box);
      return toMail(email, state, { body: true });
    },
    async read(ref, options) {
      const { email, boxes, state } = await one(ref, options?.box);
      // The flag alone: a message in several boxes stays in all of them.
      await applyChanges(client, boxes, [{ email, state: { ...viewStateOf(email, boxes), read: true } }]);
      return toMail(email, { ...state, read: true }, { body: true });
    },
    async send(draft) {
      const subject = parseSubject(draft.subject);
      const { to, cc } = planRecipients(draft, parseAddress);
      const message = { ...(await content(draft)), to, cc, subject, inReplyTo: [], references: [] };
      const { email, boxes } = await submission.send(message);
      return shown(email, boxes);
    },
    async post() {
      throw unsupported("takes no notes of the operator");
    },
    async reply(ref, draft) {
      const { email: parent, boxes: now } = await one(ref, null);
      const message = { ...planReply(parent), cc: [], ...(await content(draft)) };
      const state = { ...viewStateOf(parent, now), read: true, answered: true };
      const { email, boxes } = await submission.send(message, async ({ id }) => {
        try {
          await applyChanges(client, now, [{ email: parent, state }]);
        } catch (error) {
          const what = "the reply was sent; what it answers could not be marked as answered";
          throw new ServiceError(
            "transport_failed",
            `${what}: the same again marks it (${messageOf(error)})`,
            {
              cause: error,
              data: { sent: `jmap:${id}`, may_be_done: true },
            },
          );
        }
      });
      return shown(email, boxes);
    },
    mark: (refs, flags) => change(refs, (state, email) => planMark(state, flags, homeOf(email))),
    async move(refs, destination) {
      const box = parseBox(destination);
      return change(refs, (state) => planMove(state, box));
    },
    archive: (refs) => change(refs, (state) => planMove(state, archive)),
    onArrival(listener) {
      const end = watchArrivals({
        client,
        clock,
        pollMs: deps.pollMs ?? defaultPollMs,
        notify: listener,
        onFault: (why) => deps.onFault?.(`mail for ${address} is not announced: ${why}`),
      });
      ends.add(end);
      return () => {
        if (ends.delete(end)) end();
      };
    },
    close() {
      for (const end of ends) end();
      ends.clear();
    },
  };
}

function unsupported(what: string): ServiceError {
  return new ServiceError("unsupported", `a mailbox on a JMAP server ${what}`);
}
