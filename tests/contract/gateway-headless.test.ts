import { describe, expect, test } from "bun:test";
import { createFakeAgent } from "../support/fake-agent.ts";
import { settle } from "../support/fake-clock.ts";
import { giveTurns } from "../support/fake-turns.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

describe.each(surfaces)("the gateway of a headless agent $surface", ({ open }) => {
  async function setup(path?: string) {
    const agent = Object.assign(createFakeAgent(), { backend: "claude_headless" });
    const turns = giveTurns(agent);
    Object.assign(agent, { terminal: undefined });
    const submissions: Parameters<typeof agent.onSubmit>[0][] = [];
    agent.onSubmit = (submission) => {
      submissions.push(submission);
      return { outcome: "submitted", turn: turns.begin(submission.turnId) };
    };
    const bundle = createGatewayBundle({ agent, ...(path === undefined ? {} : { path }) });
    const http = open((request) => bundle.app.fetch(request));
    const get = async (url: string) => {
      const reply = await http.request(url);
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    };
    const post = async (url: string, body: object) => {
      const reply = await http.request(url, json(body));
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    };
    return {
      ...bundle,
      agent,
      turns,
      submissions,
      http,
      get,
      post,
      prompt: (more: object = {}) => post("/v1/control/prompt", { schema_version: 2, prompt: "x", ...more }),
      queue: (payload: object = {}) =>
        post("/v1/requests", { kind: "submit_prompt", payload: { prompt: "x", ...payload } }),
      interrupt: () => post("/v1/requests", { kind: "interrupt" }),
      record: async (accepted: { body: Record<string, unknown> }) =>
        (await get(`/v1/requests/${accepted.body["request_id"]}`)).body,
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  const refusal = (error_code: string) => ({
    detail: expect.objectContaining({ status: "error", sent: false, error_code }),
  });

  test("a model of nothing is 422 on both routes, and says where", async () => {
    await using gateway = await setup();
    const execution = { model: {} };
    for (const { status, body } of [
      await gateway.prompt({ execution }),
      await gateway.queue({ execution }),
    ]) {
      expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('"model"]')]);
    }
    expect(gateway.submissions).toEqual([]);
  });

  test("its control state has the contract's fields", async () => {
    await using gateway = await setup();
    const idle = {
      schema_version: 1,
      runtime_resumable: true,
      tmux_session_live: true,
      can_accept_prompt_now: true,
      interruptible: false,
      chat_session: { current: null, startup_default: { mode: "new" }, next_prompt_override: null },
      request_admission: "open",
      active_execution: "idle",
      queue_depth: 0,
    };
    expect(await gateway.get("/v1/control/headless/state")).toEqual({ status: 200, body: idle });
    gateway.turns.begin("turn-7");
    expect((await gateway.get("/v1/control/headless/state")).body).toMatchObject({
      can_accept_prompt_now: false,
      interruptible: true,
      active_turn_id: "turn-7",
    });
  });

  test("next-prompt-session takes mode new only and answers the state", async () => {
    await using gateway = await setup();
    const url = "/v1/control/headless/next-prompt-session";
    expect((await gateway.post(url, { mode: "current" })).status).toBe(422);
    const reply = await gateway.post(url, { schema_version: 1, mode: "new" });
    expect([reply.status, reply.body["chat_session"]]).toEqual([
      200,
      { current: null, startup_default: { mode: "new" }, next_prompt_override: { mode: "new" } },
    ]);
  });

  test("a direct prompt begins a turn and names it", async () => {
    await using gateway = await setup();
    const execution = { model: { name: "opus", reasoning: { level: 2 } } };
    const reply = await gateway.prompt({ execution, chat_session: { mode: "exact", id: "abc" } });
    expect(reply).toEqual({
      status: 200,
      body: {
        status: "ok",
        action: "submit_prompt",
        sent: true,
        admission_policy: "ready_only",
        detail: "the turn was begun",
        turn_id: "turn-2",
        turn_index: 2,
      },
    });
    expect(gateway.submissions).toMatchObject([
      { prompt: "x", execution, chatSession: { mode: "exact", id: "abc" } },
    ]);
    gateway.turns.end({ status: "failed", detail: "no model" });
    await settle();
    expect(gateway.events.find((event) => event.kind === "control_prompt_failed")).toMatchObject({
      turn_id: "turn-2",
      error_detail: "no model",
    });
  });

  test.each([
    {
      id: "a policy other than ready_only is 422 invalid_admission_policy",
      body: { admission_policy: "always" },
      status: 422,
      code: "invalid_admission_policy",
    },
    {
      id: "mode current without a pinned conversation is 409 missing_current_chat_session",
      body: { chat_session: { mode: "current" } },
      status: 409,
      code: "missing_current_chat_session",
    },
    {
      id: "mode exact without an id is 422 invalid_chat_session",
      body: { chat_session: { mode: "exact" } },
      status: 422,
      code: "invalid_chat_session",
    },
    {
      id: "an id that reads as a flag is 422 invalid_chat_session",
      body: { chat_session: { mode: "exact", id: "--yolo" } },
      status: 422,
      code: "invalid_chat_session",
    },
    {
      id: "an id without mode exact is 422 invalid_chat_session",
      body: { chat_session: { mode: "new", id: "abc" } },
      status: 422,
      code: "invalid_chat_session",
    },
  ])("$id", async ({ body, status, code }) => {
    await using gateway = await setup();
    expect(await gateway.prompt(body)).toEqual({ status, body: refusal(code) });
    expect(gateway.submissions).toEqual([]);
  });

  test("a level the tool does not have is refused at admission on both routes", async () => {
    await using gateway = await setup();
    gateway.turns.problem = "reasoning cannot be turned off";
    const execution = { model: { reasoning: { level: 0 } } };
    expect(await gateway.prompt({ execution })).toEqual({ status: 422, body: refusal("invalid_execution") });
    expect((await gateway.queue({ execution })).status).toBe(422);
    expect(gateway.submissions).toEqual([]);
  });

  test("while a turn runs a direct prompt is 409 not_ready and a queued one waits for the end", async () => {
    await using gateway = await setup();
    await gateway.prompt();
    expect(await gateway.prompt()).toEqual({ status: 409, body: refusal("not_ready") });
    const queued = await gateway.queue();
    await settle();
    expect([queued.status, (await gateway.record(queued))["state"]]).toEqual([202, "accepted"]);
    expect((await gateway.get("/v1/status")).body).toMatchObject({ queue_depth: 1 });
    gateway.turns.end({ status: "completed", detail: null });
    await settle();
    expect((await gateway.record(queued))["state"]).toBe("running");
  });

  test("a queued prompt is running until its turn has ended, and completed or failed by it", async () => {
    await using gateway = await setup();
    const first = await gateway.queue({ turn_id: "my-turn" });
    await settle();
    expect((await gateway.record(first))["state"]).toBe("running");
    expect((await gateway.get("/v1/status")).body).toMatchObject({ active_execution: "running" });
    gateway.turns.end({ status: "completed", detail: null });
    await settle();
    expect(await gateway.record(first)).toMatchObject({
      state: "completed",
      result_json: { outcome: "completed", turn_id: "my-turn", turn_index: 2 },
    });
    const second = await gateway.queue();
    await settle();
    gateway.turns.end({ status: "failed", detail: "the model said no" });
    await settle();
    expect(await gateway.record(second)).toMatchObject({
      state: "failed",
      error_detail: "the model said no",
      result_json: { outcome: "failed", turn_id: "turn-2" },
    });
  });

  test("a turn id that waits, runs or is stored is 409", async () => {
    await using gateway = await setup();
    await gateway.queue({ turn_id: "running" });
    await gateway.queue({ turn_id: "waiting" });
    await settle();
    for (const turn_id of ["running", "waiting", "turn-1"]) {
      expect([turn_id, (await gateway.queue({ turn_id })).status]).toEqual([turn_id, 409]);
    }
    for (const turn_id of ["../up", "a/b", ".", "", "a\u0000b", "x".repeat(101)]) {
      expect([turn_id, (await gateway.queue({ turn_id })).status]).toEqual([turn_id, 422]);
    }
  });

  test("an interrupt pre-empts the turn: from accepted to completed at once, never running", async () => {
    await using gateway = await setup();
    const stopped = Promise.withResolvers<void>();
    gateway.agent.onInterrupt = async () => {
      await stopped.promise;
      gateway.turns.end({ status: "interrupted", detail: "interrupted" });
      return { outcome: "interrupted", detail: "stopped with SIGINT" };
    };
    const prompt = await gateway.queue();
    await settle();
    const interrupt = await gateway.interrupt();
    const duplicate = await gateway.interrupt();
    await settle();
    expect([(await gateway.record(prompt))["state"], (await gateway.record(interrupt))["state"]]).toEqual([
      "running",
      "accepted",
    ]);
    stopped.resolve();
    await settle();
    expect(await gateway.record(interrupt)).toMatchObject({
      state: "completed",
      result_json: { outcome: "interrupted" },
    });
    expect(await gateway.record(duplicate)).toMatchObject({ state: "coalesced" });
    expect(await gateway.record(prompt)).toMatchObject({
      state: "failed",
      result_json: { outcome: "interrupted" },
    });
    expect(gateway.agent.interrupts).toBe(1);
    const started = gateway.events.filter((event) => event.kind === "executing");
    expect(started).toMatchObject([{ request_id: prompt.body["request_id"] }]);
  });

  test("it pre-empts the turn of a direct prompt in the same way", async () => {
    await using gateway = await setup();
    gateway.agent.onInterrupt = () => {
      gateway.turns.end({ status: "interrupted", detail: null });
      return { outcome: "interrupted", detail: "stopped with SIGINT" };
    };
    await gateway.prompt();
    const interrupt = await gateway.interrupt();
    await settle();
    expect(await gateway.record(interrupt)).toMatchObject({ state: "completed" });
    expect(gateway.events.filter((event) => event.kind === "executing")).toEqual([]);
  });

  test("an interrupt that fails leaves the turn running", async () => {
    await using gateway = await setup();
    gateway.agent.onInterrupt = () => ({ outcome: "failed", detail: "process 7 lives on" });
    const prompt = await gateway.queue();
    await settle();
    const interrupt = await gateway.interrupt();
    await settle();
    expect(await gateway.record(interrupt)).toMatchObject({
      state: "failed",
      error_detail: "process 7 lives on",
    });
    expect((await gateway.record(prompt))["state"]).toBe("running");
  });

  test("on an idle agent an interrupt is a no_op", async () => {
    await using gateway = await setup();
    gateway.agent.onInterrupt = () => ({ outcome: "no_op", detail: "no turn is running" });
    const interrupt = await gateway.interrupt();
    await settle();
    expect(await gateway.record(interrupt)).toMatchObject({
      state: "completed",
      result_json: { outcome: "no_op" },
    });
  });

  test("reconciliation comes first: 409", async () => {
    await using gateway = await setup();
    gateway.agent.setConnectivity({ instanceId: "two" });
    expect((await gateway.queue()).status).toBe(409);
    expect(await gateway.prompt()).toEqual({ status: 409, body: refusal("blocked_reconciliation") });
  });

  test("an agent that is gone is 503", async () => {
    await using gateway = await setup();
    gateway.agent.setConnectivity({ connected: false, detail: "tmux session is gone" });
    expect((await gateway.queue()).status).toBe(503);
    expect(await gateway.prompt()).toEqual({ status: 503, body: refusal("unavailable") });
  });

  test("it has no terminal: keys and the tui routes are 422", async () => {
    await using gateway = await setup();
    expect((await gateway.post("/v1/control/send-keys", { sequence: "x" })).status).toBe(422);
    expect((await gateway.post("/v1/control/tui/note-prompt", { prompt: "x" })).status).toBe(422);
    for (const what of ["state", "history", "explain"]) {
      expect([what, (await gateway.get(`/v1/control/tui/${what}`)).status]).toEqual([what, 422]);
    }
  });

  test("its turns are read with bounds, and an unknown one is 404", async () => {
    await using gateway = await setup();
    const list = await gateway.get("/v1/turns?limit=1");
    expect(list.body["turns"]).toMatchObject([{ turn_id: "turn-1", status: "completed" }]);
    expect((await gateway.get("/v1/turns/turn-1/events")).body["entries"]).toMatchObject([
      { message: "done" },
    ]);
    expect((await gateway.get("/v1/turns/turn-1/events?after=1")).body["entries"]).toEqual([]);
    for (const name of ["stdout", "stderr"]) {
      const whole = await gateway.http.request(`/v1/turns/turn-1/artifacts/${name}`);
      expect([whole.headers.get("content-type"), await whole.text()]).toEqual([
        "text/plain; charset=utf-8",
        `${name} ✓\n`,
      ]);
      const part = await gateway.http.request(`/v1/turns/turn-1/artifacts/${name}?offset=1&max_bytes=3`);
      expect(await part.text()).toBe(name.slice(1, 4));
    }
    for (const path of ["turn-9", "turn-9/events", "turn-9/artifacts/stdout", "turn-9/artifacts/stderr"]) {
      expect([path, (await gateway.get(`/v1/turns/${path}`)).status]).toEqual([path, 404]);
    }
    for (const query of ["offset=-1", "max_bytes=0", "offset=x", "other=1"]) {
      const { status } = await gateway.get(`/v1/turns/turn-1/artifacts/stdout?${query}`);
      expect([query, status]).toEqual([query, 422]);
    }
  });
});

test.each([
  "/v1/control/headless/state",
  "/v1/turns",
  "/v1/turns/turn-1",
  "/v1/turns/turn-1/artifacts/stdout",
])("a terminal agent answers 422 to GET %s", async (url) => {
  await using bundle = createGatewayBundle();
  const reply = await bundle.app.fetch(new Request(`http://127.0.0.1:1${url}`));
  expect(reply.status).toBe(422);
});
