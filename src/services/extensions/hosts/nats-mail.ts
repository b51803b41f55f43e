import { jetstream } from "@nats-io/jetstream";
import { type Msg, type NatsConnection, nanos } from "@nats-io/transport-node";
import { jsonValue } from "../../../protocol/json.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { MailCarrier, MailWay } from "./mail-carrier.ts";
import { decodeMessage, encodeMessage, messageOverheadBytes } from "./message.ts";

/**
 * The way of mail over JetStream. Each host sends into its own work queue, and the server delivers from each
 * of them, one message at a time, to the host that it is for. `nats-shares.ts` makes the queues.
 */

/** The subjects of mail from one host to another, and of what the server delivers to a host. */
interface Names {
  mail(from: string, to: string): string;
  take(host: string): string;
}

const retryMs = 2000;

/** `onNoShare`: the server has no queue for what this host sends. */
export function createMailQueue(deps: {
  connection: NatsConnection;
  names: Names;
  host: string;
  onNoShare: () => void;
  log: (line: string) => void;
}): { way: MailWay; start(carrier: Pick<MailCarrier, "receive">): void; stop(): Promise<void> } {
  const { connection, names, host } = deps;
  const stream = jetstream(connection);
  const work = new Set<Promise<void>>();
  let stopped = false;

  async function take(carrier: Pick<MailCarrier, "receive">, message: Msg): Promise<void> {
    const [, , , from = "", kind, to] = message.subject.split(".");
    if (kind !== "mail" || to !== host) return;
    const decoded = decodeMessage(message.data);
    try {
      await carrier.receive(from, decoded && jsonValue(decoded.body));
      message.respond("+ACK");
    } catch (error) {
      deps.log(`mail from ${from} comes again: ${messageOf(error)}`);
      if (!stopped) message.respond(`-NAK ${JSON.stringify({ delay: nanos(retryMs) })}`);
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
        try {
          await stream.publish(names.mail(host, to), bytes, { msgID: `${to} ${id}`, timeout: 5000 });
        } catch (error) {
          if (isWithoutShare(error)) deps.onNoShare();
          throw error;
        }
      },
    },
    start(carrier) {
      connection.subscribe(names.take(host), {
        callback(error, message) {
          if (error) return deps.log(`mail of other hosts: ${messageOf(error)}`);
          if (stopped) return;
          const one = take(carrier, message).finally(() => work.delete(one));
          work.add(one);
        },
      });
    },
    async stop() {
      stopped = true;
      await Promise.all(work);
    },
  };
}

/** Whether nothing at the server keeps what was published. Pure. */
export function isWithoutShare(error: unknown): boolean {
  // The client calls a subject that no stream has a server without JetStream.
  return /jetstream is not enabled|no responders/i.test(messageOf(error));
}
