import { describe, expect, test } from "bun:test";
import type { HostAnswer, HostCall, HostControl } from "../../../../src/protocol/hosts.ts";
import { type Caller, createCaller } from "../../../../src/services/extensions/hosts/caller.ts";
import type { HostRequest } from "../../../../src/services/extensions/hosts/host-link.ts";
import { createLocalLink } from "../../../../src/services/extensions/hosts/host-link.ts";
import { createMergedFleet } from "../../../../src/services/extensions/hosts/merged-fleet.ts";
import { createResponder, type Responder } from "../../../../src/services/extensions/hosts/responder.ts";
import type { ServiceError } from "../../../../src/system/errors.ts";
import { createIds } from "../../../../src/system/ids.ts";
import { createFakeClock, settle } from "../../../support/fake-clock.ts";

type Sent = { head: HostCall | HostControl | HostAnswer; body: Uint8Array | null };

/**
 * An operator and one host over a way that the test interferes with. As a gateway does, the host keeps the
 * answers of what acts by the key of the call: `handled` has what was carried out.
 */
function setup(
  options: {
    answer?: (request: Request) => Response | Promise<Response>;
    toHost?: (sent: Sent, deliver: (sent: Sent) => void) => void;
    toOperator?: (sent: Sent, deliver: (sent: Sent) => void) => void;
  } = {},
) {
  const clock = createFakeClock();
  const handled: string[] = [];
  const as = { instance: "aaaaaaaaaaaaaaaa" as string | null };
  const pass = (sent: Sent, deliver: (sent: Sent) => void) => deliver(sent);
  const { toHost = pass, toOperator = pass } = options;
  const answers = new Map<string, Promise<Response>>();
  const respond = (name: string): Responder =>
    createResponder({
      clock,
      link: createLocalLink(async (request) => {
        const key = request.headers.get("idempotency-key");
        const carryOut = async () => {
          handled.push(`${name} ${request.method} ${new URL(request.url).pathname}`);
          return (await options.answer?.(request)) ?? Response.json({ number: handled.length });
        };
        if (key === null) return carryOut();
        const answer = answers.get(key) ?? carryOut();
        answers.set(key, answer);
        return (await answer).clone();
      }),
      send: (_operator, head, body) =>
        toOperator({ head, body }, (one) =>
          caller.receive("build-3", one.head, one.body ?? new Uint8Array(0)),
        ),
    });
  const hosts = new Map([["aaaaaaaaaaaaaaaa", respond("a")]]);
  const caller: Caller = createCaller({
    clock,
    ids: createIds(),
    carrier: {
      maxBodyBytes: () => 1024,
      instanceOf: () => as.instance,
      send: ({ instance }, head, body) =>
        toHost({ head, body }, (one) =>
          hosts.get(instance)?.receive(one.head, one.body ?? new Uint8Array(0)),
        ),
    },
  });
  const send = (operation: string, more: Partial<HostRequest> = {}) =>
    caller.linkTo("build-3").send({
      operation,
      params: { agent_ref: "worker" },
      query: "",
      headers: {},
      body: null,
      signal: new AbortController().signal,
      ...more,
    });
  return { clock, handled, answers, as, hosts, respond, caller, send };
}

const json = (value: unknown) => ({
  headers: { "content-type": "application/json" },
  body: new TextEncoder().encode(JSON.stringify(value)),
});
const submit = json({ request_kind: "submit_prompt", prompt: "p" });

async function reasonOf(work: Promise<unknown>): Promise<[string, string, unknown]> {
  try {
    await work;
    return ["none", "", null];
  } catch (error) {
    const { reason, message, data } = error as ServiceError;
    return [reason, message, data?.["remedy"]];
  }
}

