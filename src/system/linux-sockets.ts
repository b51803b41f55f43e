import type { dlopen } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";

// TCP sockets as the Linux kernel reports them. Every function returns null on other systems and without an
// answer of the kernel; none throws.

/** A TCP address: 4 or 16 bytes. */
export interface SocketAddress {
  address: Uint8Array;
  port: number;
}

/** `inode` is 0 for a socket without an owner process; its `uid` is meaningless then. */
interface SocketFacts {
  uid: number;
  inode: number;
}

const signatures = {
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  send: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" },
  recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i64" },
  getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
  getpeername: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  shutdown: { args: ["i32", "i32"], returns: "i32" },
} as const;

type Libc = ReturnType<typeof dlopen<typeof signatures>>["symbols"];

/** The C library and the diagnosis socket of the process, opened at the first use. */
const kernel: { libc: Libc | null | undefined; diagnosis: number | null; sequence: number } = {
  libc: undefined,
  diagnosis: null,
  sequence: 0,
};

function libc(): Libc | null {
  if (kernel.libc !== undefined) return kernel.libc;
  kernel.libc = null;
  if (process.platform !== "linux") return null;
  // Not imported, since other runtimes load the services too; those read the tables below /proc.
  const ffi = foreignFunctions();
  if (ffi === null) return null;
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  for (const name of ["libc.so.6", `libc.musl-${machine}.so.1`]) {
    try {
      kernel.libc = ffi.dlopen(name, signatures).symbols;
      break;
    } catch {
      // The system has the other C library, or none.
    }
  }
  return kernel.libc;
}

function foreignFunctions(): { dlopen: typeof dlopen } | null {
  try {
    return (process.getBuiltinModule("bun:ffi") as { dlopen: typeof dlopen } | undefined) ?? null;
  } catch {
    return null;
  }
}

/**
 * Memory that the kernel may write to. The runtime may move the content of a small array without a separate
 * buffer (bun 1.4.5); the kernel would then overwrite other memory.
 */
function fixedBuffer(bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(bytes));
}

const family = { inet: 2, inet6: 10 } as const;
const requestBytes = 72;
const request = fixedBuffer(requestBytes);
const requestView = new DataView(request.buffer);
const answer = fixedBuffer(8192);
const answerView = new DataView(answer.buffer);

/**
 * The socket of this machine with the address `local` and the peer `remote`; without such a connection, the
 * listening socket at `local`; "absent" without either. Uses one exact query (sock_diag) if the kernel has
 * it, else the tables below /proc/net. Null when neither answers.
 */
export function findSocket(local: SocketAddress, remote: SocketAddress): SocketFacts | "absent" | null {
  return askKernel(local, remote) ?? findInTables(local, remote);
}

/** Like `findSocket`, through sock_diag only. */
export function askKernel(local: SocketAddress, remote: SocketAddress): SocketFacts | "absent" | null {
  const c = libc();
  if (c === null) return null;
  kernel.diagnosis ??= openDiagnosis(c);
  if (kernel.diagnosis === null) return null;
  kernel.sequence = (kernel.sequence + 1) >>> 0;
  request.fill(0);
  requestView.setUint32(0, requestBytes, true);
  requestView.setUint16(4, 20, true); // SOCK_DIAG_BY_FAMILY
  requestView.setUint16(6, 1, true); // NLM_F_REQUEST
  requestView.setUint32(8, kernel.sequence, true);
  request[16] = local.address.length === 4 ? family.inet : family.inet6;
  request[17] = 6; // IPPROTO_TCP
  requestView.setUint32(20, 0xffff_ffff, true);
  requestView.setUint16(24, local.port);
  requestView.setUint16(26, remote.port);
  request.set(local.address, 28);
  request.set(remote.address, 44);
  requestView.setUint32(64, 0xffff_ffff, true);
  requestView.setUint32(68, 0xffff_ffff, true);
  const sent = Number(c.send(kernel.diagnosis, request, requestBytes, 0));
  for (let read = 0; sent === requestBytes && read < 4; read++) {
    const length = Number(c.recv(kernel.diagnosis, answer, answer.length, 0x40)); // MSG_DONTWAIT
    if (length < 20) break;
    if (answerView.getUint32(8, true) !== kernel.sequence) continue;
    const type = answerView.getUint16(4, true);
    if (type === 20 && length >= 88) {
      return { uid: answerView.getUint32(80, true), inode: answerView.getUint32(84, true) };
    }
    // NLMSG_ERROR with ENOENT
    return type === 2 && answerView.getInt32(16, true) === -2 ? "absent" : null;
  }
  c.close(kernel.diagnosis);
  kernel.diagnosis = null;
  return null;
}

