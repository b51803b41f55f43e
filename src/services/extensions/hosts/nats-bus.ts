import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import {
  type ConnectionOptions,
  connect,
  headers as createHeaders,
  credsAuthenticator,
  type Msg,
  type NatsConnection,
  nkeyAuthenticator,
} from "@nats-io/transport-node";
import { type HostAnswer, type HostCall, type HostControl, maxEntryBytes } from "../../../protocol/hosts.ts";
import { jsonValue } from "../../../protocol/json.ts";
import { type Clock, sleep, withinTime } from "../../../system/clock.ts";
import { messageOf, ServiceError, wrapRefusal } from "../../../system/errors.ts";
import type { Ids } from "../../../system/ids.ts";
import { createCaller } from "./caller.ts";
import { createDirectoryWatch, type DirectoryWatch } from "./directory-watch.ts";
import { createPublishedHosts } from "./host-directory.ts";
import type { HostDirectory, HostLink } from "./host-link.ts";
import type { MailCarrier, MailWay } from "./mail-carrier.ts";
import type { RemoteHosts } from "./merged-fleet.ts";
import { decodeMessage, encodeMessage, messageOverheadBytes } from "./message.ts";
import { createMailQueue, isWithoutShare } from "./nats-mail.ts";
import { createHostShares, deleteShare, isMissing } from "./nats-shares.ts";
import { createPublisher, type HostOutlet, refreshIntervalMs } from "./publisher.ts";
import { createResponder } from "./responder.ts";

/** This module alone loads the client of NATS; the programs import it when a flag asks for it. */

export interface BusAddress {
  url: string;
  /** The text of a credentials file: an nkey seed, or a NATS credentials file. */
  credentials: string;
  /** Certificates that sign the server's, as PEM; null: those of the system. */
  authorities: string | null;
  fleet: string;
}

/**
 * Subjects and keys of one fleet. A host publishes below its name only, and reads only what is sent to it.
 */
export function busNames(fleet: string) {
  const of = (host: string) => `svc.v1.${fleet}.${host}`;
  return {
    /** No name of a fleet or of a host has an underscore. */
    bucket: (host: string) => `svc-dir_${fleet}_${host}`,
    /** By which a host asks for its share of the server. */
    hello: (host: string) => `${of(host)}.hello`,
    call: (host: string, instance: string) => `${of(host)}.call.${instance}`,
    answer: (host: string, operator: string, id: string) => `${of(host)}.answer.${operator}.${id}`,
    answersOf: (operator: string) => `${of("*")}.answer.${operator}.>`,
    inbox: (name: string) => `_INBOX.${fleet}.${name}`,
    mailStream: (from: string) => `svc-mail_${fleet}_${from}`,
    mail: (from: string, to: string) => `${of(from)}.mail.${to}`,
    /** Where the server delivers mail of all hosts to one. */
    take: (host: string) => `${of(host)}.take`,
  };
}

const secondsOf = (ms: number) => `${Math.round(ms / 1000)}s`;
/** What a host published stays known for so long after it went away. */
const entryTtl = secondsOf(refreshIntervalMs * 28);
/** The first server whose buckets keep a time to live for each key. */
const oldestServer = [2, 11] as const;
export const oldestServerText = `version ${oldestServer.join(".")} or later`;

/** Pure. */
export function isOldServer(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < oldestServer[0] || (major === oldestServer[0] && minor < oldestServer[1]);
}

interface Bus {
  connection: NatsConnection;
  names: ReturnType<typeof busNames>;
  close(): Promise<void>;
}

