import { describe, expect, test } from "bun:test";
import { maxFollowers } from "../../src/protocol/events.ts";
import { createFollowers } from "../../src/routes/http/sse.ts";
import type { FleetEvents } from "../../src/services/fleet/fleet-events.ts";
import { createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { faultTest } from "../support/fault-table.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { surfaces } from "../support/http-surface.ts";
import { until } from "../support/until.ts";

/** A fleet in which nothing happens. */
const quiet: FleetEvents = {
  async *follow({ signal }) {
    yield { item: "heartbeat" };
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  },
};

const servers = [
  { id: "/v1/events", create: () => createGatewayBundle() },
  { id: "/svc/events", create: () => createCoordinatorBundle({ events: quiet }) },
];

describe.each(surfaces)("streams of events $surface", ({ open }) => {
  for (const { id: path, create } of servers) {
    faultTest(
      `${path}: ${maxFollowers} are followed at once; one more is refused until one is left`,
      {
        area: "callers",
        fault: "A caller opens one stream of events after the other and leaves none",
        outcome: `${maxFollowers} are followed; whoever else calls is served`,
        seen: "503 with a detail",
        recovery: "end a stream",
      },
      async () => {
        await using bundle = create();
        await using http = open((request) => bundle.app.fetch(request));
        const follow = (init: RequestInit = {}) => http.request(path, init);
        const leave = new AbortController();
        const held = await Promise.all(
          Array.from({ length: maxFollowers }, (_, nth) => follow(nth === 0 ? { signal: leave.signal } : {})),
        );
        expect(held.map(({ status }) => status)).toEqual(held.map(() => 200));
        for (const method of ["GET", "HEAD"]) {
          expect([method, (await follow({ method })).status]).toEqual([method, 503]);
        }
        expect(await (await follow()).json()).toEqual({
          detail: `${maxFollowers} streams of events are followed already; end one first`,
        });
        expect((await http.request("/health")).status).toBe(200);

        // A reader that gives up reading, and one whose connection ends: each leaves one place.
        await held[1]?.body?.cancel();
        leave.abort();
        const again: Response[] = [];
        await until("two places to be free", async () => {
          const reply = await follow();
          if (reply.status === 200) again.push(reply);
          return again.length === 2;
        });
        expect((await follow()).status).toBe(503);
        for (const reply of [...held.slice(2), ...again]) await reply.body?.cancel();
      },
    );
  }
});

describe("a place among the followers", () => {
  async function* ending(): AsyncGenerator<number> {
    yield 1;
  }
  async function* failing(): AsyncGenerator<number> {
    yield 1;
    throw new Error("the file is gone");
  }
  async function* endless(left: AbortSignal): AsyncGenerator<number> {
    for (let at = 0; !left.aborted; at++) yield at;
  }
  const here = () => new AbortController().signal;

  test.each<{ id: string; end: (followers: ReturnType<typeof createFollowers>) => Promise<unknown> }>([
    { id: "its items end", end: (all) => Array.fromAsync(all.admit(here(), ending)) },
    { id: "its items fail", end: (all) => Array.fromAsync(all.admit(here(), failing)).catch(() => {}) },
    {
      id: "it is given up before the first item",
      end: (all) => all.admit(here(), endless).return(undefined),
    },
    { id: "the reader had left already", end: async (all) => all.admit(AbortSignal.abort(), endless) },
    {
      id: "it is left in every way at once",
      async end(all) {
        const left = new AbortController();
        const items = all.admit(left.signal, endless);
        await items.next();
        left.abort();
        await items.return(undefined);
        await items.next();
      },
    },
  ])("is free once, when $id", async ({ end }) => {
    const followers = createFollowers();
    const admit = () => followers.admit(here(), endless);
    for (let taken = 0; taken < maxFollowers - 1; taken++) admit();
    await end(followers);
    admit();
    expect(admit).toThrow("followed already");
  });
});
