import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { MailEnvelope, MailPrincipal } from "../../src/protocol/mail-file.ts";
import { operator, parseAddress } from "../../src/services/mail/address.ts";
import type { Verdict } from "../../src/services/mail/attestation.ts";
import {
  fileNameOf,
  mediaTypeOf,
  originHeader,
  parseBody,
  parseSubject,
  planRecipients,
  planReply,
  replyPolicyHeader,
} from "../../src/services/mail/draft.ts";
import { idOf, toMail } from "../../src/services/mail/filesystem/delivery/message-file.ts";
import { messageId } from "../../src/services/mail/filesystem/root-paths.ts";
import type { Mail, Mailbox, ReplyDraft } from "../../src/services/mail/mailbox.ts";
import { previewOf } from "../../src/services/mail/message-body.ts";
import {
  archive,
  inbox,
  parseBox,
  planList,
  planMark,
  planMove,
  sent,
  storedTime,
  toCursor,
  type ViewState,
} from "../../src/services/mail/view-state.ts";
import type { Clock } from "../../src/system/clock.ts";
import { ServiceError } from "../../src/system/errors.ts";

/**
 * Mailboxes in memory that behave as the filesystem transport does (the conformance suite holds them to it).
 */
export interface FakeMail {
  /** The mailbox of this address, made when it is first asked for; `principalId` counts then only. */
  open(address: string, principalId?: string): Mailbox;
  /** Every further call of every mailbox rejects with this, until null. */
  failWith(error: Error | null): void;
}

interface MemoryMail extends FakeMail {
  /** Verdicts on what an address sends; it is unsigned without one. */
  readonly verdicts: Map<string, Verdict>;
}

interface Held {
  number: number;
  envelope: MailEnvelope;
  body: string;
  state: ViewState;
  home: string;
}

interface Box {
  owner: MailPrincipal;
  held: Map<string, Held>;
  listeners: Set<() => void>;
}

/**
 * Messages are stamped from `clock` (default: from 2026-01-01 on), each a millisecond or more after the one
 * before.
 */
