import { nkeys } from "@nats-io/transport-node";
import { busNames } from "./nats-bus.ts";

/** One user of the server: the operator, or a host. */
export interface BusUser {
  publicKey: string;
  publish: readonly string[];
  subscribe: readonly string[];
}

/** A new key: what the server knows of it, and the secret for the user's file. */
export function createBusKey(): { publicKey: string; seed: string } {
  const pair = nkeys.createUser();
  return { publicKey: pair.getPublicKey(), seed: new TextDecoder().decode(pair.getSeed()) };
}

/** May call every host and keep the directory. Pure. */
export function operatorUser(fleet: string, publicKey: string): BusUser {
  const names = busNames(fleet);
  return {
    publicKey,
    publish: [names.call("*", "*"), "$JS.API.>", "$JS.ACK.>", "$JS.FC.>"],
    subscribe: [`svc.v1.${fleet}.*.answer.>`, `${names.inbox("operator")}.>`],
  };
}

/** May publish below its name only, and read only what is sent to it. Pure. */
export function hostUser(fleet: string, host: string, publicKey: string): BusUser {
  const names = busNames(fleet);
  return {
    publicKey,
    publish: [
      names.answer(host, "*", "*"),
      `$KV.${names.bucket}.${host}`,
      `$KV.${names.bucket}.${host}.*`,
      names.mail(host, "*"),
      `$JS.API.CONSUMER.INFO.${names.mailStream}.${host}`,
      `$JS.API.CONSUMER.MSG.NEXT.${names.mailStream}.${host}`,
      `$JS.ACK.${names.mailStream}.${host}.>`,
    ],
    subscribe: [names.call(host, "*"), `${names.inbox(host)}.>`],
  };
}

/** The largest body with room for its head. */
const maxPayloadBytes = 9 * 1024 * 1024;

export interface ServerConfig {
  listen: string;
  /** Where the server keeps its streams. */
  storeFolder: string;
  /** Certificate and key of the server; null: without TLS, for loopback. */
  tls: { certificate: string; key: string } | null;
  users: readonly BusUser[];
}

/** The configuration file of a server, by name and permission of each user. Pure. */
export function renderNatsConfig({ listen, storeFolder, tls, users }: ServerConfig): string {
  const list = (words: readonly string[]) => `[${words.map((word) => JSON.stringify(word)).join(", ")}]`;
  const lines = users.map(
    ({ publicKey, publish, subscribe }) =>
      `      { nkey: ${publicKey}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }`,
  );
  return [
    `listen: ${JSON.stringify(listen)}`,
    `max_payload: ${maxPayloadBytes}`,
    'write_deadline: "10s"',
    `jetstream { store_dir: ${JSON.stringify(storeFolder)}, max_memory_store: 67108864, max_file_store: 1073741824 }`,
    ...(tls
      ? [
          `tls { cert_file: ${JSON.stringify(tls.certificate)}, key_file: ${JSON.stringify(tls.key)}, handshake_first: true }`,
        ]
      : []),
    "accounts {",
    "  SVC: {",
    "    jetstream: enabled",
    "    users: [",
    lines.join(",\n"),
    "    ]",
    "  }",
    "}",
    "",
  ].join("\n");
}
