import { Value } from "@sinclair/typebox/value";
import { openAttestations } from "../../../db/mailbox/attestations.ts";
import type { RegistrationRow } from "../../../db/mailbox/catalog.ts";
import { type HostOutbox, type OutboxEntry, openHostOutbox } from "../../../db/mailbox/host-outbox.ts";
import type { HostMailCounts } from "../../../protocol/host-states.ts";
import { HostMail, HostMailReceipt } from "../../../protocol/hosts.ts";
import { type Clock, parseTimestamp } from "../../../system/clock.ts";
import { PathRefused } from "../../../system/contained-path.ts";
import { createFaultReport, messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { createLoop } from "../../../system/lifecycle.ts";
import { quotedLine } from "../../../system/visible.ts";
import { idBesideForeign, localAddress, splitHostAddress } from "../../mail/address.ts";
import { parseBody, parseSubject } from "../../mail/draft.ts";
import { readDelivered } from "../../mail/filesystem/delivery/late-files.ts";
import { parseMessageFile, type StoredMessage } from "../../mail/filesystem/delivery/message-file.ts";
import type { MailRoot } from "../../mail/filesystem/root.ts";
import { fromHostMail, toHostMail } from "./host-mail.ts";
import type { JoinedRoots } from "./joined-roots.ts";

/**
 * How messages reach another host: kept on the way until that host has dealt with them, in the order of one
 * sender.
 */
export interface MailWay {
  /**
   * Resolves once the way keeps the message; the same `id` is kept once. Throws `too_large`, and any other
   * error when it is to be tried again.
   */
  send(host: string, id: string, message: HostMail | HostMailReceipt): Promise<void>;
}

/** A mailbox that an agent of this host uses. */
interface HostMailbox {
  agentName: string;
  root: string;
  address: string;
}

export interface MailCarrier {
  start(): void;
  stop(): Promise<void>;
  /**
   * Delivers a message of another host, and resolves when that is on disk. Throws when it is to come again.
   * `from`: proved by the way.
   */
  receive(from: string, message: unknown): Promise<void>;
  /** The way lost what it kept, perhaps: everything that is not confirmed is sent again. */
  again(): void;
  /** What waits, as of the last turn of the loop, and what was dealt with since the start. */
  counts(): HostMailCounts;
}

const pollIntervalMs = 500;
/** The way keeps a message once, however often it is sent. */
const resendAfterMs = 10 * 60_000;
const batchSize = 100;
/**
 * Then a note says to the sender that the other host has not confirmed it. This process tries for
 * `resendAfterMs` before: the host may have been off for days, or its clock wrong.
 */
const givenUpAfterMs = 3 * 24 * 3_600_000;
const maxWhy = 500;
const maxQuoted = 200;
/**
 * Mail waits only where this host has joined: other rows came with the folder, of a repository perhaps that
 * was cloned.
 */
const notOurs = "it waited in this folder before this host had joined it; send it again";

/**
 * What becomes of a message that waits in the outbox for another host:
 *
 * ```
 *   waiting ──send──> unconfirmed ──receipt of the other host──> settled
 *      │    <──ten minutes──┘ │
 *      └────give_up───────────┴──note to the sender──> settled
 * ```
 *
 * `wait`: it is on the way, or an older message to its host is, behind which it stays: were more on the way,
 * what it loses would arrive after later mail. A message that is too large for the way, and all mail that
 * waited before this host joined the folder, is given up too. Times are milliseconds, `sentMs`, `triedMs` and
 * `monotonicMs` monotonic ones; `triedMs`: since when this process tries to send to a host that confirms
 * nothing. Pure.
 */
export function decideSending(facts: {
  nowMs: number;
  monotonicMs: number;
  acceptedMs: number | null;
  sentMs: number | undefined;
  triedMs: number | undefined;
  /** An older message to the same host is unconfirmed. */
  isBehind: boolean;
}): "send" | "wait" | "give_up" {
  const { nowMs, monotonicMs, sentMs, triedMs } = facts;
  const isTriedEnough = triedMs !== undefined && monotonicMs - triedMs >= resendAfterMs;
  if (isTriedEnough && nowMs - (facts.acceptedMs ?? nowMs) > givenUpAfterMs) return "give_up";
  const isOnTheWay = sentMs !== undefined && monotonicMs - sentMs < resendAfterMs;
  return facts.isBehind || isOnTheWay ? "wait" : "send";
}

/**
 * Mail between hosts: takes what waits in the outboxes of this host's mailbox roots to where it goes, and
 * puts what comes into their mailboxes, each message in one commit. A message stays in the outbox until the
 * other host has confirmed it; the way may lose everything.
 */
export function createMailCarrier(deps: {
  clock: Clock;
  files: Files;
  host: string;
  way: MailWay;
  /** Folders of mailboxes of this host; one that cannot be opened is passed over. */
  roots: () => readonly string[];
  mailboxes: () => readonly HostMailbox[];
  joined: JoinedRoots;
  openRoot: (root: string) => MailRoot;
  log: (line: string) => void;
}): MailCarrier {
  const { clock, files, host, way } = deps;
  const open = new Map<string, MailRoot>();
  const complain = createFaultReport((about, error) => deps.log(`${about}: ${messageOf(error)}`));
  const joining = new Map<MailRoot, Promise<void>>();
  let sentAtMs = new Map<string, number>();
  /** Since when this process tries to send to a host that confirms nothing, by root and host. */
  const triedAtMs = new Map<string, number>();
  let waiting: { count: number; oldestUtc: string | null } = { count: 0, oldestUtc: null };
  const counted = { delivered: 0, refused: 0, given_up: 0 };

  function openRoots(): MailRoot[] {
    const wanted = new Set(deps.roots());
    for (const [path, root] of open) {
      if (wanted.has(path)) continue;
      root.close();
      open.delete(path);
    }
    return [...wanted].flatMap((path) => {
      try {
        const root = open.get(path) ?? deps.openRoot(path);
        open.set(path, root);
        complain(`mail of ${path}`, null);
        return [root];
      } catch (error) {
        complain(`mail of ${path}`, error);
        return [];
      }
    });
  }

  const wayOf = (root: MailRoot, to: string) => `${root.root} ${to}`;
  const keyOf = (root: MailRoot, entry: OutboxEntry) => `${wayOf(root, entry.host)} ${entry.messageId}`;

  /** Sends to each host the oldest of what waits; see `decideSending`. */
  async function drain(root: MailRoot, signal: AbortSignal): Promise<void> {
    const outbox = openHostOutbox(root.catalog);
    await join(root, signal);
    const unconfirmed = new Set<string>();
    await forEachWaiting(outbox, signal, async (entry) => {
      const { host: to } = entry;
      const decision = decideSending({
        nowMs: clock.nowMs(),
        monotonicMs: clock.monotonicMs(),
        acceptedMs: parseTimestamp(entry.acceptedAtUtc),
        sentMs: sentAtMs.get(keyOf(root, entry)),
        triedMs: triedAtMs.get(wayOf(root, to)),
        isBehind: unconfirmed.has(to),
      });
      if (decision === "give_up") {
        const why = `the host ${to} has not confirmed it for three days; it may still arrive`;
        return giveUp(root, outbox, entry, why);
      }
      if (decision === "wait" || (await sendEntry(root, outbox, entry)) === "unconfirmed") {
        unconfirmed.add(to);
      }
    });
  }

  /** Once for each folder at a time: a note is written once. */
  function join(root: MailRoot, signal?: AbortSignal): Promise<void> {
    const begun = joining.get(root) ?? joinOnce(root, signal).finally(() => joining.delete(root));
    joining.set(root, begun);
    return begun;
  }

  async function joinOnce(root: MailRoot, signal?: AbortSignal): Promise<void> {
    const outbox = openHostOutbox(root.catalog);
    if (!deps.joined.has(root.root)) {
      await forEachWaiting(outbox, signal, (entry) => giveUp(root, outbox, entry, notOurs));
      if (signal?.aborted) return;
      deps.joined.add(root.root);
    }
    outbox.joinAs(host);
  }

  async function forEachWaiting(
    outbox: HostOutbox,
    signal: AbortSignal | undefined,
    act: (entry: OutboxEntry) => Promise<void>,
  ): Promise<void> {
    let after = 0;
    for (;;) {
      const entries = outbox.waiting({ after, limit: batchSize });
      for (const entry of entries) {
        if (signal?.aborted) return;
        await act(entry);
        after = entry.seq;
      }
      if (entries.length < batchSize) return;
    }
  }

  async function sendEntry(
    root: MailRoot,
    outbox: HostOutbox,
    entry: OutboxEntry,
  ): Promise<"unconfirmed" | "settled"> {
    const stored = messageIn(root, outbox, entry.messageId);
    const mail = stored && toHostMail(stored, { ownHost: host, host: entry.host });
    if (!mail) {
      deps.log(`${entry.messageId} for ${entry.host} is not sent: it is no longer in ${root.root}`);
      settle(root, outbox, entry);
      return "settled";
    }
    const wayKey = wayOf(root, entry.host);
    if (!triedAtMs.has(wayKey)) triedAtMs.set(wayKey, clock.monotonicMs());
    try {
      await way.send(entry.host, entry.messageId, mail);
      sentAtMs.set(keyOf(root, entry), clock.monotonicMs());
      return "unconfirmed";
    } catch (error) {
      if (!(error instanceof ServiceError) || error.reason !== "too_large") throw error;
      await giveUp(root, outbox, entry, messageOf(error));
      return "settled";
    }
  }

  function settle(root: MailRoot, outbox: HostOutbox, entry: OutboxEntry): void {
    outbox.remove(entry);
    sentAtMs.delete(keyOf(root, entry));
  }

  /** The note comes first: a crash in between repeats it. */
  async function giveUp(root: MailRoot, outbox: HostOutbox, entry: OutboxEntry, why: string): Promise<void> {
    await noteToSender(root, outbox, entry, [`- ${entry.host}: ${why}`]);
    settle(root, outbox, entry);
    counted.given_up += 1;
  }

  function messageIn(root: MailRoot, outbox: HostOutbox, messageId: string): StoredMessage | null {
    const row = outbox.message(messageId);
    const text = row && readDelivered(files, root.root, root.catalog, row);
    const parsed = text == null ? null : parseMessageFile(text);
    return parsed?.ok ? parsed.message : null;
  }

  /**
   * A note of the operator in the sender's mailbox; one who is no longer registered gets none, nor does a
   * mailbox whose folder is damaged: all mail of this host would wait behind it.
   */
  async function noteToSender(
    root: MailRoot,
    outbox: HostOutbox,
    { messageId }: Pick<OutboxEntry, "messageId">,
    lines: readonly string[],
  ): Promise<void> {
    const stored = messageIn(root, outbox, messageId);
    const sender = stored && root.catalog.active(stored.envelope.from.address);
    if (!stored || !sender) return;
    let mailbox: ReturnType<MailRoot["openMailbox"]> | null = null;
    try {
      mailbox = root.openMailbox({ address: sender.address, principalId: sender.ownerPrincipalId });
      await mailbox.post({
        subject: `Not delivered: ${stored.envelope.subject}`.slice(0, 998),
        body: `Your message ${messageId} was not delivered:\n\n${lines.join("\n")}\n`,
        attachments: [],
        notifyBlock: null,
        notifyAuth: null,
        replyPolicy: "none" as const,
      });
    } catch (error) {
      if (!(error instanceof ServiceError && error.cause instanceof PathRefused)) throw error;
      deps.log(`no note of ${messageId} for ${sender.address}: ${messageOf(error)}; ${lines.join(" ")}`);
    } finally {
      mailbox?.close();
    }
  }

  const loop = createLoop({
    clock,
    async turn(signal) {
      const sizes: { count: number; oldestUtc: string | null }[] = [];
      for (const root of openRoots()) {
        if (signal.aborted) break;
        try {
          sizes.push(openHostOutbox(root.catalog).size());
          await drain(root, signal);
          complain(`mail that waits in ${root.root}`, null);
        } catch (error) {
          complain(`mail that waits in ${root.root}`, error);
        }
      }
      waiting = toTotal(sizes);
      return pollIntervalMs;
    },
    onError: (error) => deps.log(`mail to other hosts: ${messageOf(error)}`),
  });

  /** The mailboxes of this host with this name, each with its root. */
  function candidates(name: string, roots: readonly MailRoot[]): Found[] {
    const found = new Map<string, Found>();
    const add = (root: MailRoot, address: string) => {
      const row = root.catalog.active(address);
      if (row) found.set(`${root.root} ${row.registrationId}`, { root, row });
    };
    for (const root of roots) add(root, localAddress(name));
    if (found.size > 0) return [...found.values()];
    for (const { agentName, root: path, address } of deps.mailboxes()) {
      const root = roots.find((one) => one.root === path);
      if (root && agentName === name) add(root, address);
    }
    return [...found.values()];
  }

  /** Of several mailboxes with one name a reply finds the one that it answers. */
  function resolve(name: string, mail: HostMail, roots: readonly MailRoot[]): Found | string {
    const all = candidates(name, roots);
    const knowing = ({ root }: Found) => mail.references.some((id) => root.catalog.knows(id));
    const chosen = all.length > 1 ? all.filter(knowing) : all;
    const [only] = chosen;
    if (only && chosen.length === 1) return only;
    if (all.length > 0) return `several mailboxes of ${host} have the name ${name}`;
    // Not held until it can be opened: mail for all others of this host would wait behind it.
    const isKnown = deps.mailboxes().some((mailbox) => isOf(name, mailbox));
    return isKnown
      ? `the mailbox ${name} of ${host} cannot be opened now; send it again later`
      : `no mailbox of ${host} has the name ${name}`;
  }

  async function receiveMail(from: string, mail: HostMail): Promise<void> {
    const roots = openRoots();
    const refused: HostMailReceipt["refused"] = [];
    const byRoot = new Map<MailRoot, Map<string, RegistrationRow>>();
    for (const name of mail.deliver_to) {
      const found = resolve(name, mail, roots);
      if (typeof found === "string") {
        refused.push({ name, why: found.slice(0, maxWhy) });
        continue;
      }
      const receivers = byRoot.get(found.root) ?? new Map<string, RegistrationRow>();
      byRoot.set(found.root, receivers.set(name, found.row));
    }
    for (const [root, receivers] of byRoot) {
      // Which of the recipients are of this host is judged with its name.
      await join(root);
      try {
        if (acceptIn(root, receivers, mail, from)) counted.delivered += receivers.size;
      } catch (error) {
        if (!(error instanceof ServiceError) || error.reason !== "invalid_request") throw error;
        const why = messageOf(error).slice(0, maxWhy);
        refused.push(...[...receivers.keys()].map((name) => ({ name, why })));
      }
    }
    await way.send(from, `receipt-${mail.message_id}`, {
      kind: "receipt",
      message_id: mail.message_id,
      refused,
    });
    counted.refused += refused.length;
  }

  function acceptIn(
    root: MailRoot,
    receivers: ReadonlyMap<string, RegistrationRow>,
    mail: HostMail,
    from: string,
  ): boolean {
    const { message_id: id } = mail;
    const known = openHostOutbox(root.catalog).message(id)?.senderAddress;
    const sender = known ?? openAttestations(root.catalog).senderOfCleared(id);
    const isOther = sender !== null && splitHostAddress(sender)?.host !== from;
    const messageId = isOther ? idBesideForeign(id, from) : id;
    const checked = { ...mail, subject: parseSubject(mail.subject), body: parseBody(mail.body) };
    const options = { fromHost: from, ownHost: host, receivers, nowMs: clock.nowMs() };
    return root.accept(fromHostMail({ ...checked, message_id: messageId }, options), [...receivers.values()]);
  }

  async function receiveReceipt(from: string, { message_id: messageId, refused }: HostMailReceipt) {
    for (const root of openRoots()) {
      const outbox = openHostOutbox(root.catalog);
      const entry = outbox.entry(messageId, from);
      if (!entry) continue;
      const lines = whyNot(messageIn(root, outbox, messageId), { from, refused });
      if (lines.length > 0) await noteToSender(root, outbox, entry, lines);
      settle(root, outbox, entry);
      triedAtMs.delete(wayOf(root, from));
      loop.wake();
    }
  }

  return {
    start: () => loop.start(),
    async stop() {
      await loop.stop();
      for (const root of open.values()) root.close();
      open.clear();
    },
    async receive(from, message) {
      const about = `mail from ${from}`;
      if (Value.Check(HostMail, message)) await receiveMail(from, message);
      else if (Value.Check(HostMailReceipt, message)) await receiveReceipt(from, message);
      else return complain(about, "a message without its form is left out");
      complain(about, null);
    },
    again() {
      sentAtMs = new Map();
      loop.wake();
    },
    counts() {
      const oldestMs = parseTimestamp(waiting.oldestUtc ?? "");
      const oldestAge = oldestMs === null ? null : Math.max(0, Math.round(clock.nowMs() - oldestMs));
      return { waiting: waiting.count, oldest_age_ms: oldestAge, ...counted };
    },
  };
}

/** Of all mailbox roots together. Times of one form sort as text. Pure. */
function toTotal(sizes: readonly { count: number; oldestUtc: string | null }[]) {
  const oldest = sizes.flatMap(({ oldestUtc }) => (oldestUtc === null ? [] : [oldestUtc])).sort();
  return { count: sizes.reduce((sum, { count }) => sum + count, 0), oldestUtc: oldest[0] ?? null };
}

/**
 * A line for each mailbox that the message was written to and that the other host refuses, in words of that
 * host. Pure.
 */
function whyNot(
  stored: StoredMessage | null,
  { from, refused }: { from: string; refused: HostMailReceipt["refused"] },
): string[] {
  const addressed = new Set(
    [...(stored?.envelope.to ?? []), ...(stored?.envelope.cc ?? [])].map((one) => one.address),
  );
  const byAddress = new Map(refused.map(({ name, why }) => [`${name}@${from}`, why]));
  return [...byAddress]
    .filter(([address]) => addressed.has(address))
    .map(([address, why]) => `- ${address}: the host ${from} says: ${quotedLine(why, maxQuoted)}`);
}

/** Whether a mailbox is known under this name. Pure. */
function isOf(name: string, { agentName, address }: HostMailbox): boolean {
  return agentName === name || address === localAddress(name);
}

interface Found {
  root: MailRoot;
  row: RegistrationRow;
}
