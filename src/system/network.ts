import { type HttpServer, type ListenOptions, listen } from "./http-server.ts";

/** The door to other processes by HTTP: a simulation puts a network of its own behind it. */
export interface Network {
  /** As `listen` of `http-server.ts`. */
  listen(options: ListenOptions): HttpServer;
  /** As the runtime's own. */
  fetch(url: string, init: RequestInit): Promise<Response>;
}

export function createNetwork(): Network {
  return { listen, fetch: (url, init) => fetch(url, init) };
}
