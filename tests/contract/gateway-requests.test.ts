import { describe, expect, test } from "bun:test";
import { notReady } from "../support/fake-agent.ts";
import { settle } from "../support/fake-clock.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

const submit = (prompt: unknown, more: object = {}) => ({
  schema_version: 1,
  kind: "submit_prompt",
  payload: { prompt, ...more },
});

const withoutHops = ({ agent_id, agent_name }: { agent_id: string; agent_name: string }) => ({
  agent_id,
  agent_name,
});

describe.each(surfaces)("the gateway $surface", ({ open }) => {
  async function setup(options: Parameters<typeof createGatewayBundle>[0] = {}) {
    const bundle = createGatewayBundle(options);
    const http = open((request) => bundle.app.fetch(request));
    return {
      ...bundle,
      http,
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  test("GET /health answers without looking at the agent", async () => {
    await using gateway = await setup();
    gateway.agent.setConnectivity({ connected: false, detail: "gone" });
    const reply = await gateway.http.request("/health");
    expect([reply.status, await reply.json()]).toEqual([200, { protocol_version: "v1", status: "ok" }]);
  });

  test("GET /v1/status asked again is the same answer, until anything in it changes", async () => {
    await using gateway = await setup({ allowedOrigins: ["http://page.example"] });
    const ask = async (headers: Record<string, string> = {}) => {
      const reply = await gateway.http.request("/v1/status", { headers });
      const names = ["content-type", "vary", "access-control-allow-origin"];
      // Deno's own JSON answers name no character set.
      const told = names.map((name) => reply.headers.get(name)?.replace(/;.*/, "") ?? null);
      return { told, status: await reply.json() };
    };
    const first = await ask();
    expect(await ask()).toEqual(first);
    expect(first.told).toEqual(["application/json", "Origin", null]);
    const page = await ask({ origin: "http://page.example" });
    expect(page).toMatchObject({
      told: [first.told[0], "Origin", "http://page.example"],
      status: first.status,
    });
    // The next caller is told nothing of what that page was told.
    expect(await ask()).toEqual(first);
    gateway.agent.setConnectivity({ connected: false, detail: "gone" });
    const gone = await ask();
    expect(gone.status).toMatchObject({ request_admission: "blocked_unavailable" });
    expect(await ask()).toEqual(gone);
    gateway.agent.setConnectivity({ connected: true });
    const back = await ask();
    expect(back.status).toMatchObject({ request_admission: "open" });
    gateway.agent.setReadiness(notReady);
    await gateway.http.request("/v1/requests", json(submit("wait")));
    await settle();
    expect([(await ask()).status, (await ask()).status]).toEqual([
      expect.objectContaining({ queue_depth: 1 }),
      expect.objectContaining({ queue_depth: 1 }),
    ]);
  });

  test("GET /v1/status has the contract's fields and leaves optional ones out", async () => {
    await using gateway = await setup();
    const body = (await (await gateway.http.request("/v1/status")).json()) as Record<string, unknown>;
    expect(body).toEqual({
      schema_version: 1,
      protocol_version: "v1",
      attach_identity: "session-1",
      backend: "local_interactive",
      tmux_session_name: "SVC-fake-1",
      gateway_health: "healthy",
      managed_agent_connectivity: "connected",
      managed_agent_recovery: "idle",
      request_admission: "open",
      terminal_surface_eligibility: "ready",
      active_execution: "idle",
      execution_mode: "detached_process",
      queue_depth: 0,
      managed_agent_instance_epoch: 1,
      managed_agent_instance_id: "one",
    });
  });

  test("POST /v1/requests answers 202 with the accepted record and GET shows how far it got", async () => {
    await using gateway = await setup();
    const reply = await gateway.http.request("/v1/requests", json(submit("hello")));
    const accepted = (await reply.json()) as { request_id: string; [key: string]: unknown };
    expect(reply.status).toBe(202);
    expect(accepted).toEqual({
      request_id: expect.stringMatching(/^gwreq-\d{8}-\d{6}Z-[0-9a-f]{8}$/),
      request_kind: "submit_prompt",
      state: "accepted",
      accepted_at_utc: "2026-01-01T00:00:00.000+00:00",
      queue_depth: 1,
      managed_agent_instance_epoch: 1,
    });
    await settle();
    const record = await (await gateway.http.request(`/v1/requests/${accepted.request_id}`)).json();
    expect(record).toMatchObject({ state: "completed", prompt_length: 5, error_detail: null });
    const list = (await (await gateway.http.request("/v1/requests?limit=1&state=completed")).json()) as {
      requests: unknown[];
    };
    expect(list.requests).toEqual([record]);
  });

  test("DELETE /v1/requests/{id} takes back a prompt that waits, for its owner", async () => {
    await using gateway = await setup();
    gateway.agent.setReadiness(notReady);
    const reviewer = { agent_id: "id-reviewer", agent_name: "reviewer", hops: 1 };
    const send = async (body: object) => {
      const reply = await gateway.http.request("/v1/requests", json(body));
      return ((await reply.json()) as { request_id: string }).request_id;
    };
    const withdraw = async (id: string, query = "") => {
      const reply = await gateway.http.request(`/v1/requests/${id}${query}`, { method: "DELETE" });
      return [reply.status, await reply.json()] as const;
    };
    const ofReviewer = await send({ ...submit("do it"), submitted_by: reviewer });
    const ofPerson = await send(submit("mine"));
    expect(await withdraw(ofPerson, "?agent_id=id-reviewer")).toEqual([
      409,
      { detail: expect.stringContaining("no agent submitted") },
    ]);
    expect(await withdraw(ofReviewer, "?agent_id=id-other")).toEqual([
      409,
      { detail: expect.stringContaining('"reviewer" submitted') },
    ]);
    expect(await withdraw(ofReviewer, "?agent_id=id-reviewer")).toMatchObject([
      200,
      {
        state: "failed",
        result_json: { outcome: "withdrawn", withdrawn_by: "agent", ...withoutHops(reviewer) },
      },
    ]);
    const first = await withdraw(ofPerson);
    expect(first).toMatchObject([200, { state: "failed", result_json: { withdrawn_by: "person" } }]);
    expect(await withdraw(ofPerson)).toEqual(first);
    expect(await withdraw("gwreq-none")).toEqual([404, { detail: "no request with this id" }]);
    expect((await withdraw(ofPerson, "?agent_id=%20"))[0]).toBe(422);
    gateway.agent.setReadiness({ ready: true });
    await settle();
    expect(gateway.agent.prompts).toEqual([]);
    const done = await send(submit("done"));
    await settle();
    expect(await withdraw(done)).toEqual([
      409,
      { detail: expect.stringContaining(`${done} was given to the agent already`) },
    ]);
  });

  test("GET /v1/requests/{id} gives the text only where it is asked for", async () => {
    await using gateway = await setup();
    gateway.agent.setReadiness(notReady);
    const reply = await gateway.http.request(
      "/v1/requests",
      json(submit("my words", { delivery: "immediate" })),
    );
    const { request_id } = (await reply.json()) as { request_id: string };
    const read = async (query: string) => {
      const answer = await gateway.http.request(`/v1/requests/${request_id}${query}`);
      return [answer.status, await answer.text()] as const;
    };
    const [status, text] = await read("?include=prompt");
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      {
        prompt: "my words",
        prompt_length: 8,
        options: { delivery: "immediate" },
        number: 1,
        state: "accepted",
      },
    ]);
    expect(await read("")).toEqual([200, expect.not.stringContaining("my words")]);
    expect((await read("?include=everything"))[0]).toBe(422);
    const list = await (await gateway.http.request("/v1/requests")).text();
    expect(list).not.toContain("my words");
    expect(JSON.stringify(gateway.events)).not.toContain("my words");
  });

  test("an interrupt needs no payload", async () => {
    await using gateway = await setup();
    for (const body of [{ kind: "interrupt" }, { schema_version: 1, kind: "interrupt", payload: {} }]) {
      expect((await gateway.http.request("/v1/requests", json(body))).status).toBe(202);
    }
  });

  const invalid: { id: string; body: unknown; loc: unknown[]; type: string }[] = [
    {
      id: "an unknown key",
      body: { ...submit("x"), extra: 1 },
      loc: ["body", "extra"],
      type: "extra_forbidden",
    },
    {
      id: "an unknown key in the payload",
      body: submit("x", { b: 1 }),
      loc: ["body", "payload", "b"],
      type: "extra_forbidden",
    },
    { id: "a blank prompt", body: submit("  "), loc: ["body", "payload", "prompt"], type: "value_error" },
    {
      id: "a prompt of control characters, of which nothing would be typed,",
      body: submit("\x1b\x07\x9b\n"),
      loc: ["body", "payload", "prompt"],
      type: "value_error",
    },
    {
      id: "a missing prompt",
      body: { kind: "submit_prompt", payload: {} },
      loc: ["body", "payload", "prompt"],
      type: "missing",
    },
    { id: "a number for a prompt", body: submit(5), loc: ["body", "payload", "prompt"], type: "string_type" },
    {
      id: "an unknown kind",
      body: { kind: "dance", payload: {} },
      loc: ["body", "kind"],
      type: "literal_error",
    },
    {
      id: "a wrong schema version",
      body: { ...submit("x"), schema_version: 2 },
      loc: ["body", "schema_version"],
      type: "literal_error",
    },
    {
      id: "a version that is a string",
      body: { ...submit("x"), schema_version: "1" },
      loc: ["body", "schema_version"],
      type: "literal_error",
    },
  ];
  test.each(invalid)(
    "$id is 422, says where, echoes nothing and changes nothing",
    async ({ body, loc, type }) => {
      await using gateway = await setup();
      const reply = await gateway.http.request("/v1/requests", json(body));
      const { detail } = (await reply.json()) as { detail: { loc: unknown[]; type: string; msg: string }[] };
      expect(reply.status).toBe(422);
      expect(detail[0]).toMatchObject({ loc, type });
      expect(Object.keys(detail[0] ?? {}).sort()).toEqual(["loc", "msg", "type"]);
      expect(gateway.queue.depth()).toBe(0);
      expect(gateway.events).toEqual([]);
    },
  );

  test("bad JSON is 422 json_invalid, another content type 415, an unknown id 404, a wrong method 405", async () => {
    await using gateway = await setup();
    const bad = await gateway.http.request("/v1/requests", { ...json({}), body: "{" });
    expect([bad.status, await bad.json()]).toEqual([
      422,
      { detail: [{ type: "json_invalid", loc: ["body"], msg: "the body is not valid JSON" }] },
    ]);
    const text = await gateway.http.request("/v1/requests", {
      method: "POST",
      body: "hi",
      headers: { "content-type": "text/plain" },
    });
    expect(text.status).toBe(415);
    const unknown = await gateway.http.request("/v1/requests/gwreq-none");
    expect([unknown.status, await unknown.json()]).toEqual([404, { detail: "no request with this id" }]);
    const wrong = await gateway.http.request("/v1/requests", { method: "DELETE" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, POST"]);
    expect((await gateway.http.request("/nowhere")).status).toBe(404);
  });

  test("a body over 8 MiB is 413", async () => {
    await using gateway = await setup();
    const reply = await gateway.http.request("/v1/requests", json(submit("x".repeat(8 * 1024 * 1024))));
    expect(reply.status).toBe(413);
    expect(gateway.queue.depth()).toBe(0);
  });

  test("a foreign Host is 421, a foreign Origin 403, our own is let in", async () => {
    await using gateway = await setup();
    const status = async (headers: Record<string, string>) =>
      (await gateway.http.request("/v1/status", { headers })).status;
    expect(await status({ host: "evil.example" })).toBe(421);
    expect(await status({ origin: "http://evil.example" })).toBe(403);
    expect(await status({ host: "127.0.0.1:5", origin: "http://127.0.0.1:6" })).toBe(403);
    expect(await status({ host: "127.0.0.1:5", origin: "http://127.0.0.1:5" })).toBe(200);
  });

  test("with a token only /health and the description of the API are open, and no other answer says why", async () => {
    await using gateway = await setup({ token: "right" });
    const status = async (path: string, authorization?: string) =>
      (await gateway.http.request(path, authorization ? { headers: { authorization } } : {})).status;
    for (const path of ["/health", "/docs", "/openapi.json"]) expect(await status(path)).toBe(200);
    for (const path of ["/v1/status", "/svc/console/session", "/docs/x", "/docs%2fx"])
      expect(await status(path)).toBe(401);
    const led = await gateway.http.request("/", { redirect: "manual" });
    expect([led.status, led.headers.get("location")]).toEqual([302, "/docs"]);
    expect(await status("/v1/status", "Bearer wrong")).toBe(401);
    expect(await status("/v1/status", "Bearer right!")).toBe(401);
    expect(await status("/v1/status", "Bearer right")).toBe(200);
  });

  test("raw keys are parsed whole before anything is sent", async () => {
    await using gateway = await setup();
    const send = async (body: object) => {
      const reply = await gateway.http.request("/v1/control/send-keys", json(body));
      return [reply.status, await reply.json()] as const;
    };
    expect(await send({ sequence: "y<[Nope]>" })).toEqual([
      422,
      { detail: expect.stringContaining("<[Nope]>") },
    ]);
    expect((await send({ sequence: " " }))[0]).toBe(422);
    const long = { sequence: "<[Up]>".repeat(10_923) };
    for (const body of [long, { ...long, escape_special_keys: true }])
      expect(await send(body)).toMatchObject([422, { detail: [{ loc: ["body", "sequence"] }] }]);
    expect(gateway.agent.keysSent).toEqual([]);
    expect(await send({ sequence: "y<[Enter]>" })).toEqual([
      200,
      { status: "ok", action: "control_input", detail: "sent" },
    ]);
    expect(await send({ sequence: "<[Enter]>", escape_special_keys: true })).toMatchObject([
      200,
      { status: "ok" },
    ]);
    expect(gateway.agent.keysSent).toEqual([
      [
        { kind: "text", text: "y" },
        { kind: "key", name: "Enter" },
      ],
      [{ kind: "text", text: "<[Enter]>" }],
    ]);
  });

  test("reconciliation fails what an older instance was given and reopens admission", async () => {
    await using gateway = await setup();
    gateway.agent.setReadiness(notReady);
    const old = await gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: "old" } });
    gateway.agent.setConnectivity({ instanceId: "two" });
    gateway.agent.setReadiness({ ready: true });
    const reply = await gateway.http.request("/v1/control/reconcile", { method: "POST" });
    expect([reply.status, await reply.json()]).toEqual([
      200,
      { schema_version: 1, managed_agent_instance_epoch: 2, failed_request_ids: [old.request_id] },
    ]);
    expect(gateway.queue.record(old.request_id)).toMatchObject({ state: "failed", result_json: null });
    expect((await gateway.http.request("/v1/requests", json(submit("new")))).status).toBe(202);
    await settle();
    expect(gateway.agent.prompts).toEqual(["new"]);
    expect(gateway.events.map((event) => event.kind)).toContain("reconciled");
  });

  test("what an older instance was given is kept for the present one, in its order", async () => {
    await using gateway = await setup();
    gateway.agent.setReadiness(notReady);
    const accept = (text: string) =>
      gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: text } });
    const [first, second] = [await accept("first"), await accept("second")];
    gateway.agent.setConnectivity({ instanceId: "two" });
    gateway.agent.setReadiness({ ready: true });
    await settle();
    expect(gateway.agent.prompts).toEqual([]);
    const keep = () => gateway.http.request("/v1/control/keep-requests", { method: "POST" });
    const reply = await keep();
    expect([reply.status, await reply.json()]).toEqual([
      200,
      {
        schema_version: 1,
        managed_agent_instance_epoch: 2,
        kept_request_ids: [first.request_id, second.request_id],
      },
    ]);
    await settle();
    expect(gateway.agent.prompts).toEqual(["first", "second"]);
    expect(gateway.queue.record(first.request_id)).toMatchObject({ managed_agent_instance_epoch: 2 });
    expect(gateway.events.find(({ kind }) => kind === "reconciled")).toMatchObject({
      failed_request_ids: [],
      kept_request_ids: [first.request_id, second.request_id],
    });
    expect(await (await keep()).json()).toMatchObject({ kept_request_ids: [] });
  });

  test("execution on a terminal agent is 422, an absent agent 503, another instance 409", async () => {
    await using gateway = await setup();
    const post = async (body: unknown) => (await gateway.http.request("/v1/requests", json(body))).status;
    expect(await post(submit("x", { execution: { model: { name: "m" } } }))).toBe(422);
    gateway.agent.setConnectivity({ connected: false, detail: "gone" });
    expect(await post(submit("x"))).toBe(503);
    gateway.agent.setConnectivity({ connected: true, instanceId: "two" });
    expect(await post(submit("x"))).toBe(409);
    expect(gateway.queue.depth()).toBe(0);
  });

  test("an unforeseen fault is 500 with an id and without its message", async () => {
    await using gateway = await setup();
    gateway.agent.connectivity = () => {
      throw new Error("secret detail");
    };
    const reply = await gateway.http.request("/v1/requests", json(submit("x")));
    expect([reply.status, await reply.json()]).toEqual([
      500,
      { detail: "internal error", error_id: "fault-1" },
    ]);
  });
});

