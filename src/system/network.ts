import { type HttpServer, type ListenOptions, listen } from "./http-server.ts";
import { findSocket, parseAddress } from "./linux-sockets.ts";

/** Access to other processes by HTTP. A simulation replaces the network. */
export interface Network {
  /** See `listen` of `http-server.ts`. */
  listen(options: ListenOptions): HttpServer;
  /** The `fetch` of the runtime. */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Whether `listen` can identify the user of a caller. */
  knowsCallers: boolean;
  /** The owner of the listener at this address of the machine, from the kernel's table. */
  listenerOwner(host: string, port: number): ListenerOwner;
}

/** `unsupported`: this operating system does not report owners. */
type ListenerOwner = "own" | "other" | "none" | "unsupported";

/** Whether only this machine answers at a host of a URL or of a listener: 127/8, `localhost`, `::1`. Pure. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/.test(host);
}

export function createNetwork(): Network {
  return {
    listen,
    fetch: (url, init) => fetch(url, init),
    listenerOwner,
    knowsCallers: process.platform === "linux",
  };
}

function listenerOwner(host: string, port: number): ListenerOwner {
  if (process.platform !== "linux") return "unsupported";
  const names = host === "localhost" ? ["127.0.0.1", "::1"] : [host];
  const found = names.map((name) => ownerAt(name, port));
  return found.find((owner) => owner === "other") ?? found.find((owner) => owner === "own") ?? "none";
}

function ownerAt(host: string, port: number): ListenerOwner {
  const address = parseAddress(host);
  if (address === null) return "other";
  const socket = findSocket({ address, port }, { address: new Uint8Array(address.length), port: 0 });
  if (socket === "absent") return "none";
  return socket !== null && socket.inode !== 0 && socket.uid === process.geteuid?.() ? "own" : "other";
}
