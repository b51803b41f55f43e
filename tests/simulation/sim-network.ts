import { ServiceError } from "../../src/system/errors.ts";
import type { Network } from "../../src/system/network.ts";
import type { Dice } from "./dice.ts";
import type { SimClock } from "./sim-clock.ts";

/** HTTP between the processes of one simulated machine. */
export interface SimNetwork {
  viewOf(process: { alive: () => boolean; onEnd: (listener: () => void) => void }): Network;
}

interface Listener {
  fetch: (request: Request) => Response | Promise<Response>;
  alive: () => boolean;
  /** Rejects the callers whose answer will never come. */
  cut: Set<(why: Error) => void>;
}

const firstPort = 20_000;

export function createSimNetwork(clock: SimClock, dice: Dice): SimNetwork {
  const listeners = new Map<number, Listener>();
  let nextPort = firstPort;

  function close(port: number): void {
    const listener = listeners.get(port);
    listeners.delete(port);
    for (const cut of listener?.cut ?? []) cut(new Error("the connection was reset"));
  }

  function exchange(url: string, init: RequestInit, alive: () => boolean): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const { signal } = init;
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    const later = (act: () => void) => clock.after(dice.next() * 2, () => (alive() ? act() : undefined));
    const target = new URL(url);
    later(() => {
      const listener = listeners.get(Number(target.port));
      if (!listener) return reject(new Error("connection refused"));
      listener.cut.add(reject);
      const answered = (response: Response) => {
        if (!listener.alive()) return;
        listener.cut.delete(reject);
        later(() => resolve(response));
      };
      const failed = (error: unknown) => {
        if (listener.alive()) reject(error as Error);
      };
      void Promise.resolve(listener.fetch(new Request(url, { ...init, signal: null }))).then(
        answered,
        failed,
      );
    });
    return promise;
  }

  return {
    viewOf: ({ alive, onEnd }) => ({
      listen({ fetch, host, port }) {
        const bound = port === 0 ? nextPort++ : port;
        if (listeners.has(bound)) throw new ServiceError("conflict", `port ${bound} is already in use`);
        const own: Listener = { fetch, alive, cut: new Set() };
        listeners.set(bound, own);
        const end = () => {
          if (listeners.get(bound) === own) close(bound);
        };
        onEnd(end);
        return { host, port: bound, stop: async () => end() };
      },
      fetch: (url, init) => exchange(url, init, alive),
      knowsCallers: true,
      listenerOwner: (_host, port) => (listeners.get(port)?.alive() ? "own" : "none"),
    }),
  };
}