describe.each(surfaces)("POST /v1/control/prompt $surface", ({ open }) => {
  const control = (more: object = {}) => json({ schema_version: 2, prompt: "hello", ...more });

  async function ask(
    prepare: (bundle: ReturnType<typeof createGatewayBundle>) => unknown,
    more: object = {},
  ) {
    await using bundle = createGatewayBundle();
    await using http = open((request) => bundle.app.fetch(request));
    await prepare(bundle);
    const reply = await http.request("/v1/control/prompt", control(more));
    return { status: reply.status, body: (await reply.json()) as never, prompts: bundle.agent.prompts };
  }

  test("success is reported only after the agent took the prompt", async () => {
    const { status, body, prompts } = await ask(() => {});
    expect([status, prompts]).toEqual([200, ["hello"]]);
    expect(body).toEqual({
      status: "ok",
      action: "submit_prompt",
      sent: true,
      admission_policy: "ready_only",
      detail: "the agent took the prompt",
    } as never);
  });

  const pending = { ready: false, code: "pending_input", detail: "held" } as const;
  const refusals: {
    id: string;
    status: number;
    code: string;
    given: (bundle: ReturnType<typeof createGatewayBundle>) => unknown;
    more?: object;
  }[] = [
    { id: "a busy agent", status: 409, code: "not_ready", given: (b) => b.agent.setReadiness(notReady) },
    {
      id: "input the tool holds",
      status: 409,
      code: "pending_input",
      given: (b) => b.agent.setReadiness(pending),
      more: { admission_policy: "if_no_pending" },
    },
    {
      id: "queued work",
      status: 409,
      code: "not_ready",
      given: async (b) => {
        b.agent.setReadiness(notReady, "turn_boundary");
        await b.queue.accept({ kind: "submit_prompt", payload: { prompt: "first" } });
      },
    },
    {
      id: "an absent agent",
      status: 503,
      code: "unavailable",
      given: (b) => b.agent.setConnectivity({ connected: false }),
    },
    {
      id: "another instance",
      status: 409,
      code: "blocked_reconciliation",
      given: (b) => b.agent.setConnectivity({ instanceId: "two" }),
    },
    {
      id: "a chat session mode for headless agents",
      status: 422,
      code: "invalid_chat_session",
      given: () => {},
      more: { chat_session: { mode: "current" } },
    },
    {
      id: "a new chat under another policy",
      status: 422,
      code: "invalid_admission_policy",
      given: () => {},
      more: { chat_session: { mode: "new" }, admission_policy: "always" },
    },
    {
      id: "a model for a terminal agent",
      status: 422,
      code: "invalid_execution",
      given: () => {},
      more: { execution: { model: { name: "m" } } },
    },
    {
      id: "a dispatch that was not taken",
      status: 422,
      code: "dispatch_failed",
      given: (b) => {
        b.agent.onSubmit = () => ({ outcome: "failed", typed: false, detail: "Enter was not taken" });
      },
    },
  ];
  test.each(refusals)("$id is refused with $code, nothing sent", async ({ status, code, given, more }) => {
    const result = await ask(given, more);
    expect(result.status).toBe(status);
    expect(result.body).toMatchObject({
      detail: { status: "error", action: "submit_prompt", sent: false, error_code: code },
    } as never);
    expect(result.prompts).toEqual([]);
  });
});