async function openBus(
  { url, credentials, authorities, fleet }: BusAddress,
  options: {
    clock: Clock;
    ids: Ids;
    name: string;
    onReconnect: () => void;
    onDisconnect: () => void;
    onFault: (fault: string) => void;
  },
): Promise<Bus> {
  const bytes = new TextEncoder().encode(credentials.trim());
  const isSeed = /^SU[A-Z2-7]{50,}$/.test(credentials.trim());
  const isSecure = /^(?:tls|wss):/.test(url);
  let connection: NatsConnection;
  try {
    connection = await connect({
      servers: url,
      name: options.name,
      inboxPrefix: busNames(fleet).inbox(options.name),
      authenticator: isSeed
        ? nkeyAuthenticator(bytes)
        : credsAuthenticator(new TextEncoder().encode(credentials)),
      maxReconnectAttempts: -1,
      ...paceDials(options),
      pingInterval: 1000,
      maxPingOut: 2,
      timeout: 5000,
      ...(isSecure ? { tls: { handshakeFirst: true, ...(authorities ? { ca: authorities } : {}) } } : {}),
    });
  } catch (error) {
    throw wrapRefusal(error, "unavailable", (why) => `the NATS server at ${url}: ${why}`);
  }
  const { version } = connection.info ?? { version: "0" };
  if (isOldServer(version)) {
    await connection.close();
    throw new ServiceError(
      "unavailable",
      `the NATS server at ${url} is version ${version}; a time to live for each key needs ${oldestServerText}`,
    );
  }
  const watching = (async () => {
    for await (const status of connection.status()) {
      if (status.type === "reconnect") options.onReconnect();
      else if (status.type === "disconnect") options.onDisconnect();
      else if (status.type === "error") options.onFault(messageOf(status.error));
    }
  })();
  return {
    connection,
    names: busNames(fleet),
    async close() {
      await connection.close();
      await watching;
    },
  };
}

/**
 * Each attempt to connect a quarter to half a second after the previous one, on the monotonic clock. The
 * client (3.4) compares wall-clock times, and after a step back of an hour it does not connect for an hour.
 */
function paceDials({
  clock,
  ids,
}: {
  clock: Clock;
  ids: Ids;
}): Pick<ConnectionOptions, "reconnectDelayHandler" | "reconnectToServer"> {
  let dialedMs = Number.NEGATIVE_INFINITY;
  return {
    // Whatever the wall clock says, the client's own wait is over.
    reconnectDelayHandler: () => Number.NEGATIVE_INFINITY,
    reconnectToServer([server]) {
      const now = clock.monotonicMs();
      const dialMs = Math.max(now, dialedMs + 250 + (Number.parseInt(ids.hex(4), 16) % 250));
      dialedMs = dialMs;
      return server ? { server, delay: dialMs - now } : null;
    },
  };
}

/** Sends without a wait; a connection that is closed loses it, as any way may. */
function publish(connection: NatsConnection, subject: string, bytes: Uint8Array, reply?: string): void {
  try {
    connection.publish(subject, bytes, reply === undefined ? {} : { reply });
  } catch {
    // The connection ends, or the message is larger than the server takes: the caller's time limit reports
    // it.
  }
}

export interface HostRole {
  /** Resolves once everything is published. */
  start(): Promise<void>;
  stop(): Promise<void>;
  counts(): { open: number; dropped: number; calls: number };
}

/**
 * The agent host's part: publishes its directory, carries out calls. Throws `unavailable` when there is no
 * server.
 */
