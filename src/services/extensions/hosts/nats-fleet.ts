import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { jsonValue } from "../../../protocol/json.ts";
import type { Remedy } from "../../../protocol/remedy.ts";
import { hostNamePattern, SchemaVersion1, Strict } from "../../../protocol/wire.ts";
import { childPath } from "../../../system/contained-path.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { isLoopbackHost } from "../../../system/network.ts";
import { createBusKey, hostUser, operatorUser, renderNatsConfig } from "./nats-config.ts";

/**
 * The files of a NATS server for trying a fleet out: who may connect, their keys, the server's configuration.
 */

const PublicKey = Type.String({ pattern: "^U[A-Z2-7]{55}$" });
/** Public keys only: a key file may be moved to its host. */
const FleetUsers = Strict({
  schema_version: SchemaVersion1,
  listen: Type.String(),
  operator: PublicKey,
  hosts: Type.Record(Type.String({ pattern: hostNamePattern }), PublicKey),
  /** Hosts that the server may still accept, or of which it may still keep something. */
  revoked: Type.Optional(Type.Array(Type.String({ pattern: hostNamePattern }))),
});
type FleetUsers = typeof FleetUsers.static;

export function natsFleetPaths(stateRoot: string, fleet: string) {
  const folder = childPath(stateRoot, "nats", fleet);
  return {
    folder,
    lock: childPath(folder, "lock"),
    users: childPath(folder, "users.json"),
    config: childPath(folder, "nats.conf"),
    store: childPath(folder, "store"),
    running: childPath(folder, "server.json"),
    certificate: childPath(folder, "server.crt"),
    certificateKey: childPath(folder, "server.key"),
    hosts: childPath(folder, "hosts"),
    operatorKey: childPath(folder, "operator.nk"),
    hostKey: (host: string) => childPath(folder, "hosts", `${host}.nk`),
  };
}
export type NatsFleetPaths = ReturnType<typeof natsFleetPaths>;

/** The address and port that a server listens on; loopback is without TLS. */
export interface ListenAddress {
  address: string;
  port: number;
  isLoopback: boolean;
}

interface NatsFleet {
  listen: ListenAddress;
  hosts: readonly string[];
  /** Hosts whose revocation is not proved, or whose share of the server is not deleted. */
  revoked: readonly string[];
}

/** The users of one server, kept in files. A caller holds the fleet's lock while it changes them. */
export type NatsFleetFiles = ReturnType<typeof createNatsFleetFiles>;