describe("work over a way that fails", () => {
  test("an answer that is lost comes again, and the work is done once", async () => {
    let lost = 0;
    const { send, clock, handled } = setup({
      toOperator: (sent, deliver) => {
        if ("kind" in sent.head && sent.head.kind !== "taken" && lost < 4) lost += 1;
        else deliver(sent);
      },
    });
    const answer = send("submitAgentRequest", submit);
    await settle();
    await clock.advance(10_000);
    expect(await (await answer).json()).toEqual({ number: 1 });
    expect(handled).toEqual(["a POST /svc/agents/worker/requests"]);
    expect(lost).toBe(4);
  });

  test("a call that is lost is sent again", async () => {
    let lost = 0;
    const { send, clock, handled } = setup({
      toHost: (sent, deliver) => {
        if (sent.head.kind === "call" && lost < 2) lost += 1;
        else deliver(sent);
      },
    });
    const answer = send("submitAgentRequest", submit);
    await clock.advance(10_000);
    expect((await answer).status).toBe(200);
    expect(handled).toHaveLength(1);
  });

  test("messages that come twice, late or in another order change nothing", async () => {
    const kept: (() => void)[] = [];
    const { send, clock, handled, caller } = setup({
      answer: () => Response.json({ long: "x".repeat(200_000) }),
      toHost: (sent, deliver) => {
        deliver(sent);
        deliver(sent);
        kept.push(() => deliver(sent));
      },
      toOperator: (sent, deliver) => {
        deliver(sent);
        deliver(sent);
        kept.push(() => deliver(sent));
      },
    });
    const first = await send("submitAgentRequest", submit);
    expect(((await first.json()) as { long: string }).long).toHaveLength(200_000);
    for (const again of kept.reverse()) again();
    await clock.advance(60_000);
    const second = await send("readAgent");
    expect(((await second.json()) as { long: string }).long).toHaveLength(200_000);
    expect(handled.filter((one) => one.includes("POST"))).toHaveLength(1);
    expect(caller.counts().dropped).toBeGreaterThan(0);
  });

  test("a partition in the middle ends with an outcome that is not known, and says how to find out", async () => {
    const way = { open: true };
    const { send, clock, handled } = setup({
      answer: async () => {
        way.open = false;
        return Response.json({ done: true });
      },
      toHost: (sent, deliver) => void (way.open && deliver(sent)),
      toOperator: (sent, deliver) => void (way.open && deliver(sent)),
    });
    const key = { ...submit.headers, "idempotency-key": "key-1" };
    const answer = reasonOf(send("agentSubmitGatewayRequest", { ...submit, headers: key }));
    await clock.advance(60_000);
    const [reason, , remedy] = await answer;
    expect(reason).toBe("outcome_unknown");
    expect(remedy).toEqual({ code: "find_outcome", key: "key-1", agent_name: "worker@build-3" });
    expect(handled).toHaveLength(1);
  });

  test("a partition before the host took it is not known either; a read is only unavailable", async () => {
    const { send, clock } = setup({ toHost: () => {} });
    const work = reasonOf(send("submitAgentRequest", submit));
    const read = reasonOf(send("readAgent"));
    await clock.advance(60_000);
    expect([(await work)[0], (await read)[0]]).toEqual(["outcome_unknown", "unavailable"]);
  });

  test.each(["agentSubmitGatewayRequest", "agentSendKeys", "relaunchAgent"])(
    "a process that replaced the first gets %s with the same key, and it is done once",
    async (operation) => {
      const way = { isLost: true };
      const world = setup({
        toOperator: (sent, deliver) => void ((sent.head.kind === "taken" || !way.isLost) && deliver(sent)),
      });
      const { send, clock, handled, answers, as, hosts, respond } = world;
      const answer = send(operation, submit);
      await settle();
      as.instance = "bbbbbbbbbbbbbbbb";
      hosts.set("bbbbbbbbbbbbbbbb", respond("b"));
      hosts.get("aaaaaaaaaaaaaaaa")?.stop();
      hosts.delete("aaaaaaaaaaaaaaaa");
      way.isLost = false;
      await clock.advance(10_000);
      expect(await (await answer).json()).toEqual({ number: 1 });
      expect([handled.length, answers.size]).toEqual([1, 1]);
    },
  );

  test("a refusal by the process that replaced the first does not say that the first did nothing", async () => {
    const way = { isLost: true };
    const { send, clock, answers, as, hosts, respond } = setup({
      answer: () =>
        way.isLost ? Response.json({}) : Response.json({ detail: "no live gateway" }, { status: 503 }),
      toOperator: (sent, deliver) => void (way.isLost || deliver(sent)),
    });
    const answer = reasonOf(send("agentSubmitGatewayRequest", submit));
    await settle();
    way.isLost = false;
    // Its gateway is gone, and nobody knows the key.
    answers.clear();
    as.instance = "bbbbbbbbbbbbbbbb";
    hosts.set("bbbbbbbbbbbbbbbb", respond("b"));
    hosts.delete("aaaaaaaaaaaaaaaa");
    await clock.advance(10_000);
    const [reason, message] = await answer;
    expect([reason, message]).toEqual(["outcome_unknown", expect.stringContaining("was refused then (503)")]);
    // The same without an earlier process is what it says.
    expect((await send("agentSubmitGatewayRequest", submit)).status).toBe(503);
  });

  test("what a host does not know of its gateway, its operator does not know either", async () => {
    const { send } = setup({ answer: () => Response.json({ detail: "not known" }, { status: 504 }) });
    const [reason, , remedy] = await reasonOf(send("agentSubmitGatewayRequest", submit));
    expect(reason).toBe("outcome_unknown");
    expect(remedy).toMatchObject({ code: "find_outcome", agent_name: "worker@build-3" });
  });

  test("a call that was sent again is not undone when the host takes one of the two no more", async () => {
    const calls: Sent["head"][] = [];
    const { send, clock, caller } = setup({
      toHost: ({ head }) => void (head.kind === "call" && calls.push(head)),
    });
    const refuse = () => {
      const failed = { kind: "failed", run: 0, seq: 0, reason: "not_taken", detail: "too many" };
      caller.receive("build-3", { ...failed, id: calls.at(-1)?.id }, new Uint8Array(0));
    };
    const once = reasonOf(send("submitAgentRequest", submit));
    refuse();
    const twice = reasonOf(send("submitAgentRequest", submit));
    await clock.advance(3000);
    refuse();
    expect([(await once)[0], (await twice)[0], calls.length]).toEqual(["unavailable", "outcome_unknown", 3]);
  });

  test("a body ends with the process that sends it, as soon as another one is alive", async () => {
    const { send, as, caller } = setup({
      answer: () => new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } }),
    });
    const answer = await send("agentGatewayEvents");
    const body = reasonOf(answer.text());
    caller.endReplaced();
    as.instance = null;
    caller.endReplaced();
    expect(caller.counts().open).toBe(1);
    as.instance = "bbbbbbbbbbbbbbbb";
    caller.endReplaced();
    expect((await body)[1]).toContain("its process was replaced");
    expect(caller.counts().open).toBe(0);
  });

  test("a body whose part is lost breaks off, and never has a hole", async () => {
    let parts = 0;
    const { send } = setup({
      answer: () => new Response("x".repeat(500_000), { headers: { "content-type": "text/plain" } }),
      toOperator: (sent, deliver) => {
        if (sent.head.kind === "part") parts += 1;
        if (parts !== 3 || sent.head.kind !== "part") deliver(sent);
      },
    });
    const answer = await send("agentTranscript");
    await expect(answer.text()).rejects.toThrow("a part of its answer was lost");
  });
});

