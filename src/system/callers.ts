import {
  type FoundConnection,
  findSocket,
  isStillOpen,
  listConnections,
  type OpenConnection,
  parseAddress,
  type SocketAddress,
  sameAddress,
} from "./linux-sockets.ts";

/**
 * The owner of the other end of a connection to one of our listeners. `own`: the user of this process;
 * `root`; `other`: another user of this machine, no owner any more, or no answer of the kernel; `remote`:
 * another machine; `unsupported`: this operating system does not report owners.
 */
export type Caller = "own" | "root" | "other" | "remote" | "unsupported";

type CallerLookup = (peer: { address: string; port: number } | null) => Caller;

/** At this number all remembered callers are dropped and looked up again. */
const maxRemembered = 4096;

interface Remembered {
  address: string;
  caller: Caller;
  /** Null until a second request came from the same port. */
  connection: OpenConnection | null;
}

/**
 * Looks up the callers of a listener that is bound to `listener`. The result for a port is valid while the
 * same connection is open; another user may get the port of a closed one. For a listener on all addresses
 * nothing is remembered, since one port of a caller may have several connections.
 */
export function createCallerLookup(listener: { address: string; port: number }): CallerLookup {
  const bound = parseAddress(listener.address);
  if (process.platform !== "linux") return () => "unsupported";
  if (bound === null) return () => "other";
  const onAllAddresses = bound.every((byte) => byte === 0);
  const local = { address: bound, port: listener.port };
  const remembered = new Map<number, Remembered>();
  /** The last parsed address, since most callers have the same one. */
  let parsed = { text: listener.address, bytes: bound as Uint8Array | null };

  function bytesOf(text: string): Uint8Array | null {
    if (text !== parsed.text) parsed = { text, bytes: parseAddress(text) };
    return parsed.bytes;
  }

  /** Connections by the port of their peer, from the last scan of all descriptors: callers come in groups. */
  let seen = new Map<number, FoundConnection>();

  function look(): FoundConnection[] {
    const found = listConnections(listener.port) ?? [];
    seen = new Map(found.map((one) => [one.remote.port, one]));
    return found;
  }

  /** The open connection from `remote`; both ends identify it, so there is only one. */
  function seenFrom(remote: SocketAddress): OpenConnection | null {
    const one = seen.get(remote.port);
    if (one === undefined || !sameAddress(one.remote, remote)) return null;
    return isStillOpen(one.connection) ? one.connection : null;
  }

  function findConnection(remote: SocketAddress): OpenConnection | null {
    const before = seenFrom(remote);
    if (before !== null) return before;
    look();
    return seenFrom(remote);
  }

  function lookUpAll(remote: SocketAddress): Caller {
    const callers = look()
      .filter((one) => sameAddress(one.remote, remote))
      .map((one) => ownerOf(remote, one.local));
    if (callers.length === 0) return "other";
    return (["other", "remote", "root"] as const).find((one) => callers.includes(one)) ?? "own";
  }

  return (peer) => {
    if (peer === null) return "other";
    const known = remembered.get(peer.port);
    const again = known?.address === peer.address;
    if (again && known.connection !== null && isStillOpen(known.connection)) return known.caller;
    const address = bytesOf(peer.address);
    if (address === null) return "other";
    const remote = { address, port: peer.port };
    if (onAllAddresses) return lookUpAll(remote);
    // The first request of a caller is not worth a scan.
    const connection = again ? findConnection(remote) : seenFrom(remote);
    const caller = ownerOf(remote, local);
    if (remembered.size >= maxRemembered) remembered.clear();
    // The connection was open before and after the lookup, so the owner is that of its other end.
    const kept = connection !== null && isStillOpen(connection) ? connection : null;
    remembered.set(peer.port, { address: peer.address, caller, connection: kept });
    return caller;
  };
}

/** A socket without an owner process has the user id 0, like a socket of root. */
function ownerOf(remote: SocketAddress, local: SocketAddress): Caller {
  const found = findSocket(remote, local);
  if (found === null) return "other";
  if (found === "absent") return isLoopback(remote.address) || isLoopback(local.address) ? "other" : "remote";
  if (found.inode === 0) return "other";
  if (found.uid === process.geteuid?.()) return "own";
  return found.uid === 0 ? "root" : "other";
}

function isLoopback(address: Uint8Array): boolean {
  if (address.length === 4) return address[0] === 127;
  return address.every((byte, at) => byte === (at === 15 ? 1 : 0));
}