export function createNatsFleetFiles(deps: { files: Files; paths: NatsFleetPaths; fleet: string }) {
  const { files, paths, fleet } = deps;

  function load(): FleetUsers | null {
    const text = files.read(paths.users, { owner: "private" });
    if (text === null && !files.exists(paths.users)) return null;
    const value = jsonValue(text);
    if (Value.Check(FleetUsers, value)) return value;
    throw new ServiceError(
      "precondition_failed",
      `${paths.users} is not whole or not this user's alone; without the folder ${paths.folder} a new fleet begins`,
    );
  }

  function required(): FleetUsers {
    const users = load();
    if (users) return users;
    throw new ServiceError("precondition_failed", `no server of the fleet "${fleet}" was made`, {
      data: { remedy: { code: "make_fleet_server" } satisfies Remedy },
    });
  }

  /** The configuration goes with the users: the server reads it at its start and when it is asked to. */
  function save(users: FleetUsers): void {
    files.write("file:nats-users", paths.users, `${JSON.stringify(users, null, 2)}\n`);
    const { isLoopback } = toListenAddress(users.listen);
    const config = renderNatsConfig({
      fleet,
      listen: users.listen,
      storeFolder: paths.store,
      tls: isLoopback ? null : { certificate: paths.certificate, key: paths.certificateKey },
      users: [
        operatorUser(fleet, users.operator),
        ...Object.entries(users.hosts).map(([host, key]) => hostUser(fleet, host, key)),
      ],
    });
    files.write("file:nats-config", paths.config, config);
  }

  const toFleet = ({ listen, hosts, revoked = [] }: FleetUsers): NatsFleet => ({
    listen: toListenAddress(listen),
    hosts: Object.keys(hosts).sort(),
    revoked,
  });

  return {
    paths,
    /** Null before the first start. Throws `precondition_failed` for a file that is not ours or not whole. */
    read(): NatsFleet | null {
      const users = load();
      return users && toFleet(users);
    },
    /** Makes the operator's key at the first call, and keeps where the server listens. */
    prepare(listen: ListenAddress): NatsFleet {
      for (const folder of [paths.folder, paths.store, paths.hosts])
        files.ensureDirectory("file:nats-folder", folder);
      const before = load();
      const key = before ? null : createBusKey();
      if (key) files.write("file:nats-key", paths.operatorKey, `${key.seed}\n`);
      const users: FleetUsers = {
        ...before,
        schema_version: 1,
        listen: fromListenAddress(listen),
        operator: before?.operator ?? key?.publicKey ?? "",
        hosts: before?.hosts ?? {},
      };
      save(users);
      return toFleet(users);
    },
    /** Makes the key of a host; `conflict` when there is one, or when `revoked` has the name. */
    addHost(host: string): void {
      const users = required();
      if (users.hosts[host] !== undefined) {
        throw new ServiceError("conflict", `host "${host}" has a key`, {
          data: { remedy: { code: "revoke_host", host } satisfies Remedy },
        });
      }
      if (users.revoked?.includes(host)) {
        throw new ServiceError(
          "conflict",
          `host "${host}" was revoked, and the server may still keep what it had`,
          { data: { remedy: { code: "start_fleet_server", fleet, host } satisfies Remedy } },
        );
      }
      const { publicKey, seed } = createBusKey();
      files.write("file:nats-key", paths.hostKey(host), `${seed}\n`);
      save({ ...users, hosts: { ...users.hosts, [host]: publicKey } });
    },
    /**
     * Takes the user of a host away; `not_found` when there is none and `revoked` has not the name. The key file
     * stays until `forgetRevoked`: it proves that the server refuses it.
     */
    revokeHost(host: string): void {
      const users = required();
      const { [host]: key, ...hosts } = users.hosts;
      const revoked = users.revoked ?? [];
      if (key === undefined && !revoked.includes(host))
        throw new ServiceError("not_found", `no host "${host}" has a key of this fleet`);
      save({ ...users, hosts, revoked: [...new Set([...revoked, host])] });
    },
    /** The server refuses this revoked host and keeps nothing of it: removes its key file too. */
    forgetRevoked(host: string): void {
      const { revoked = [], ...users } = required();
      if (users.hosts[host] === undefined) files.removeFile("file:nats-key", paths.hostKey(host));
      const remaining = revoked.filter((one) => one !== host);
      save(remaining.length === 0 ? users : { ...users, revoked: remaining });
    },
  };
}

/** `ADDRESS:PORT`, with an IPv6 address in brackets. Throws `invalid_request` for what is none. Pure. */
export function toListenAddress(text: string): ListenAddress {
  const found = /^([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:]+\]):(\d{1,5})$/.exec(text);
  const [, address = "", digits = ""] = found ?? [];
  const port = Number(digits);
  if (!found || port < 1 || port > 65_535) {
    throw new ServiceError("invalid_request", `"${text}" is no ADDRESS:PORT, as in 10.0.0.5:4222`);
  }
  if (address === "0.0.0.0" || address === "[::]") {
    throw new ServiceError(
      "invalid_request",
      `${text}: name the address by which the hosts reach this machine`,
    );
  }
  return { address, port, isLoopback: isLoopbackHost(address) };
}

/** Pure. */
function fromListenAddress({ address, port }: ListenAddress): string {
  return `${address}:${port}`;
}

/** For `--nats`. Pure. */
export function urlOf(listen: ListenAddress): string {
  return `${listen.isLoopback ? "nats" : "tls"}://${fromListenAddress(listen)}`;
}