export async function joinBus(deps: {
  address: BusAddress;
  clock: Clock;
  ids: Ids;
  host: string;
  epoch: number;
  version: string;
  heartbeatMs: number;
  directory: HostDirectory;
  link: HostLink;
  /** Made with the way over which the host's mail goes. */
  carrierOf: (way: MailWay) => MailCarrier;
  log: (line: string) => void;
}): Promise<HostRole> {
  const { host, clock } = deps;
  const instance = deps.ids.hex(8);
  const bus = await openBus(deps.address, {
    clock,
    ids: deps.ids,
    name: host,
    onReconnect() {
      publisher.again();
      carrier.again();
    },
    onDisconnect: () => deps.log("the connection to the NATS server is lost"),
    onFault: (fault) => deps.log(`NATS: ${fault}`),
  });
  const { connection, names } = bus;
  const stream = jetstream(connection);
  const over = new AbortController();
  let askedMs = Number.NEGATIVE_INFINITY;
  /** The operator makes the share of this host when it hears of it. */
  const askForShare = () => {
    if (clock.monotonicMs() - askedMs < askIntervalMs) return;
    askedMs = clock.monotonicMs();
    publish(connection, names.hello(host), new Uint8Array(0));
  };
  const put = async (key: string, value: object | null, headers: Record<string, string>) => {
    const bytes = value === null ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(value));
    if (bytes.length > maxEntryBytes)
      throw new Error(`the entry ${key} is larger than ${maxEntryBytes} bytes`);
    const given = createHeaders();
    for (const [name, text] of Object.entries(headers)) given.set(name, text);
    for (let tries = 1; ; tries += 1) {
      try {
        await stream.publish(`$KV.${names.bucket(host)}.${key}`, bytes, {
          timeout: 2000,
          headers: given,
          ...(value === null ? {} : { ttl: entryTtl }),
        });
        return;
      } catch (error) {
        if (!isWithoutShare(error)) throw error;
        if (tries === maxTries || over.signal.aborted)
          throw new Error("no operator has opened this fleet yet; it is tried again");
        askForShare();
        await sleep(clock, askIntervalMs, over.signal);
      }
    }
  };
  const outlet: HostOutlet = {
    record: (record) => put(host, record, {}),
    agent: (agentId, entry) =>
      put(`${host}.${agentId}`, entry, entry === null ? { "KV-Operation": "DEL" } : {}),
  };
  const responder = createResponder({
    clock,
    link: deps.link,
    send: (operator, answer, body) =>
      publish(connection, names.answer(host, operator, answer.id), encodeMessage(answer, body)),
  });
  const publisher = createPublisher({
    clock,
    outlet,
    instance,
    host,
    epoch: deps.epoch,
    version: deps.version,
    directory: deps.directory,
    heartbeatMs: deps.heartbeatMs,
    mail: () => carrier.counts(),
    onError: (error) => deps.log(`the directory is not published: ${messageOf(error)}`),
  });
  const mail = createMailQueue({ connection, names, host, onNoShare: askForShare, log: deps.log });
  const carrier = deps.carrierOf(mail.way);
  return {
    async start() {
      const own = names.call(host, instance);
      connection.subscribe(own, {
        callback(error, message) {
          if (error) return deps.log(`NATS: ${messageOf(error)}`);
          // What the server delivers to a reply subject has the subject under which it was published.
          if (message.subject !== own) return responder.drop();
          const decoded = decodeMessage(message.data);
          responder.receive(decoded?.head ?? null, decoded?.body ?? message.data);
        },
      });
      await connection.flush();
      publisher.start();
      carrier.start();
      mail.start(carrier);
    },
    async stop() {
      over.abort();
      await mail.stop();
      await carrier.stop();
      await publisher.stop();
      responder.stop();
      await bus.close();
    },
    counts: responder.counts,
  };
}

/** One request to the server by a separate connection, with the key in `address`. */
interface Visit {
  address: BusAddress;
  clock: Clock;
  ids: Ids;
}

function visit({ address, clock, ids }: Visit, name: string): Promise<Bus> {
  return openBus(address, {
    clock,
    ids,
    name,
    onReconnect: () => {},
    onDisconnect: () => {},
    onFault: () => {},
  });
}

/**
 * Asks the server until it accepts or refuses the key in `address`, as `wanted`: it reads a changed
 * configuration a moment after it was asked to. Null then; otherwise why it is not proved.
 */
export async function proveKey(request: Visit, wanted: "accepted" | "refused"): Promise<string | null> {
  const { clock } = request;
  const deadlineMs = clock.monotonicMs() + keyProofMs;
  for (;;) {
    const fault = await askForKey(request).then(
      (answer) => (answer === wanted ? null : `the server ${answer} the key`),
      messageOf,
    );
    if (fault === null || clock.monotonicMs() >= deadlineMs) return fault;
    await sleep(clock, askIntervalMs);
  }
}

/** Throws where the server answers neither. A late answer of a busy server proves nothing. */
async function askForKey(request: Visit): Promise<"accepted" | "refused"> {
  try {
    const bus = await visit(request, "key");
    await bus.close();
    return "accepted";
  } catch (error) {
    if (/authorization violation/i.test(messageOf(error))) return "refused";
    throw error;
  }
}

/**
 * Deletes what the server keeps of hosts whose keys it does not accept any more, as the operator. A server
 * that has just read its configuration answers late on a busy machine, so what fails is tried again.
 */
export async function deleteHosts(request: Visit & { hosts: readonly string[] }): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const bus = await visit(request, "operator");
      try {
        for (const host of request.hosts) await deleteShare(bus.connection, bus.names, host);
      } finally {
        await bus.close();
      }
      return;
    } catch (error) {
      if (attempt === maxDeletions) throw error;
    }
  }
}