function openDiagnosis(c: Libc): number | null {
  const made = c.socket(16, 2 | 0o2000000, 4); // AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG
  return made < 0 ? null : made;
}

/** Like `findSocket`, from /proc/net/tcp and tcp6, for kernels without sock_diag. Reads the whole table. */
export function findInTables(local: SocketAddress, remote: SocketAddress): SocketFacts | "absent" | null {
  if (process.platform !== "linux") return null;
  try {
    const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFileSync(path, "utf8"));
    return findRow(tables.join("\n"), local, remote);
  } catch {
    return null;
  }
}

/** The row of a socket in the tables; a listener on all addresses matches too. Pure. */
export function findRow(text: string, local: SocketAddress, remote: SocketAddress): SocketFacts | "absent" {
  const [own, peer] = [hexForms(local), hexForms(remote)];
  const port = hexPort(local.port);
  let listening: SocketFacts | "absent" = "absent";
  for (const line of text.split("\n")) {
    const [, at = "", to = "", state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (!at.endsWith(port)) continue;
    const facts = { uid: Number(uid), inode: Number(inode) };
    if (own.includes(at) && peer.includes(to)) return facts;
    if (state === "0A" && (own.includes(at) || /^0+:/.test(at))) listening = facts;
  }
  return listening;
}

const hexPort = (port: number) => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;

/** The forms of an address in the tables: 32-bit words in the machine's byte order, IPv4 in both tables. */
function hexForms({ address, port }: SocketAddress): string[] {
  const view = new DataView(address.buffer, address.byteOffset, address.length);
  let text = "";
  for (let at = 0; at < address.length; at += 4) {
    text += view.getUint32(at, true).toString(16).toUpperCase().padStart(8, "0");
  }
  const forms = address.length === 4 ? [text, `0000000000000000FFFF0000${text}`] : [text];
  return forms.map((form) => form + hexPort(port));
}

/** An open connection of this process. The kernel never gives its cookie to another socket. */
export interface OpenConnection {
  descriptor: number;
  cookieLow: number;
  cookieHigh: number;
}

const option = new Uint32Array(fixedBuffer(8).buffer);
const optionLength = new Uint32Array(fixedBuffer(4).buffer);
const name = fixedBuffer(28);
const nameLength = new Uint32Array(fixedBuffer(4).buffer);
const nameView = new DataView(name.buffer);

function readCookie(c: Libc, descriptor: number): boolean {
  optionLength[0] = option.byteLength;
  return c.getsockopt(descriptor, 1, 57, option, optionLength) === 0; // SOL_SOCKET, SO_COOKIE
}

function readName(c: Libc, which: "getpeername" | "getsockname", descriptor: number): SocketAddress | null {
  nameLength[0] = name.length;
  if (c[which](descriptor, name, nameLength) !== 0) return null;
  const kind = nameView.getUint16(0, true);
  const port = nameView.getUint16(2);
  if (kind === family.inet) return { address: name.slice(4, 8), port };
  if (kind === family.inet6) return { address: unmapped(name.slice(8, 24)), port };
  return null;
}

/** A connection of this process with the addresses of both ends. */
export interface FoundConnection {
  local: SocketAddress;
  remote: SocketAddress;
  connection: OpenConnection;
}

/**
 * The connections of this process at its port `port`. For a listener on several addresses a peer may have
 * more than one. Null when unknown.
 */
export function listConnections(port: number): FoundConnection[] | null {
  const c = libc();
  if (c === null) return null;
  return openDescriptors().flatMap((descriptor) => {
    const local = readName(c, "getsockname", descriptor);
    if (local?.port !== port) return [];
    const remote = readName(c, "getpeername", descriptor);
    if (remote === null || !readCookie(c, descriptor)) return [];
    const [cookieLow = 0, cookieHigh = 0] = option;
    return [{ local, remote, connection: { descriptor, cookieLow, cookieHigh } }];
  });
}

/** Whether the descriptor still belongs to the same connection, which neither end has closed. */
export function isStillOpen({ descriptor, cookieLow, cookieHigh }: OpenConnection): boolean {
  if (!kernel.libc || !readCookie(kernel.libc, descriptor)) return false;
  if (option[0] !== cookieLow || option[1] !== cookieHigh) return false;
  nameLength[0] = name.length;
  // Fails after a reset of the peer, whose port another process may have by then.
  return kernel.libc.getpeername(descriptor, name, nameLength) === 0;
}

/** Activity of a connection of this process. */
export interface ConnectionActivity {
  descriptor: number;
  peerPort: number;
  bytesReceived: number;
  /** Bytes that were not sent yet or that the peer has not confirmed. */
  unconfirmed: number;
  /** Milliseconds since the last byte in either direction; without one, since the connection was accepted. */
  idleMs: number;
}

const information = fixedBuffer(160);
const informationLength = new Uint32Array(fixedBuffer(4).buffer);
const informationView = new DataView(information.buffer);

/**
 * The connections to the port `port` of this process, among a range of descriptors. Opens no descriptor.
 */
export function connectionsAt(port: number, from: number, until: number): ConnectionActivity[] {
  const c = libc();
  if (c === null) return [];
  const found: ConnectionActivity[] = [];
  for (let descriptor = from; descriptor < until; descriptor++) {
    const peer = readName(c, "getpeername", descriptor);
    if (peer === null || readName(c, "getsockname", descriptor)?.port !== port) continue;
    informationLength[0] = information.length;
    // IPPROTO_TCP, TCP_INFO
    if (c.getsockopt(descriptor, 6, 11, information, informationLength) !== 0) continue;
    if ((informationLength[0] ?? 0) < 148) continue;
    const read = (offset: number) => informationView.getUint32(offset, true);
    found.push({
      descriptor,
      peerPort: peer.port,
      bytesReceived: Number(informationView.getBigUint64(128, true)),
      unconfirmed: read(24) + read(144),
      idleMs: Math.min(read(44), read(52)),
    });
  }
  return found;
}

/** Ends a connection in both directions; the holder of the descriptor sees the end and closes it. */
export function endConnection(descriptor: number): void {
  libc()?.shutdown(descriptor, 2);
}

function openDescriptors(): number[] {
  try {
    return readdirSync("/proc/self/fd").map(Number);
  } catch {
    return [];
  }
}

export function sameAddress(one: SocketAddress, other: SocketAddress): boolean {
  return one.port === other.port && Buffer.compare(one.address, other.address) === 0;
}

/** Converts an IPv4-mapped IPv6 address to IPv4; returns other addresses unchanged. */
function unmapped(address: Uint8Array): Uint8Array {
  const mapped =
    address.subarray(0, 10).every((byte) => byte === 0) && address[10] === 255 && address[11] === 255;
  return mapped ? address.slice(12) : address;
}

/** The bytes of an IP address; null for other text, such as a name. Pure. */
export function parseAddress(text: string): Uint8Array | null {
  const bare = text.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  if (/^\d+\.\d+\.\d+\.\d+$/.test(bare)) return bytesOf(bare.split(".").map(Number));
  if (!bare.includes(":")) return null;
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(bare);
  const tail = dotted ? bytesOf((dotted[2] ?? "").split(".").map(Number)) : null;
  if (dotted && tail === null) return null;
  const words = tail ? `${dotted?.[1]}${hexWord(tail, 0)}:${hexWord(tail, 2)}` : bare;
  const [head = "", rest, ...more] = words.split("::");
  if (more.length > 0) return null;
  const split = (part: string) => (part === "" ? [] : part.split(":"));
  const [left, right] = [split(head), split(rest ?? "")];
  const missing = 8 - left.length - right.length;
  if (rest === undefined ? missing !== 0 : missing < 0) return null;
  const all = [...left, ...Array.from({ length: missing }, () => "0"), ...right];
  if (!all.every((word) => /^[0-9a-f]{1,4}$/i.test(word))) return null;
  return unmapped(
    new Uint8Array(all.map((word) => Number.parseInt(word, 16)).flatMap((word) => [word >> 8, word & 255])),
  );
}

const hexWord = (bytes: Uint8Array, at: number) =>
  (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16);

function bytesOf(numbers: number[]): Uint8Array | null {
  return numbers.every((one) => one <= 255) ? new Uint8Array(numbers) : null;
}