export function createFakeMail(options: { clock?: Clock } = {}): MemoryMail {
  const { clock } = options;
  const boxes = new Map<string, Box>();
  const verdicts = new Map<string, Verdict>();
  let failure: Error | null = null;
  let lastMs = Date.UTC(2026, 0, 1);
  let count = 0;

  function boxOf(address: string, principalId = `SVC-${address.split("@", 1)[0]}`): Box {
    const known = boxes.get(address);
    if (known) return known;
    const box = {
      owner: { principal_id: principalId, address },
      held: new Map(),
      listeners: new Set<() => void>(),
    };
    boxes.set(address, box);
    return box;
  }
  boxOf(operator.address, operator.principalId).owner.role = operator.role;

  function registered(address: string): MailPrincipal {
    const box = boxes.get(parseAddress(address));
    if (!box) throw new ServiceError("invalid_request", "no mailbox has the address");
    return box.owner;
  }

  function deliver(
    message: Pick<MailEnvelope, "from" | "to" | "cc" | "subject"> & Partial<MailEnvelope>,
    draft: ReplyDraft,
  ): Held {
    lastMs = Math.max(lastMs + 1, clock?.nowMs() ?? 0);
    count += 1;
    const time = storedTime(lastMs);
    const id = messageId(
      `${time.slice(0, 19).replaceAll(/[-:]/g, "")}Z`,
      count.toString(16).padStart(32, "0"),
    );
    const body = parseBody(draft.body);
    const envelope: MailEnvelope = {
      protocol_version: 3,
      message_id: id,
      thread_id: id,
      in_reply_to: null,
      references: [],
      created_at_utc: time,
      reply_to: [],
      headers: {},
      attachments: draft.attachments.map((one, index) => attach(one.path, one.label, `${count}-${index}`)),
      notify_block: draft.notifyBlock,
      notify_auth: draft.notifyAuth,
      ...message,
    };
    const receivers = new Set([...envelope.to, ...envelope.cc].map((one) => one.address));
    const homes = new Map([
      [envelope.from.address, sent],
      ...[...receivers].map((one) => [one, inbox] as const),
    ]);
    for (const [address, home] of homes) {
      const state = { box: home, read: home === sent, answered: false };
      const { held } = boxOf(address);
      held.set(id, { number: held.size + 1, envelope, body, state, home });
      if (home === inbox) for (const listener of boxOf(address).listeners) queueMicrotask(listener);
    }
    return boxOf(envelope.from.address).held.get(id) as Held;
  }

  function open(address: string, principalId?: string): Mailbox {
    const box = boxOf(parseAddress(address), principalId);

    const holding = (ref: string): Held => {
      const numbered = [...box.held.values()].find(({ number }) => String(number) === ref);
      const held = numbered ?? box.held.get(idOf(ref));
      if (!held) throw new ServiceError("not_found", "this mailbox holds no such message");
      return held;
    };
    const shown = ({ number, envelope, body, state }: Held, withBody = true): Mail =>
      toMail({
        envelope,
        state,
        number,
        preview: previewOf(body),
        body: withBody ? body : null,
        verdict: verdicts.get(envelope.from.address) ?? { state: "unsigned" },
        locate: (path) => path,
      });
    const change = (refs: readonly string[], plan: (held: Held) => ViewState): Mail[] => {
      if (refs.length === 0) throw new ServiceError("invalid_request", "no message is named");
      const planned = refs.map((ref) => {
        const held = holding(ref);
        return { held, state: plan(held) };
      });
      for (const { held, state } of planned) held.state = state;
      return planned.map(({ held }) => shown(held));
    };
    const looking = (ref: string, from: string | null | undefined): Held => {
      const held = holding(ref);
      if (from !== null && from !== undefined && from !== held.state.box) {
        throw new ServiceError("invalid_request", `the message is in the box ${held.state.box}`);
      }
      return held;
    };
    const act = async <T>(run: () => T): Promise<T> => {
      if (failure) throw failure;
      return run();
    };

    return {
      transport: "filesystem",
      principalId: box.owner.principal_id,
      address: box.owner.address,
      capabilities: { post: true, notify: true, search: true, refusesUnknownRecipients: true },
      list: (query) =>
        act(() => {
          const plan = planList(query);
          if (!plan) return { messages: [], nextCursor: null };
          const key = (held: Held) => `${held.envelope.created_at_utc} ${held.envelope.message_id}`;
          const { words, after, sinceUtc } = plan;
          const found = [...box.held.values()]
            .filter(({ state }) => state.box === plan.box)
            .filter(({ state }) => plan.read === null || state.read === plan.read)
            .filter(({ state }) => plan.answered === null || state.answered === plan.answered)
            .filter(({ envelope }) => sinceUtc === null || envelope.created_at_utc >= sinceUtc)
            .filter((held) => words === null || words.every((word) => occurs(held, word)))
            .filter((held) => !after || key(held) < `${after.createdAtUtc} ${after.messageId}`)
            .sort((left, right) => (key(left) < key(right) ? 1 : -1));
          const page = plan.limit === null ? found : found.slice(0, plan.limit);
          const last = page.at(-1)?.envelope;
          return {
            messages: page.map((held) => shown(held, query.includeBody)),
            nextCursor:
              last && page.length < found.length
                ? toCursor({ createdAtUtc: last.created_at_utc, messageId: last.message_id })
                : null,
          };
        }),
      peek: (ref, options) => act(() => shown(looking(ref, options?.box))),
      read: (ref, options) =>
        act(() => {
          const held = looking(ref, options?.box);
          held.state = { ...held.state, read: true };
          return shown(held);
        }),
      send: (draft) =>
        act(() => {
          const { to, cc } = planRecipients(draft, parseAddress);
          const message = { from: box.owner, to: to.map(registered), cc: cc.map(registered) };
          return shown(deliver({ ...message, subject: parseSubject(draft.subject) }, draft));
        }),
      post: (draft) =>
        act(() => {
          const from = registered(operator.address);
          const { envelope } = deliver(
            {
              from,
              to: [box.owner],
              cc: [],
              reply_to: draft.replyPolicy === "operator_mailbox" ? [from] : [],
              subject: parseSubject(draft.subject),
              headers: { [originHeader]: "operator", [replyPolicyHeader]: draft.replyPolicy },
            },
            draft,
          );
          return shown(holding(envelope.message_id));
        }),
      reply: (ref, draft) =>
        act(() => {
          const parent = holding(ref);
          const { subject, to, threadId, inReplyTo, references, headers } = planReply(parent.envelope);
          const thread = { thread_id: threadId, in_reply_to: inReplyTo, references, headers };
          const message = { from: box.owner, to: to.map((one) => registered(one.address)), cc: [], subject };
          const reply = deliver({ ...message, ...thread }, draft);
          parent.state = { ...parent.state, read: true, answered: true };
          return shown(reply);
        }),
      mark: (refs, flags) => act(() => change(refs, ({ state, home }) => planMark(state, flags, home))),
      move: (refs, destination) =>
        act(() => {
          const target = parseBox(destination);
          return change(refs, ({ state }) => planMove(state, target));
        }),
      archive: (refs) => act(() => change(refs, ({ state }) => planMove(state, archive))),
      onArrival(listener) {
        box.listeners.add(listener);
        return () => void box.listeners.delete(listener);
      },
      close() {},
    };
  }

  return {
    open,
    verdicts,
    failWith(error) {
      failure = error;
    },
  };
}

function occurs({ envelope, body }: Held, word: string): boolean {
  const text = `${envelope.subject} ${envelope.from.address} ${body}`.toLowerCase();
  return text.split(/[^\p{L}\p{N}]+/u).some((one) => one.startsWith(word.toLowerCase()));
}

function attach(path: string, label: string | null | undefined, number: string) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new ServiceError("invalid_request", "an attachment is not a regular file");
  const name = fileNameOf(path);
  return {
    attachment_id: `att-${number.replace("-", "").padStart(12, "0")}`,
    kind: "path_ref" as const,
    path,
    media_type: mediaTypeOf(name),
    sha256: createHash("sha256").update(readFileSync(path)).digest("hex"),
    size_bytes: found.size,
    label: label ?? name,
  };
}
