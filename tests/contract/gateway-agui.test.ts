import { describe, expect, test } from "bun:test";
import { aguiConnectionHeader } from "../../src/protocol/wire.ts";
import type { Submission } from "../../src/services/agent/agent.ts";
import { brokenRules, eventsIn, refusedByStock, type WireEvent } from "../support/agui.ts";
import { createFakeAgent, notReady } from "../support/fake-agent.ts";
import { type FakeClock, settle } from "../support/fake-clock.ts";
import { giveTerminal } from "../support/fake-terminal.ts";
import { giveTurns } from "../support/fake-turns.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";
import { createTestSignal, until } from "../support/until.ts";

/** A GUI stream of an app on a fake clock, read piece by piece. */
interface AguiReader {
  reply: Response;
  /**
   * Reads, and lets time pass, until an event or a comment is as wanted. Throws when the stream ends before.
   */
  until(what: string, wanted: (event: WireEvent, raw: string) => boolean): Promise<WireEvent>;
  /** As `until`, and no time passes: what is wanted must be on its way. */
  arrives(what: string, wanted: (event: WireEvent, raw: string) => boolean): Promise<WireEvent>;
  /** Reads to the end, letting time pass. */
  rest(): Promise<WireEvent[]>;
  raw(): string;
  cancel(): Promise<void>;
}

/** Time passes in steps of this many milliseconds while a reader waits. */
const stepMs = 60;
/** Of the clock on the wall, for hangs only: how many steps a real connection needs is the machine's. */
const patienceMs = 60_000;

function readAgui(reply: Response, clock: FakeClock): AguiReader {
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let raw = "";
  let pending: ReturnType<typeof reader.read> | null = null;

  /** False at the end of the stream. */
  async function more(timePasses = true): Promise<boolean> {
    pending ??= reader.read();
    let piece: Awaited<typeof pending> | null = timePasses ? null : await pending;
    const taken = pending.then((value) => {
      piece = value;
    });
    const beganMs = performance.now();
    while (piece === null) {
      if (performance.now() - beganMs > patienceMs) throw new Error(`nothing more came after: ${raw}`);
      await Promise.race([taken, clock.advance(stepMs)]);
    }
    pending = null;
    const { done, value } = piece as Awaited<ReturnType<typeof reader.read>>;
    raw += decoder.decode(value, { stream: true });
    return !done;
  }

  async function find(what: string, wanted: (event: WireEvent, raw: string) => boolean, timePasses: boolean) {
    for (;;) {
      const found = eventsIn(raw).find((event) => wanted(event, raw));
      if (found) return found;
      if (!(await more(timePasses))) throw new Error(`the stream ended before ${what}: ${raw}`);
    }
  }

  return {
    reply,
    raw: () => raw,
    until: (what, wanted) => find(what, wanted, true),
    arrives: (what, wanted) => find(what, wanted, false),
    async rest() {
      while (await more());
      return eventsIn(raw);
    },
    cancel: () => reader.cancel(),
  };
}

const user = (content: unknown) => ({ id: "m1", role: "user", content });
const input = (more: object = {}) => ({
  threadId: "thread",
  runId: "run-a",
  messages: [user("do it")],
  ...more,
});

