import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { MailRound } from "../../src/services/demo/script.ts";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import type { Dice } from "./dice.ts";
import type { SimHost } from "./sim-host.ts";
import type { SimWorld } from "./sim-world.ts";

/** Knows what mail was sent and what its owners did with it, and compares with what the mailboxes hold. */
export interface MailOracle {
  send(from: SimHost, client: GatewayClient, to: readonly SimHost[]): Promise<void>;
  /** Somebody reads, marks or tries what he may not. */
  poke(host: SimHost, client: GatewayClient): Promise<void>;
  /** An agent works a wake-up as it should. */
  workRound(host: SimHost, round: MailRound): Promise<string | null>;
  /** Null disables it. Resolves with whether the gateway agreed. */
  setNotifier(host: SimHost, client: GatewayClient, intervalSeconds: number | null): Promise<boolean>;
  /** Some of its mail was not worked off yet. */
  waits(host: SimHost): boolean;
  /** Every mailbox against every message. `settled`: all mail must have been worked off. */
  check(options: { settled: boolean }): void;
  /** A gateway with a notifier must have polled by now. */
  checkPolls(): void;
}

interface OutgoingMessage {
  subject: string;
  from: SimHost;
  to: readonly SimHost[];
  /** Null when the sender was not told. */
  sent: boolean | null;
  ref: string | null;
}

interface NotifierFacts {
  enabled: boolean;
  intervalMs: number;
  sinceMs: number;
  pid: number;
  rings: Ring[];
}

/** A message that came at a time. `isOwed`: its sender lived until the doorbell rang. */
interface Ring {
  atMs: number;
  isOwed: boolean;
}

/** A poll may come so much later than it is due: slow disks stand still for everybody. */
const lateMs = 15_000;

