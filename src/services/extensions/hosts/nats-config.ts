import { nkeys } from "@nats-io/transport-node";
import { busNames } from "./nats-bus.ts";

/** One user of the server: the operator, or a host. */
interface BusUser {
  /** Null: the operator. */
  host: string | null;
  publicKey: string;
  publish: readonly string[];
  subscribe: readonly string[];
}

/** A new key: what the server knows of it, and the secret for the user's file. */
export function createBusKey(): { publicKey: string; seed: string } {
  const pair = nkeys.createUser();
  return { publicKey: pair.getPublicKey(), seed: new TextDecoder().decode(pair.getSeed()) };
}

/** May call every host, and keeps what each has at the server. Pure. */
export function operatorUser(fleet: string, publicKey: string): BusUser {
  const names = busNames(fleet);
  return {
    publicKey,
    host: null,
    publish: [names.call("*", "*"), "$KV.*.*", "$JS.API.>", "$JS.ACK.>", "$JS.FC.>"],
    subscribe: [names.hello("*"), names.answersOf("*"), `${names.inbox("operator")}.>`],
  };
}

/** May publish below its name only, and read only what is sent to it. Pure. */
export function hostUser(fleet: string, host: string, publicKey: string): BusUser {
  const names = busNames(fleet);
  const directory = `$KV.${names.bucket(host)}`;
  return {
    publicKey,
    host,
    publish: [
      names.hello(host),
      names.answer(host, "*", "*"),
      names.mail(host, "*"),
      `${directory}.${host}`,
      `${directory}.${host}.*`,
      `$JS.ACK.*.${host}.>`,
    ],
    subscribe: [names.call(host, "*"), names.take(host), `${names.inbox(host)}.>`],
  };
}

/** The largest body with room for its head. */
const maxPayloadBytes = 9 * 1024 * 1024;

/** Shares of more than a thousand hosts. */
const maxStoreBytes = 100 * 1024 ** 3;

export interface ServerConfig {
  fleet: string;
  listen: string;
  /** Where the server keeps its streams. */
  storeFolder: string;
  /** Certificate and key of the server; null: without TLS, for loopback. */
  tls: { certificate: string; key: string } | null;
  users: readonly BusUser[];
}

/**
 * The configuration file of a server, by name and permission of each user. Each host has a separate account,
 * into which nothing but its subjects are imported: what the server answers to a host, a confirmation too,
 * stays in that account, whatever subject the host names for it. Pure.
 */
export function renderNatsConfig({ fleet, listen, storeFolder, tls, users }: ServerConfig): string {
  const names = busNames(fleet);
  const list = (words: readonly string[]) => `[${words.map((word) => JSON.stringify(word)).join(", ")}]`;
  const user = ({ publicKey, publish, subscribe }: BusUser) =>
    `users: [{ nkey: ${publicKey}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }]`;
  const shared = (host: string) => ({
    streams: [names.call(host, "*"), names.take(host)],
    services: [
      names.hello(host),
      names.answer(host, "*", "*"),
      names.mail(host, "*"),
      `$KV.${host === "*" ? "*" : names.bucket(host)}.>`,
      `$JS.ACK.*.${host}.>`,
    ],
  });
  const { streams, services } = shared("*");
  const exported = [
    ...streams.map((subject) => `{ stream: ${JSON.stringify(subject)} }`),
    // The server remembers for so long where an answer goes; a host may ask for many.
    ...services.map((subject) => `{ service: ${JSON.stringify(subject)}, response_threshold: "5s" }`),
  ];
  const accountOf = (one: BusUser & { host: string }) => {
    const { streams: received, services: sent } = shared(one.host);
    const imported = [
      ...received.map((subject) => `{ stream: { account: SVC, subject: ${JSON.stringify(subject)} } }`),
      ...sent.map((subject) => `{ service: { account: SVC, subject: ${JSON.stringify(subject)} } }`),
    ];
    return [
      `  ${JSON.stringify(`HOST-${one.host}`)}: {`,
      `    ${user(one)}`,
      "    imports: [",
      ...imported.map((line) => `      ${line}`),
      "    ]",
      "  }",
    ];
  };
  return [
    `listen: ${JSON.stringify(listen)}`,
    `max_payload: ${maxPayloadBytes}`,
    'write_deadline: "10s"',
    `jetstream { store_dir: ${JSON.stringify(storeFolder)}, max_memory_store: 67108864, max_file_store: ${maxStoreBytes} }`,
    ...(tls
      ? [
          `tls { cert_file: ${JSON.stringify(tls.certificate)}, key_file: ${JSON.stringify(tls.key)}, handshake_first: true }`,
        ]
      : []),
    "accounts {",
    "  SVC: {",
    "    jetstream: enabled",
    ...users.filter(({ host }) => host === null).map((one) => `    ${user(one)}`),
    "    exports: [",
    ...exported.map((line) => `      ${line}`),
    "    ]",
    "  }",
    ...users.flatMap((one) => (one.host === null ? [] : accountOf({ ...one, host: one.host }))),
    "}",
    "",
  ].join("\n");
}
