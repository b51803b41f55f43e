import { AckPolicy, DiscardPolicy, jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { headers as createHeaders, type NatsConnection, nanos } from "@nats-io/transport-node";
import { maxDirectoryBytes, maxEntryBytes } from "../../../protocol/hosts.ts";
import { hostNamePattern } from "../../../protocol/wire.ts";
import type { Clock } from "../../../system/clock.ts";
import { createFaultReport, messageOf } from "../../../system/errors.ts";
import { createLoop } from "../../../system/lifecycle.ts";

/**
 * The share of each host at the server: a bucket with its directory, and a work queue with the mail that it
 * sends. Only the operator makes them, so a host that fills its own takes nothing from another one.
 */

/**
 * The bucket and the queue of each host, and the subjects that the queue takes and that the server delivers
 * to.
 */
interface Names {
  bucket(host: string): string;
  mailStream(from: string): string;
  mail(from: string, to: string): string;
  take(host: string): string;
}

const maxMailBytes = 64 * 1024 * 1024;
/**
 * A message that is sent again within this time is kept once; one that nobody took for so long is dropped.
 */
const keptMs = 4 * 24 * 3_600_000;
const ackWaitMs = 60_000;
const retryMs = 2000;
const hostName = new RegExp(hostNamePattern);
/** A host is served once in this time, however often it asks. */
const minIntervalMs = 5000;

export function createHostShares(deps: {
  connection: NatsConnection;
  names: Names;
  clock: Clock;
  /** Called each time that the share of a host is whole. */
  onMade: (host: string) => void;
  log: (line: string) => void;
}) {
  const { connection, names, clock } = deps;
  const made = new Set<string>();
  const servedMs = new Map<string, number>();
  const wanted = new Set<string>();
  const complain = createFaultReport((host, error) =>
    deps.log(`the share of host "${host}" at the server: ${messageOf(error)}`),
  );
  let isListed = false;

  async function list(): Promise<void> {
    for (const host of await hostsWithShare(connection, names)) wanted.add(host);
    isListed = true;
  }

  async function make(host: string): Promise<void> {
    const jsm = await jetstreamManager(connection, { checkAPI: false });
    await new Kvm(connection).create(names.bucket(host), {
      markerTTL: 60_000,
      history: 1,
      max_bytes: maxDirectoryBytes,
      maxValueSize: maxEntryBytes,
    });
    await jsm.streams.add({
      name: names.mailStream(host),
      subjects: [names.mail(host, "*")],
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.New,
      max_bytes: maxMailBytes,
      max_age: nanos(keptMs),
      duplicate_window: nanos(keptMs),
    });
    const deliver = async (from: string, to: string) => {
      await jsm.consumers.add(names.mailStream(from), {
        durable_name: to,
        filter_subject: names.mail(from, to),
        deliver_subject: names.take(to),
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(ackWaitMs),
        max_ack_pending: 1,
      });
    };
    await deliver(host, host);
    for (const other of [...made].filter((one) => one !== host)) {
      await deliver(host, other);
      try {
        await deliver(other, host);
      } catch (error) {
        if (!isMissing(error)) throw error;
        // It was revoked, or it asks for its share too.
        made.delete(other);
      }
    }
  }

  const loop = createLoop({
    clock,
    async turn() {
      if (!isListed) await list();
      let hasFailed = false;
      for (const host of [...wanted]) {
        try {
          await make(host);
          wanted.delete(host);
          made.add(host);
          complain(host, null);
          deps.onMade(host);
        } catch (error) {
          complain(host, error);
          made.delete(host);
          hasFailed = true;
        }
      }
      return hasFailed ? retryMs : null;
    },
    onError: (error) => deps.log(`the shares of the hosts at the server: ${messageOf(error)}`),
    retryMs,
  });

  return {
    /** Throws when the server keeps no streams. */
    async start(): Promise<void> {
      await list();
      loop.start();
    },
    /** A host asks for its share: there is none, or it is not whole. */
    serve(host: string): void {
      const now = clock.monotonicMs();
      if (!hostName.test(host) || now - (servedMs.get(host) ?? -minIntervalMs) < minIntervalMs) return;
      servedMs.set(host, now);
      wanted.add(host);
      loop.wake();
    },
    /** The connection was interrupted: the server may have lost everything. */
    again(): void {
      isListed = false;
      made.clear();
      servedMs.clear();
      loop.wake();
    },
    stop: (): Promise<void> => loop.stop(),
  };
}

async function hostsWithShare(connection: NatsConnection, names: Names): Promise<string[]> {
  const jsm = await jetstreamManager(connection, { checkAPI: false });
  const prefix = bucketStream(names.bucket(""));
  const hosts: string[] = [];
  for await (const name of jsm.streams.names()) {
    const host = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    if (hostName.test(host)) hosts.push(host);
  }
  return hosts;
}

/**
 * Deletes all that the server keeps of a host. An operator that watches hears first that the host is gone.
 */
export async function deleteShare(connection: NatsConnection, names: Names, host: string): Promise<void> {
  const jsm = await jetstreamManager(connection, { checkAPI: false });
  const present: string[] = [];
  for await (const name of jsm.streams.names()) present.push(name);
  const directory = bucketStream(names.bucket(host));
  if (present.includes(directory)) {
    const headers = createHeaders();
    headers.set("KV-Operation", "PURGE");
    headers.set("Nats-Rollup", "sub");
    await jsm.jetstream().publish(`$KV.${names.bucket(host)}.${host}`, new Uint8Array(0), { headers });
    await jsm.streams.delete(directory);
  }
  const prefix = names.mailStream("");
  for (const stream of present.filter((name) => name.startsWith(prefix))) {
    const from = stream.slice(prefix.length);
    if (from === host) {
      await jsm.streams.delete(stream);
      continue;
    }
    await jsm.streams.purge(stream, { filter: names.mail(from, host) });
    await jsm.consumers.delete(stream, host).catch(() => {});
  }
}

/** Whether the server has no such stream. Pure. */
export function isMissing(error: unknown): boolean {
  return /stream not found/i.test(messageOf(error));
}

function bucketStream(bucket: string): string {
  return `KV_${bucket}`;
}
