import {
  AckPolicy,
  type ConsumerMessages,
  DiscardPolicy,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
} from "@nats-io/jetstream";
import { type NatsConnection, nanos } from "@nats-io/transport-node";
import { type Clock, sleep } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { createLoop } from "../../system/lifecycle.ts";
import type { MailCarrier, MailWay } from "./mail-carrier.ts";
import { decodeMessage, encodeMessage, messageOverheadBytes } from "./message.ts";

/**
 * The way of mail over JetStream: one stream of the fleet, a work queue, from which each host takes what is sent to it, one
 * message at a time. The operator makes the stream and the consumer of each host: who may make a consumer may let the server
 * publish under any subject.
 */

/** The stream of a fleet, and the subject of mail from one host to another. */
interface Names {
  mailStream: string;
  mail(from: string, to: string): string;
}

/** A message that is sent again within this time is kept once; one that nobody took for so long is dropped. */
const keptMs = 4 * 24 * 3_600_000;
const maxStreamBytes = 512 * 1024 * 1024;
const ackWaitMs = 60_000;
const retryMs = 2000;

/** Makes the stream of a fleet and the consumers of its hosts. */
export interface MailStream {
  /** Each host once; doing it again changes nothing. */
  serve(host: string): void;
  /** The server may have lost everything. */
  again(): void;
  stop(): Promise<void>;
}

export function createMailStream(deps: {
  connection: NatsConnection;
  names: Names;
  clock: Clock;
  log: (line: string) => void;
}): MailStream {
  const { connection, names, clock } = deps;
  const wanted = new Set<string>();
  let made = new Set<string>();
  let hasStream = false;
  const loop = createLoop({
    clock,
    async turn() {
      const jsm = await jetstreamManager(connection, { checkAPI: false });
      if (!hasStream) {
        await jsm.streams.add({
          ...{ name: names.mailStream, subjects: [names.mail("*", "*")] },
          ...{ retention: RetentionPolicy.Workqueue, discard: DiscardPolicy.New },
          ...{ max_bytes: maxStreamBytes, max_age: nanos(keptMs), duplicate_window: nanos(keptMs) },
        });
        hasStream = true;
      }
      for (const host of [...wanted].filter((one) => !made.has(one))) {
        await jsm.consumers.add(names.mailStream, {
          ...{ durable_name: host, filter_subject: names.mail("*", host) },
          ...{ ack_policy: AckPolicy.Explicit, ack_wait: nanos(ackWaitMs), max_ack_pending: 1 },
        });
        made.add(host);
      }
      return null;
    },
    onError: (error) => deps.log(`mail between hosts: ${messageOf(error)}`),
    retryMs,
  });
  loop.start();
  return {
    serve(host) {
      if (wanted.has(host)) return;
      wanted.add(host);
      loop.wake();
    },
    again() {
      hasStream = false;
      made = new Set();
      loop.wake();
    },
    stop: () => loop.stop(),
  };
}

/** The part of a host. `secret`: nobody else knows beforehand under which id a message is kept. */
export function createMailQueue(deps: {
  connection: NatsConnection;
  names: Names;
  clock: Clock;
  host: string;
  secret: string;
  log: (line: string) => void;
}): { way: MailWay; start(carrier: Pick<MailCarrier, "receive">): void; stop(): Promise<void> } {
  const { connection, names, clock, host } = deps;
  const stream = jetstream(connection);
  const over = new AbortController();
  let messages: ConsumerMessages | null = null;
  let running = Promise.resolve();

  async function take(carrier: Pick<MailCarrier, "receive">): Promise<void> {
    const consumer = await stream.consumers.get(names.mailStream, host);
    messages = await consumer.consume({ max_messages: 1 });
    if (over.signal.aborted) messages.stop();
    for await (const message of messages) {
      const from = message.subject.split(".")[3] ?? "";
      const decoded = decodeMessage(message.data);
      try {
        await carrier.receive(from, decoded && parse(decoded.body));
        message.ack();
      } catch (error) {
        deps.log(`mail from ${from} comes again: ${messageOf(error)}`);
        message.nak(retryMs);
      }
    }
  }

  return {
    way: {
      async send(to, id, message) {
        const bytes = encodeMessage(
          { kind: message.kind },
          new TextEncoder().encode(JSON.stringify(message)),
        );
        const most = (connection.info?.max_payload ?? 1024 * 1024) - messageOverheadBytes;
        if (bytes.length > most) {
          throw new ServiceError(
            "too_large",
            `it is larger than the ${most} bytes that travel between hosts`,
          );
        }
        const msgID = sha256(`${deps.secret} ${host} ${to} ${id}`);
        await stream.publish(names.mail(host, to), bytes, { msgID, timeout: 5000 });
      },
    },
    start(carrier) {
      running = (async () => {
        let said = "";
        while (!over.signal.aborted) {
          try {
            await take(carrier);
          } catch (error) {
            if (said !== messageOf(error)) deps.log(`mail of other hosts waits: ${messageOf(error)}`);
            said = messageOf(error);
          }
          await sleep(clock, retryMs, over.signal);
        }
      })();
    },
    async stop() {
      over.abort();
      messages?.stop();
      await running;
    },
  };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}