describe("what a host and an operator refuse", () => {
  test("a call that comes again while it is under way is carried out once", async () => {
    const gate = Promise.withResolvers<void>();
    const { handled, hosts } = setup({
      async answer() {
        await gate.promise;
        return Response.json({});
      },
    });
    const host = hosts.get("aaaaaaaaaaaaaaaa");
    const call = {
      kind: "call",
      operator: "00".repeat(8),
      seq: 1,
      operation: "readAgent",
      params: { agent_ref: "w" },
      id: "1".padStart(32, "0"),
      query: "",
      headers: {},
      has_body: false,
      head_only: false,
    };
    for (let nth = 0; nth < 3; nth++) host?.receive(call, new Uint8Array(0));
    expect(host?.counts()).toEqual({ open: 1, dropped: 0, calls: 1 });
    gate.resolve();
    await settle();
    expect([handled.length, host?.counts().open]).toEqual([1, 0]);
  });

  const forged: { id: string; head: unknown }[] = [
    { id: "no object", head: null },
    { id: "another kind", head: { kind: "shutdown" } },
    { id: "a call without its fields", head: { kind: "call", id: "00" } },
    { id: "an array", head: [] },
  ];
  test.each(forged)("$id is dropped", ({ head }) => {
    const { hosts } = setup();
    const host = hosts.get("aaaaaaaaaaaaaaaa");
    host?.receive(head, new Uint8Array(0));
    expect(host?.counts()).toEqual({ open: 0, dropped: 1, calls: 0 });
  });

  test("operations that end a server or start a program are none of a link's", async () => {
    const { send, handled } = setup();
    for (const operation of ["shutdown", "launchHeadless", "createSignInCode", "nothing"]) {
      expect((await reasonOf(send(operation)))[0]).toBe("unavailable");
    }
    expect(handled).toEqual([]);
  });

  test("a body beyond what the way takes is refused before it is sent", async () => {
    const { send, handled } = setup();
    const [reason, message] = await reasonOf(send("submitAgentRequest", { body: new Uint8Array(1025) }));
    expect([reason, message]).toEqual([
      "too_large",
      'the way to host "build-3" takes bodies of at most 1024 bytes',
    ]);
    expect(handled).toEqual([]);
  });

  /** JSON that goes on for 64 MB, and how much of it was taken. */
  function longAnswer() {
    const taken = { bytes: 0 };
    const part = new TextEncoder().encode(`"${"x".repeat(256 * 1024)}",`);
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (taken.bytes > 64 * 1024 * 1024) return controller.close();
          controller.enqueue(taken.bytes === 0 ? new TextEncoder().encode("[") : part);
          taken.bytes += part.length;
        },
      },
      { highWaterMark: 0 },
    );
    return { taken, answer: () => new Response(stream, { headers: { "content-type": "application/json" } }) };
  }
  const most = 10 * 1024 * 1024;

  test("an answer without end to what changes something is read up to its limit, and is not known", async () => {
    const { taken, answer } = longAnswer();
    const { send } = setup({ answer });
    expect((await reasonOf(send("submitAgentRequest", submit)))[0]).toBe("outcome_unknown");
    expect(taken.bytes).toBeLessThan(most);
  });

  test("an answer without end to a question is read up to its limit, and is invalid", async () => {
    const { taken, answer } = longAnswer();
    const { send, clock } = setup({ answer });
    const link = { send: (request: HostRequest) => send(request.operation, request) };
    const fleet = createMergedFleet({
      clock,
      localHost: "desk",
      directory: { agents: () => [] },
      remotes: [],
    });
    const route = { at: "host" as const, host: "build-3", ref: "worker", link, hostAwaySinceUtc: null };
    const request = { operation: "readAgent", params: { agent_ref: "worker" }, query: "", headers: {} };
    const work = fleet.send(route, { ...request, body: null, signal: new AbortController().signal });
    expect((await reasonOf(work))[0]).toBe("transport_failed");
    expect(taken.bytes).toBeLessThan(most);
  });

  test.each([
    { id: "says for ever that it is at work", kind: "taken", everyMs: 1000 },
    { id: "never ends its answer", kind: "part", everyMs: 30_000 },
  ])("a host that $id holds a call for the time of its operation", async ({ kind, everyMs }) => {
    let id = "";
    const { send, clock, caller } = setup({
      toHost: ({ head }) => {
        id = head.id;
      },
    });
    const work = reasonOf(send("stopAgent"));
    await settle();
    const say = (head: object) => caller.receive("build-3", { id, run: 1, ...head }, new Uint8Array(1));
    if (kind === "part") say({ kind: "head", seq: 0, status: 200 });
    let seq = 0;
    for (let passedMs = 0; passedMs < 10 * 60_000; passedMs += everyMs) {
      seq += 1;
      say({ kind, seq });
      await clock.advance(everyMs);
    }
    expect(caller.counts().open).toBe(0);
    expect((await work)[0]).toBe("outcome_unknown");
  });

  test("a part that is larger than a host sends is dropped", async () => {
    const { send, caller, clock } = setup({
      toOperator: ({ head, body }, deliver) =>
        deliver({ head, body: head.kind === "part" ? new Uint8Array(65 * 1024) : body }),
    });
    const answer = await send("agentTranscript");
    await expect(answer.text()).rejects.toThrow("a part of its answer was lost");
    expect(caller.counts().dropped).toBe(1);
    await clock.advance(1);
  });

  test("an answer under another host's name is dropped", async () => {
    const seen: Sent[] = [];
    const { send, caller, clock } = setup({ toOperator: (sent) => void seen.push(sent) });
    const answer = reasonOf(send("readAgent"));
    await settle();
    for (const { head, body } of seen) caller.receive("build-4", head, body ?? new Uint8Array(0));
    expect(caller.counts().dropped).toBe(seen.length);
    expect(seen.map(({ head }) => head.kind)).toContain("end");
    await clock.advance(60_000);
    expect((await answer)[0]).toBe("unavailable");
  });

  test("a host cannot speak as a page: form and headers are ours", async () => {
    const { send } = setup({
      answer: () =>
        new Response("<script>", {
          headers: { "content-type": "text/html", "set-cookie": "a=b", "cache-control": "no-cache" },
        }),
    });
    const answer = await send("agentTranscript");
    expect([...answer.headers].sort()).toEqual([
      ["cache-control", "no-cache"],
      ["content-type", "application/octet-stream"],
      ["x-content-type-options", "nosniff"],
    ]);
  });

  test("a host that sends without being asked is cut off", async () => {
    const { send, caller } = setup({
      answer: () => new Response("x".repeat(10), { headers: { "content-type": "text/plain" } }),
      toOperator(sent, deliver) {
        deliver(sent);
        if (sent.head.kind !== "head") return;
        for (let seq = 1; seq < 100; seq++) {
          deliver({ head: { ...sent.head, kind: "part", seq }, body: new Uint8Array(64 * 1024) });
        }
      },
    });
    const answer = await send("agentTranscript");
    await expect(answer.arrayBuffer()).rejects.toThrow("more than it was asked for");
    expect(caller.counts().open).toBe(0);
  });
});

describe("a call that is made by hand", () => {
  const calls: { id: string; more: Partial<HostRequest> }[] = [
    { id: "a path as its query", more: { query: "/../../worker/stop" } },
    { id: "a path in front of its query", more: { query: "/../stop?x=1" } },
    { id: "a fragment", more: { query: "#/../stop" } },
    { id: "the folder above as its agent", more: { params: { agent_ref: ".." } } },
    { id: "this folder as its agent", more: { params: { agent_ref: "." } } },
  ];
  test.each(calls)("reaches no other route: $id", async ({ more }) => {
    const { send, clock, handled } = setup();
    const answer = reasonOf(send("submitAgentRequest", { ...submit, ...more }));
    await clock.advance(60_000);
    expect((await answer)[0]).not.toBe("none");
    expect(handled).toEqual([]);
  });

  test("keeps the path of its operation whatever its query has", async () => {
    const urls: string[] = [];
    const { send } = setup({
      answer: (request) => {
        urls.push(request.url);
        return Response.json({});
      },
    });
    await send("readAgent", { query: "?a=/../../stop&b=%2e%2e%2f" });
    expect(urls).toEqual(["http://127.0.0.1/svc/agents/worker?a=/../../stop&b=%2e%2e%2f"]);
  });
});
