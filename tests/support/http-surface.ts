import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";
import { chooseOne } from "./matrix.ts";

/** One way to reach an app; the contract holds on each. */
export interface HttpSurface extends AsyncDisposable {
  name: string;
  request(path: string, init?: RequestInit): Promise<Response>;
}

type Fetch = (request: Request) => Response | Promise<Response>;

/** The app called directly, as an edge runtime would. */
export function inProcess(fetch: Fetch): HttpSurface {
  return {
    name: "in process",
    request: async (path, init) => fetch(new Request(`http://127.0.0.1:1${path}`, init)),
    async [Symbol.asyncDispose]() {},
  };
}

/** The app behind a real listener. */
function overListener(fetch: Fetch): HttpSurface {
  const server = listen({
    fetch,
    host: "127.0.0.1",
    port: 0,
    clock: createClock(),
  });
  return {
    name: "over a listener",
    request: (path, init) =>
      globalThis.fetch(`http://127.0.0.1:${server.port}${path}`, { ...init, proxy: false } as RequestInit),
    [Symbol.asyncDispose]: () => server.stop(0),
  };
}

const all = [
  { surface: "in process", open: inProcess },
  { surface: "over a listener", open: overListener },
] as const;

export const surfaces = chooseOne(all, ({ surface }) => surface);

/** A JSON request with the method POST unless told otherwise. */
export function json(body: unknown, method = "POST"): RequestInit {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
