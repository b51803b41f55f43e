import { describe, expect, test } from "bun:test";
import { forwardedEndpoints, forwardedStreams } from "../../../src/protocol/endpoints.ts";
import type { Remedy } from "../../../src/protocol/remedy.ts";
import type { Directory } from "../../../src/services/fleet/directory.ts";
import { createForward, type ForwardRequest } from "../../../src/services/fleet/forward.ts";
import type { GatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import type { Links } from "../../../src/services/fleet/links.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { liveLink, sampleKnown } from "../../support/fleet-fakes.ts";

const { agentTerminalState: route } = forwardedEndpoints;

type Forwarded = Parameters<GatewayClient["forward"]>[0];

function setup(
  answer: (request: Forwarded) => Promise<Response>,
  streams = 0,
  resolve: Directory["resolve"] = (ref) => sampleKnown(ref, { agentId: ref }),
) {
  const clock = createFakeClock();
  const doubted: string[] = [];
  const sent: Forwarded[] = [];
  const client = {
    forward(request: Forwarded) {
      sent.push(request);
      return answer(request);
    },
  } as GatewayClient;
  const directory: Directory = {
    agents: () => [],
    resolve,
    refresh: () => {},
  };
  const links: Links = {
    to: async () => liveLink(client),
    claims: () => true,
    doubt: ({ sessionRoot }) => void doubted.push(sessionRoot),
  };
  const forward = createForward({ directory, links, clock, streams: () => streams });
  const send = (ref = "worker", change: Partial<ForwardRequest> = {}, to = route as typeof route) =>
    forward.send(to, ref, {
      target: "/v1/control/tui/state",
      headers: new Headers(),
      body: null,
      signal: new AbortController().signal,
      ...change,
    });
  return { clock, doubted, sent, send };
}

/** Never answers, and fails as a fetch does when its signal aborts. */
const hang = ({ signal }: Forwarded) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

test("a mailbox that was registered a moment ago is used: the directory is looked at again", async () => {
  let looks = 0;
  const { send } = setup(
    async () => Response.json({}),
    0,
    (ref) => sampleKnown(ref, { agentId: ref, mailbox: looks++ > 0 }),
  );
  expect((await send("worker", {}, forwardedEndpoints.agentMailStatus as never)).status).toBe(200);
  expect(looks).toBe(2);
});

describe("a request that is handed on", () => {
  test("fails after the route's time when nothing answers, and the link is doubted", async () => {
    const { clock, doubted, send } = setup(hang);
    const answer = send();
    answer.catch(() => {});
    await clock.advance(4999);
    expect(doubted).toEqual([]);
    await clock.advance(1);
    await expect(answer).rejects.toMatchObject({
      reason: "unavailable",
      message: 'the gateway of "worker": no answer within 5000 ms',
    });
    expect([doubted, clock.pending()]).toEqual([["/sessions/worker"], 0]);
  });

  const changes = forwardedEndpoints.agentSubmitGatewayRequest as unknown as typeof route;
  const keyed = { headers: new Headers({ "idempotency-key": "key-1" }) };
  const unknown = (why: string, remedy: Remedy) => ({
    reason: "outcome_unknown",
    message: `it is not known whether the gateway of "worker" did it: ${why}`,
    data: { remedy },
  });

  test("is not known to be undone when it changes something and was sent without an answer", async () => {
    const { clock, doubted, send } = setup(hang);
    const silent = send("worker", keyed, changes);
    silent.catch(() => {});
    await clock.advance(5000);
    await expect(silent).rejects.toMatchObject(
      unknown("no answer within 5000 ms", { code: "find_outcome", key: "key-1", agent_name: "worker" }),
    );
    const killed = setup(() => Promise.reject(new Error("the socket was closed")));
    await expect(killed.send("worker", {}, changes)).rejects.toMatchObject(
      unknown("the socket was closed", { code: "show_state", agent_id: "worker" }),
    );
    const half = new ReadableStream({ pull: (controller) => controller.error(new Error("cut off")) });
    const cut = setup(async () => new Response(half, { headers: { "content-length": "9" } }));
    await expect(cut.send("worker", keyed, changes)).rejects.toMatchObject({ reason: "outcome_unknown" });
    expect(doubted).toEqual(["/sessions/worker"]);
  });

  test("is certainly undone when nothing listened", async () => {
    const { send } = setup(() =>
      Promise.reject(Object.assign(new Error("refused"), { code: "ConnectionRefused" })),
    );
    await expect(send("worker", keyed, changes)).rejects.toMatchObject({ reason: "unavailable" });
  });

  test("is given up with its caller, which says nothing of the gateway", async () => {
    const { clock, doubted, sent, send } = setup(hang);
    const caller = new AbortController();
    const answer = send("worker", { signal: caller.signal });
    answer.catch(() => {});
    await clock.advance(0);
    caller.abort();
    await expect(answer).rejects.toMatchObject({ reason: "unavailable" });
    expect([sent[0]?.signal.aborted, doubted, clock.pending()]).toEqual([true, [], 0]);
  });

  test("32 of one agent may be under way, and those of another agent do not count", async () => {
    const { clock, send } = setup(hang);
    const first = Array.from({ length: 32 }, () => send("a"));
    await expect(send("a")).rejects.toMatchObject({
      reason: "unavailable",
      message: '32 requests to the gateway of "a" are under way',
    });
    const other = send("b");
    for (const one of [...first, other]) one.catch(() => {});
    await clock.advance(5000);
    await expect(first[0] as Promise<Response>).rejects.toThrow("no answer");
    const again = send("a");
    again.catch(() => {});
    await clock.advance(5000);
    await expect(again).rejects.toThrow("no answer");
  });

  test("gateways that hang leave room for others, and what would wait for a connection is refused at once", async () => {
    const { clock, send } = setup(hang, 160);
    const taken: Promise<Response>[] = [];
    async function fill(ref: string): Promise<number> {
      const before = taken.length;
      for (;;) {
        const one = send(ref);
        const refused = await Promise.race([one.catch(() => true), clock.advance(0).then(() => false)]);
        if (refused === true) return taken.length - before;
        one.catch(() => {});
        taken.push(one);
      }
    }
    expect([await fill("a"), await fill("b"), await fill("c")]).toEqual([32, 8, 4]);
    for (let agent = 0; agent < 9; agent += 1) expect(await fill(`more-${agent}`)).toBe(4);
    await expect(send("last")).rejects.toMatchObject({
      reason: "unavailable",
      message: "80 requests to gateways are under way: try again",
    });
    await clock.advance(5000);
    expect(await fill("last")).toBe(32);
    await clock.advance(5000);
  });

  test("a body of unknown length comes part by part, and its silence is timed only while somebody reads", async () => {
    let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        controller = given;
      },
      cancel: () => {
        cancelled = true;
      },
    });
    const { clock, sent, send } = setup(async () => new Response(body));
    const reply = await send("worker", {}, forwardedStreams.agentGatewayEvents as unknown as typeof route);
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    await clock.advance(120_000);
    expect(sent[0]?.signal.aborted).toBe(false);
    const reading = reader.read();
    (controller as ReadableStreamDefaultController<Uint8Array> | null)?.enqueue(new Uint8Array([1]));
    expect((await reading).value).toEqual(new Uint8Array([1]));
    const silent = reader.read();
    await clock.advance(60_000);
    expect(sent[0]?.signal.aborted).toBe(true);
    await reader.cancel();
    await silent.catch(() => {});
    expect([cancelled, clock.pending()]).toEqual([true, 0]);
  });

  test("an answer that asks for a token makes the link doubted, and goes out as it is", async () => {
    const headers = { "www-authenticate": "Bearer" };
    const { doubted, send } = setup(async () => Response.json({ detail: "x" }, { status: 401, headers }));
    const reply = await send();
    expect([reply.status, await reply.json(), doubted]).toEqual([401, { detail: "x" }, ["/sessions/worker"]]);
  });

  test("of the caller's headers only those that say what is sent and wanted go on", async () => {
    const { sent, send } = setup(async () => Response.json({}));
    const headers = new Headers({
      authorization: "Bearer x",
      origin: "http://evil.example",
      cookie: "a=b",
      host: "elsewhere",
      "content-type": "application/json",
      accept: "text/event-stream",
      "last-event-id": "7",
    });
    await send("worker", { headers });
    expect(sent[0]?.headers).toEqual({
      "content-type": "application/json",
      accept: "text/event-stream",
      "last-event-id": "7",
    });
  });
});