/** The operator's part: all hosts of the fleet. Throws `unavailable` when there is no server. */
export async function operateBus(deps: {
  address: BusAddress;
  clock: Clock;
  ids: Ids;
  log: (line: string) => void;
}): Promise<RemoteHosts> {
  const { clock } = deps;
  const directory = createPublishedHosts({ clock, via: "nats" });
  let reconnects = 0;
  let isDown = false;
  const caller = createCaller({
    clock,
    ids: deps.ids,
    carrier: {
      maxBodyBytes: () => (bus.connection.info?.max_payload ?? 1024 * 1024) - messageOverheadBytes,
      instanceOf: directory.instanceOf,
      send({ host, instance }, head: HostCall | HostControl, body) {
        const subject = bus.names.call(host, instance);
        const reply = head.kind === "call" ? bus.names.answer(host, head.operator, head.id) : undefined;
        publish(bus.connection, subject, encodeMessage(head, body), reply);
      },
    },
  });
  const bus = await openBus(deps.address, {
    clock,
    ids: deps.ids,
    name: "operator",
    onReconnect() {
      reconnects += 1;
      isDown = false;
      caller.resume();
      shares.again();
      for (const watch of watches.values()) watch.again();
    },
    onDisconnect() {
      isDown = true;
      deps.log("the connection to the NATS server is lost");
    },
    onFault: (fault) => deps.log(`NATS: ${fault}`),
  });
  const { connection, names } = bus;
  directory.onChange(caller.endReplaced);

  function receive(message: Msg) {
    const [, , , host = "", , , id = ""] = message.subject.split(".");
    if (message.data.length === 0 && message.headers?.code === noResponders) return caller.nobody(host, id);
    const decoded = decodeMessage(message.data);
    if (!decoded || (decoded.head as Partial<HostAnswer>).id !== id)
      return caller.receive(host, null, message.data);
    caller.receive(host, decoded.head, decoded.body);
  }

  const watches = new Map<string, DirectoryWatch>();

  /** Follows what the host publishes until its share is deleted. */
  function follow(host: string): void {
    const onError = (error: unknown) => {
      if (!isMissing(error)) return deps.log(`NATS directory of host "${host}": ${messageOf(error)}`);
      watches.delete(host);
      void watch.stop();
    };
    const watch = createDirectoryWatch({
      clock,
      open: async () => (await new Kvm(connection).open(names.bucket(host))).watch(),
      receive(entry) {
        const [name, agentId] = entry.key.split(".");
        const value = entry.operation === "PUT" ? jsonValue(entry.value) : null;
        if (name !== host) directory.agent(host, "", value);
        else if (agentId !== undefined) directory.agent(host, agentId, value);
        else if (value === null) directory.forget(host);
        else directory.record(host, value, { fresh: entry.isUpdate });
      },
      onError,
    });
    watches.set(host, watch);
    void watch.start().catch(onError);
  }

  const shares = createHostShares({
    connection,
    names,
    clock,
    log: deps.log,
    onMade(host) {
      const watch = watches.get(host);
      if (watch) watch.again();
      else follow(host);
    },
  });
  const stopAll = async () => {
    await shares.stop();
    await Promise.all([...watches.values()].map((watch) => watch.stop()));
    await bus.close();
  };

  connection.subscribe(names.hello("*"), {
    callback(error, message) {
      if (error) return deps.log(`NATS: ${messageOf(error)}`);
      const [, , , host = "", kind] = message.subject.split(".");
      if (kind === "hello") shares.serve(host);
    },
  });
  connection.subscribe(names.answersOf(caller.operator), {
    callback(error, message) {
      if (error) deps.log(`NATS: ${messageOf(error)}`);
      else receive(message);
    },
  });
  try {
    await shares.start();
  } catch (error) {
    await stopAll();
    throw wrapRefusal(error, "unavailable", (why) => `the directory of the fleet: ${why}`);
  }
  const counts = () => ({ ...caller.counts(), unreadable: directory.dropped() });
  return {
    directory,
    linkTo: caller.linkTo,
    counts,
    async carriers({ probe }) {
      const measured = probe && !isDown ? connection.rtt().catch(() => null) : Promise.resolve(null);
      const latencyMs = await withinTime(clock, rttMs, measured);
      const { open, repeated, dropped, unreadable } = counts();
      return [
        {
          via: "nats",
          host: null,
          address: deps.address.url,
          connected: !isDown,
          reconnects,
          server_version: connection.info?.version ?? null,
          latency_ms: latencyMs,
          open_calls: open,
          repeated_calls: repeated,
          dropped_messages: dropped,
          unreadable_entries: unreadable,
        },
      ];
    },
    async stop() {
      caller.stop();
      await stopAll();
    },
  };
}

const noResponders = 503;
/** A host asks for its share once in this time, and so often before it reports that there is none. */
const askIntervalMs = 250;
const maxTries = 8;
/** For so long a server may take to read its configuration. */
const keyProofMs = 10_000;
const maxDeletions = 3;
const rttMs = 3000;