export function createMailOracle(deps: {
  world: SimWorld;
  hosts: () => readonly SimHost[];
  dice: Dice;
}): MailOracle {
  const { world, dice } = deps;
  const messages: OutgoingMessage[] = [];
  /** Subjects that an owner asked to archive, by his name. */
  const archiving = new Map<string, { asked: Set<string>; agreed: Set<string> }>();
  const notifiers = new Map<SimHost, NotifierFacts>();
  const fail = world.fail;

  const archivingOf = (host: SimHost) => {
    const found = archiving.get(host.name) ?? { asked: new Set<string>(), agreed: new Set<string>() };
    archiving.set(host.name, found);
    return found;
  };

  async function send(from: SimHost, client: GatewayClient, to: readonly SimHost[]): Promise<void> {
    const message: OutgoingMessage = {
      subject: `message ${messages.length + 1}`,
      from,
      to,
      sent: null,
      ref: null,
    };
    messages.push(message);
    const askedMs = world.clock.nowMs();
    const [first, ...others] = to.map((host) => host.address);
    const reply = await client.call("mailSend", {
      body: {
        to: [first ?? ""],
        cc: others,
        subject: message.subject,
        body_content: `text of ${message.subject}`,
      },
    });
    if (reply.kind === "ok") {
      message.sent = true;
      message.ref = reply.body.message.message_ref;
      world.count("messages");
      for (const host of to) expectRing(host, message, askedMs);
    } else if (reply.kind === "refused" && reply.status < 500) message.sent = false;
    world.trace.note(from.name, `mail ${message.subject}: ${reply.kind === "ok" ? "sent" : reply.detail}`);
  }

  function expectRing(host: SimHost, { from, ref }: OutgoingMessage, atMs: number): void {
    const gateway = host.gateway();
    const facts = notifiers.get(host);
    if (!gateway || !facts?.enabled || facts.pid !== gateway.process.pid) return;
    const ring: Ring = { atMs, isOwed: true };
    facts.rings.push(ring);
    // The links follow the answer. Of a sender that dies between them the next poll finds the mail.
    const link = `${ref?.replace("filesystem:", "")}.md`;
    const settle = () => {
      ring.isOwed = existsSync(join(world.mailRoot, "mailboxes", host.address, "inbox", link));
    };
    const sender = from.gateway()?.process;
    if (sender) sender.onEnd(settle);
    else settle();
  }

  async function archive(host: SimHost, client: GatewayClient, ref: string, subject: string) {
    archivingOf(host).asked.add(subject);
    const reply = await client.call("mailArchive", { body: { message_refs: [ref] } });
    if (reply.kind === "ok") archivingOf(host).agreed.add(subject);
    return reply;
  }

  async function poke(host: SimHost, client: GatewayClient): Promise<void> {
    const foreign = messages.find((one) => one.ref !== null && one.from !== host && !one.to.includes(host));
    if (foreign?.ref && dice.chance(0.5)) {
      const reply = await client.call("mailArchive", { body: { message_refs: [foreign.ref] } });
      if (reply.kind === "ok") fail(host.name, `archived ${foreign.subject}, which is not its own`);
      return;
    }
    const reply = await client.call("mailList", { body: { schema_version: 1, box: "inbox", limit: 20 } });
    if (reply.kind !== "ok") return;
    for (const message of reply.body.messages) {
      const sent = messages.find((one) => one.subject === message.subject);
      if (!sent?.to.includes(host)) fail(host.name, `holds ${message.subject}, which was not for it`);
    }
    const [message] = reply.body.messages;
    if (message) await client.call("mailMark", { body: { message_refs: [message.message_ref], read: true } });
  }

  async function workRound(host: SimHost, round: MailRound): Promise<string | null> {
    const client = world.clientOf(round.baseUrl);
    for (const message_ref of round.refs) {
      const read = await client.call("mailRead", { body: { message_ref } });
      if (read.kind !== "ok") return read.detail;
      const done = await archive(host, client, message_ref, read.body.message.subject);
      if (done.kind !== "ok") return done.detail;
      world.count("letters_worked");
    }
    return null;
  }

  function boxesOf(host: SimHost): { subject: string; box: string }[] {
    const path = join(world.mailRoot, "mailboxes", host.address, "mailbox.sqlite");
    if (!existsSync(path)) return [];
    const db = new Database(path, { readwrite: true });
    try {
      // Whoever made the file may have died before there was anything in it.
      if (!db.query("SELECT 1 FROM sqlite_master WHERE name = 'message_state'").get()) return [];
      return db
        .query<{ subject: string; box: string }, []>("SELECT subject, box_name AS box FROM message_state")
        .all();
    } finally {
      db.close();
    }
  }

  function checkHost(host: SimHost, settled: boolean): void {
    const rows = boxesOf(host).filter((row) => row.box !== "sent");
    const counts = new Map<string, number>();
    for (const { subject } of rows) counts.set(subject, (counts.get(subject) ?? 0) + 1);
    const { asked, agreed } = archivingOf(host);
    for (const [subject, count] of counts) {
      if (count > 1) fail(host.name, `${subject} was delivered ${count} times`);
      const message = messages.find((one) => one.subject === subject);
      if (!message?.to.includes(host) || message.sent === false) fail(host.name, `${subject} was not for it`);
    }
    for (const { subject, box } of rows) {
      if (box === "archive" && !asked.has(subject)) fail(host.name, `${subject} was archived by nobody`);
      if (box !== "archive" && agreed.has(subject))
        fail(host.name, `${subject} was archived and is in ${box}`);
      if (settled && box !== "archive") fail(host.name, `${subject} was never worked off`);
    }
    if (!settled) return;
    for (const message of messages) {
      if (message.sent && message.to.includes(host) && !counts.has(message.subject)) {
        fail(host.name, `${message.subject} was sent and not delivered`);
      }
    }
  }

  function checkWhole(): void {
    for (const message of messages.filter((one) => one.sent === null)) {
      const held = message.to.filter((host) => boxesOf(host).some((row) => row.subject === message.subject));
      if (held.length !== 0 && held.length !== message.to.length) {
        fail(message.from.name, `${message.subject} was delivered to ${held.length} of ${message.to.length}`);
      }
    }
  }

  async function setNotifier(host: SimHost, client: GatewayClient, intervalSeconds: number | null) {
    // Until it is answered nobody knows how it is set.
    notifiers.delete(host);
    const pid = host.gateway()?.process.pid ?? -1;
    const reply =
      intervalSeconds === null
        ? await client.call("disableNotifier", {})
        : await client.call("updateNotifier", {
            body: { schema_version: 1, enabled: true, interval_seconds: intervalSeconds },
          });
    if (reply.kind !== "ok") return false;
    const intervalMs = (reply.body.interval_seconds ?? 0) * 1000;
    const { enabled } = reply.body;
    notifiers.set(host, { enabled, intervalMs, sinceMs: world.clock.nowMs(), pid, rings: [] });
    return true;
  }

  return {
    send,
    poke,
    workRound,
    setNotifier,
    waits: (host) => boxesOf(host).some(({ box }) => box !== "sent" && box !== "archive"),
    check({ settled }) {
      for (const host of deps.hosts()) checkHost(host, settled);
      if (settled) checkWhole();
    },
    checkPolls() {
      const now = world.clock.nowMs();
      for (const [host, facts] of notifiers) {
        const gateway = host.gateway();
        if (!facts.enabled || gateway?.process.pid !== facts.pid) continue;
        const polls = host.polls.sinceMs(facts.sinceMs);
        const last = Math.max(
          facts.sinceMs,
          ...polls.filter((one) => one.trigger === "interval").map((one) => one.atMs),
        );
        if (now - last > facts.intervalMs + lateMs && world.quietMs() > facts.intervalMs + lateMs) {
          fail(
            host.name,
            `no poll for ${Math.round((now - last) / 1000)} s at an interval of ${facts.intervalMs / 1000} s`,
          );
        }
        facts.rings = facts.rings.filter(({ atMs, isOwed }) => {
          if (!isOwed || polls.some((one) => one.atMs >= atMs)) return false;
          if (now - atMs > lateMs && world.quietMs() > lateMs)
            fail(host.name, `mail came ${Math.round((now - atMs) / 1000)} s ago and rang for nobody`);
          return now - atMs <= lateMs;
        });
      }
    },
  };
}