describe.each(surfaces)("AG-UI $surface", ({ open }) => {
  async function setup(kind: "terminal" | "headless" = "terminal") {
    const agent = createFakeAgent();
    const bundle = createGatewayBundle({ agent });
    if (kind === "terminal") giveTerminal(agent);
    const turns = kind === "headless" ? giveTurns(agent) : null;
    const http = open((request) => bundle.app.fetch(request));
    const submissions = createTestSignal<Submission>();
    agent.onSubmit = (given) => {
      submissions.emit(given);
      if (!turns) return { outcome: "submitted" };
      return { outcome: "submitted", turn: turns.begin(given.turnId) };
    };
    const post = (path: string, body: unknown) => http.request(`/v1/ag-ui/${path}`, json(body));
    return {
      ...bundle,
      turns,
      post,
      detach: (id: string) => http.request(`/v1/ag-ui/connections/${id}`, { method: "DELETE" }),
      async stream(path: "connect" | "runs", body: unknown) {
        const reply = await post(path, body);
        expect([reply.status, reply.headers.get("content-type")]).toEqual([
          200,
          expect.stringContaining("text/event-stream"),
        ]);
        return readAgui(reply, bundle.clock);
      },
      /** What the agent was given, once it was. */
      given: () => submissions.until("a submission", () => submissions.values.at(-1)),
      async refusal(body: unknown) {
        const reply = await post("runs", body);
        return [reply.status, await reply.json()];
      },
      async [Symbol.asyncDispose]() {
        await bundle[Symbol.asyncDispose]();
        await http[Symbol.asyncDispose]();
      },
    };
  }
  type Gateway = Awaited<ReturnType<typeof setup>>;

  const evidence = (step: "turn_ended" | "settled", more: object = {}) => ({
    step,
    at_utc: "2026-01-01T00:00:00.000+00:00",
    proof: "seen",
    ...more,
  });

  /** One whole run, its prompt's turn ended by `end`. */
  async function wholeRun(gateway: Gateway, body: object, end: () => Promise<void>) {
    const stream = await gateway.stream("runs", body);
    await stream.until("the first event", ({ type }) => type === "RUN_STARTED");
    await end();
    const events = await stream.rest();
    expect([brokenRules(stream.raw()), await refusedByStock(stream.raw())]).toEqual([[], null]);
    return events;
  }

  test("capabilities report what there is and what acts on the agent", async () => {
    await using gateway = await setup();
    const reply = await gateway.app.fetch(new Request("http://127.0.0.1:1/v1/ag-ui/capabilities"));
    const { capabilities, svc } = (await reply.json()) as { capabilities: object; svc: object };
    expect(capabilities).toMatchObject({
      transport: { streaming: true, websocket: false, resumable: false },
      state: { snapshots: true, persistentState: true, deltas: false },
      tools: { supported: false, items: [] },
    });
    expect(svc).toMatchObject({
      schemaVersion: 1,
      agentLifecycleManagedByGui: false,
      replaySupport: "current_snapshot_only",
      connectStreamKeepalive: "sse_comment_heartbeat",
      features: { taskRunSubmission: true, stateDeltas: false },
      gateway: { targetTransportFamily: "tui", activeExecution: "idle", backend: "local_interactive" },
    });
  });

  test("a connection reports the state now and each time it changes, until it is detached", async () => {
    await using gateway = await setup();
    const stream = await gateway.stream(
      "connect",
      input({ messages: [], lastSeenEventId: "7", state: { mine: 1 }, parentRunId: null }),
    );
    const first = await stream.until("a snapshot", ({ type }) => type === "STATE_SNAPSHOT");
    const id = stream.reply.headers.get(aguiConnectionHeader) ?? "";
    expect(id).toMatch(/^agui-[0-9a-f]{32}$/);
    expect(first["snapshot"]).toMatchObject({
      mine: 1,
      svc: {
        schemaVersion: 1,
        connection: {
          connectionId: id,
          threadId: "thread",
          runId: "run-a",
          lastSeenEventId: "7",
          createdAtUtc: expect.any(String),
          detached: false,
        },
        gateway: {
          gatewayHealth: "healthy",
          managedAgentConnectivity: "connected",
          backend: "local_interactive",
          tmuxSessionName: "SVC-fake-1",
          managedAgentInstanceEpoch: 1,
        },
        activeExecution: { state: "idle", queueDepth: 0, requestAdmission: "open" },
        lifecycle: { agentLifecycleManagedByGui: false, detachOnly: true },
      },
    });
    expect(stream.raw()).not.toContain("null");
    gateway.agent.setConnectivity({ connected: false, detail: "the agent is gone" });
    await stream.until(
      "the change",
      ({ type }, raw) => type === "STATE_SNAPSHOT" && raw.includes("unavailable"),
    );
    const detached = await gateway.detach(id);
    expect([detached.status, await detached.json()]).toEqual([
      200,
      { status: "detached", connectionId: id, detached: true, detail: expect.any(String) },
    ]);
    const events = await stream.rest();
    expect(events.map((event) => event.type)).toEqual([
      "RUN_STARTED",
      "STATE_SNAPSHOT",
      "STATE_SNAPSHOT",
      "RUN_FINISHED",
    ]);
    expect([brokenRules(stream.raw()), await refusedByStock(stream.raw())]).toEqual([[], null]);
    const again = await gateway.detach(id);
    expect([again.status, await again.json()]).toEqual([
      404,
      { status: "not_found", connectionId: id, detached: false, detail: expect.any(String) },
    ]);
    expect(gateway.agent.prompts).toEqual([]);
  });

  test("both streams have the headers that proxies mind", async () => {
    await using gateway = await setup();
    for (const path of ["connect", "runs"] as const) {
      const stream = await gateway.stream(path, input({ runId: `headers-${path}` }));
      const { headers } = stream.reply;
      expect([headers.get("cache-control"), headers.get("x-accel-buffering")]).toEqual(["no-cache", "no"]);
      await stream.cancel();
    }
  });

  test("a silent stream says that it lives before 5 s are over", async () => {
    await using gateway = await setup();
    const stream = await gateway.stream("connect", input());
    await stream.until("a snapshot", ({ type }) => type === "STATE_SNAPSHOT");
    const beats = (raw: string) => raw.split(": heartbeat\n\n").length - 1;
    const started = gateway.clock.monotonicMs();
    await stream.until("three beats", (_, raw) => beats(raw) >= 3);
    // On a busy machine the clock of the test runs ahead of the listener's bytes.
    const due = Math.floor((gateway.clock.monotonicMs() - started) / 5000);
    await stream.arrives("a beat for every 5 s", (_, raw) => beats(raw) >= due);
    await stream.cancel();
  });

  test("a viewer that leaves is let go, and its connection is gone", async () => {
    await using gateway = await setup();
    const before = gateway.followers();
    const stream = await gateway.stream("connect", input());
    await stream.until("a snapshot", ({ type }) => type === "STATE_SNAPSHOT");
    expect(gateway.followers()).toBe(before + 1);
    await stream.cancel();
    await until("the viewer to be let go", () => gateway.followers() === before);
    expect((await gateway.detach(stream.reply.headers.get(aguiConnectionHeader) ?? "")).status).toBe(404);
  });

  test("a stopping gateway finishes connections and breaks off runs", async () => {
    const gateway = await setup("headless");
    const viewer = await gateway.stream("connect", input());
    const run = await gateway.stream("runs", input());
    await viewer.until("a snapshot", ({ type }) => type === "STATE_SNAPSHOT");
    await run.until("a snapshot", ({ type }) => type === "STATE_SNAPSHOT");
    void gateway.stop();
    expect((await viewer.rest()).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
    expect((await run.rest()).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "svc_run_stream_failed" });
    for (const stream of [viewer, run]) {
      expect([brokenRules(stream.raw()), await refusedByStock(stream.raw())]).toEqual([[], null]);
    }
    await gateway[Symbol.asyncDispose]();
  });

  test("a lone user message is given word for word, and its run ends with the turn", async () => {
    await using gateway = await setup();
    const events = await wholeRun(
      gateway,
      input({ protocolVersion: "1.0", tools: [], context: [], state: {}, forwardedProps: {} }),
      async () => {
        const { onEvidence } = await gateway.given();
        await gateway.clock.advance(1000);
        onEvidence(evidence("turn_ended"));
      },
    );
    expect(gateway.agent.prompts).toEqual(["do it"]);
    expect(events[0]).toMatchObject({
      type: "RUN_STARTED",
      runId: "run-a",
      input: { protocolVersion: "1.0" },
    });
    expect(events.at(-1)).toEqual({
      type: "RUN_FINISHED",
      threadId: "thread",
      runId: "run-a",
      result: {
        gatewayRequestId: expect.stringMatching(/^gwreq-/),
        gatewayRequestState: "completed",
        targetTransportFamily: "tui",
      },
    });
  });

  test("a run whose prompt waits says why", async () => {
    await using gateway = await setup();
    gateway.agent.setReadiness(notReady);
    const stream = await gateway.stream("runs", input());
    const waiting = await stream.until(
      "the reason",
      ({ type }, raw) => type === "ACTIVITY_SNAPSHOT" && raw.includes("not_ready"),
    );
    expect(waiting["activityType"]).toBe("svc.tui.status");
    await stream.cancel();
    gateway.agent.setReadiness({ ready: true });
    expect(await gateway.given()).toMatchObject({ prompt: "do it" });
  });

  const lost = [
    { id: "the program has ended", given: evidence("turn_ended", { agent_ended: true }) },
    { id: "the prompt was handed back", given: evidence("settled") },
  ];
  test.each(lost)("a run of which $id fails", async ({ given }) => {
    await using gateway = await setup();
    const events = await wholeRun(gateway, input(), async () => {
      const { onEvidence } = await gateway.given();
      await gateway.clock.advance(100);
      onEvidence(given);
    });
    expect(events.at(-1)).toEqual({
      type: "RUN_ERROR",
      message: expect.stringMatching(/^the run failed: seen \(see GET \/v1\/requests\/gwreq-/),
      code: "svc_gateway_request_failed",
    });
  });

  test("a request that fails is an error of the run", async () => {
    await using gateway = await setup();
    gateway.agent.onSubmit = () => ({ outcome: "failed", typed: false, detail: "the pane is gone" });
    const events = await wholeRun(gateway, input(), async () => {});
    expect(events.at(-1)).toEqual({
      type: "RUN_ERROR",
      message: expect.stringMatching(/^the run failed: the pane is gone \(see GET \/v1\/requests\/gwreq-/),
      code: "svc_gateway_request_failed",
    });
  });

  test("a headless run reports its turn and ends with it", async () => {
    await using gateway = await setup("headless");
    const events = await wholeRun(gateway, input(), async () => {
      const { turnId } = await gateway.given();
      expect(turnId).toBe("run-a");
      await gateway.clock.advance(100);
      gateway.turns?.end({ status: "completed", detail: "done" });
    });
    expect(events.at(-1)).toMatchObject({
      type: "RUN_FINISHED",
      result: { gatewayRequestState: "completed", targetTransportFamily: "headless" },
    });
  });

  test("chat session and model of a headless run act, and nothing else of the properties does", async () => {
    await using gateway = await setup("headless");
    const svc = {
      chatSession: { mode: "exact", id: "chat-1" },
      execution: { model: { name: "big", reasoning: { level: 2 } } },
      other: "hidden-1",
    };
    const stream = await gateway.stream("runs", input({ forwardedProps: { svc, apiKey: "hidden-2" } }));
    const given = await gateway.given();
    expect(given).toMatchObject({ chatSession: svc.chatSession, execution: svc.execution });
    expect(given.prompt).toContain('["apiKey","svc.other"]');
    expect(given.prompt).not.toContain("hidden");
    await stream.cancel();
  });

  const hostileIds = [
    { id: "a way out of the folder", runId: "../../etc/passwd" },
    { id: "a path", runId: "a/b" },
    { id: "a hidden file", runId: ".hidden" },
    { id: "a name longer than a file's", runId: "x".repeat(300) },
    { id: "a letter with dots", runId: "päth" },
    { id: "a blank inside", runId: "a b" },
    { id: "a flag", runId: "-rf" },
  ];
  test.each(hostileIds)("a run id that is $id names a turn that is no path", async ({ runId }) => {
    await using gateway = await setup("headless");
    const stream = await gateway.stream("runs", input({ runId }));
    const { turnId } = await gateway.given();
    expect(turnId).toMatch(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/);
    const started = await stream.until("the start", ({ type }) => type === "RUN_STARTED");
    expect(started["runId"]).toBe(runId);
    await stream.cancel();
  });

  const invalid = [
    { id: "no message at all", body: input({ messages: [] }), says: "messages" },
    {
      id: "neither a user nor a tool message",
      body: input({ messages: [{ id: "a", role: "assistant", content: "x" }] }),
      says: "messages",
    },
    { id: "a blank task", body: input({ messages: [user(" \n\t")] }), says: "blank" },
    { id: "a task without content", body: input({ messages: [{ id: "a", role: "user" }] }), says: "blank" },
    {
      id: "a picture in the task",
      body: input({ messages: [user([{ type: "image", source: { type: "url", value: "x" } }])] }),
      says: "messages.0.content",
    },
    {
      id: "a picture in an earlier user message",
      body: input({ messages: [user([{ type: "image" }]), { ...user("now"), id: "m2" }] }),
      says: "messages.0.content",
    },
    {
      id: "an unknown chat session",
      body: input({ forwardedProps: { svc: { chatSession: { mode: "newest" } } } }),
      says: "chatSession",
    },
    {
      id: "an exact chat session without its id",
      body: input({ forwardedProps: { svc: { chatSession: { mode: "exact" } } } }),
      says: "chatSession",
    },
    {
      id: "an execution that is none",
      body: input({ forwardedProps: { svc: { execution: { model: "big" } } } }),
      says: "execution",
    },
    {
      id: "a model for a terminal agent",
      body: input({ forwardedProps: { svc: { execution: { model: { name: "big" } } } } }),
      says: "execution",
    },
    {
      id: "a chat session for a terminal agent",
      body: input({ forwardedProps: { svc: { chatSession: { mode: "new" } } } }),
      says: "chatSession",
    },
  ];
  test.each(invalid)("$id is 422 and says what", async ({ body, says }) => {
    await using gateway = await setup();
    expect(await gateway.refusal(body)).toEqual([422, { detail: expect.stringContaining(says) }]);
    expect(gateway.queue.depth()).toBe(0);
  });

  const malformed = [
    { id: "no thread", body: { runId: "r", messages: [] }, field: "threadId" },
    { id: "an empty run id", body: input({ runId: "" }), field: "runId" },
    { id: "a run id that is a number", body: input({ runId: 5 }), field: "runId" },
    { id: "messages that are none", body: input({ messages: "x" }), field: "messages" },
  ];
  test.each(malformed)("$id is 422 by its field, on both streams", async ({ body, field }) => {
    await using gateway = await setup();
    for (const path of ["runs", "connect"]) {
      const reply = await gateway.post(path, body);
      const { detail } = (await reply.json()) as { detail: { loc: unknown[] }[] };
      expect([reply.status, detail[0]?.loc]).toEqual([422, ["body", field]]);
    }
  });

  test("a model that the headless tool does not have is 422", async () => {
    await using gateway = await setup("headless");
    if (gateway.turns) gateway.turns.problem = "no such level";
    const body = input({ forwardedProps: { svc: { execution: { model: { name: "big" } } } } });
    expect(await gateway.refusal(body)).toEqual([422, { detail: expect.stringContaining("no such level") }]);
  });

  test("a backend that is not known is 503, and capabilities say so", async () => {
    await using gateway = await setup();
    Object.assign(gateway.agent, { backend: "of-tomorrow" });
    expect((await gateway.refusal(input()))[0]).toBe(503);
    const reply = await gateway.app.fetch(new Request("http://127.0.0.1:1/v1/ag-ui/capabilities"));
    expect(await reply.json()).toMatchObject({
      svc: { features: { taskRunSubmission: false }, gateway: { targetTransportFamily: "unknown" } },
    });
  });

  test("an agent that is gone is 503", async () => {
    await using gateway = await setup();
    gateway.agent.setConnectivity({ connected: false, detail: "the session is gone" });
    expect(await gateway.refusal(input())).toEqual([
      503,
      { detail: expect.stringContaining("the session is gone") },
    ]);
  });

  test("a new instance of the agent is 503 until it is reconciled", async () => {
    await using gateway = await setup();
    gateway.agent.setConnectivity({ instanceId: "two" });
    expect(await gateway.refusal(input())).toEqual([
      503,
      { detail: expect.stringContaining("blocked_reconciliation") },
    ]);
    gateway.board.reconcile();
    await (await gateway.stream("runs", input())).cancel();
  });

  test("a request that waits or runs is 409", async () => {
    await using gateway = await setup();
    gateway.agent.setReadiness(notReady);
    await gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: "first" } });
    expect(await gateway.refusal(input())).toEqual([409, { detail: expect.stringContaining("idle") }]);
  });

  test("of runs that come at the same moment exactly one is taken", async () => {
    await using gateway = await setup();
    gateway.agent.setReadiness(notReady);
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, number) => gateway.post("runs", input({ runId: `at-once-${number}` }))),
    );
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
    expect(gateway.queue.depth()).toBe(1);
    for (const reply of replies) await reply.body?.cancel();
  });

  test("a run id that was seen before is 409, whatever became of it", async () => {
    await using gateway = await setup();
    await wholeRun(gateway, input({ runId: "../once" }), async () => {
      const { onEvidence } = await gateway.given();
      await gateway.clock.advance(100);
      onEvidence(evidence("turn_ended"));
    });
    await settle();
    expect(await gateway.refusal(input({ runId: "../once" }))).toEqual([
      409,
      { detail: "this runId was seen before; use a new one" },
    ]);
    expect(gateway.agent.prompts).toHaveLength(1);
  });

  test("a run id that names a turn of the agent is 409", async () => {
    await using gateway = await setup("headless");
    expect((await gateway.refusal(input({ runId: "turn-1" })))[0]).toBe(409);
  });

  test("a foreign origin, a foreign host and another type are refused as everywhere", async () => {
    await using gateway = await setup();
    const ask = (headers: Record<string, string>) =>
      gateway.app.fetch(
        new Request("http://127.0.0.1:1/v1/ag-ui/runs", { ...json(input()), headers: { ...headers } }),
      );
    const type = { "content-type": "application/json" };
    expect((await ask({ ...type, origin: "http://evil.example" })).status).toBe(403);
    expect((await ask({ ...type, host: "evil.example" })).status).toBe(421);
    expect((await ask({ "content-type": "text/plain" })).status).toBe(415);
    expect(gateway.queue.depth()).toBe(0);
  });
});
