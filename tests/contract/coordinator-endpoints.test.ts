import { afterAll, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { consoleEndpoints } from "../../src/protocol/console-endpoints.ts";
import {
  allCoordinatorEndpoints,
  coordinatorEndpoints,
  coordinatorStreams,
} from "../../src/protocol/coordinator-endpoints.ts";
import { documentEndpoints } from "../../src/protocol/core-endpoints.ts";
import type { Endpoint } from "../../src/protocol/endpoint.ts";
import { forwardedEndpoints } from "../../src/protocol/endpoints.ts";
import { coordinatorOpenApi, gatewayOpenApi } from "../../src/routes/openapi/documents.ts";
import { isOfPage } from "../support/console-services.ts";
import { type CoordinatorBundle, createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { notReady } from "../support/fake-agent.ts";
import { type HttpSurface, json, surfaces } from "../support/http-surface.ts";
import { deliverTo } from "../support/mail-delivery.ts";
import { notUtf8 } from "../support/not-utf8.ts";
import { bodyOfOldClient } from "../support/old-client.ts";
import { createExampleRecorder, firstEvent } from "../support/recorded-examples.ts";
import { until } from "../support/until.ts";

const { agentTurnStdout, agentTurnStderr } = coordinatorStreams;
const declared = {
  ...coordinatorEndpoints,
  ...forwardedEndpoints,
  ...consoleEndpoints,
  ...documentEndpoints,
  agentTurnStdout,
  agentTurnStderr,
};
type Name = keyof typeof declared;

interface Call {
  /**
   * Path and query below the agent, or whole when it begins with `/svc` or `/`; the declared path when
   * absent.
   */
  url?: string | ((bundle: CoordinatorBundle) => Promise<string> | string);
  body?: object;
}

const worker = "/svc/agents/worker";
const batch = "/svc/agents/batch";
const reminder = {
  mode: "one_off",
  title: "look again",
  prompt: "Look again",
  ranking: 0,
  start_after_seconds: 60,
} as const;
const oneReminder = ({ gateway }: CoordinatorBundle) =>
  `${worker}/gateway/reminders/${gateway.reminders.create([reminder]).reminders[0]?.reminder_id}`;
const firstMail = `filesystem:msg-20260101T000000Z-${"1".padStart(32, "0")}`;
const withMail = (verb: string) => async (bundle: CoordinatorBundle) => {
  await deliverTo(bundle.gateway);
  return `${worker}/mail/${verb}`;
};
const launch = {
  tool: "demo",
  working_directory: "/home/user/project",
  agent_def_dir: "/definitions/one",
  brain_manifest_path: "/definitions/one/brain.yaml",
  role_name: "reviewer",
};

/** The worker asks something; the id under which it waits. */
async function askQuestion({ app, terminal }: CoordinatorBundle): Promise<string> {
  const options = [{ index: 1, text: "Yes", selected: true }];
  terminal.state.awaiting_decision = {
    kind: "selection_menu",
    question: "Go on?",
    id: "aaaaaaaaaaaa",
    options,
  };
  const reply = await app.fetch(new Request("http://127.0.0.1/svc/attention?agent=worker"));
  const { items } = (await reply.json()) as { items: { id: string }[] };
  return items[0]?.id ?? "";
}

/** One good call of every operation: a declaration without one does not compile. */
const calls: Record<Name, Call> = {
  health: {},
  currentInstance: {},
  shutdown: {},
  listAgents: {},
  listAgentStates: { url: "/svc/agent-states?agents=id-worker,id-bare&max_age_ms=100" },
  listHosts: { url: "/svc/hosts?probe=true" },
  fleetLedger: { url: "/svc/ledger?by=day,model&since=2026-01-01T00:00:00Z" },
  metrics: {},
  listDeliveries: { url: "/svc/attention/deliveries?limit=2&state=pending" },
  listAttention: { url: "/svc/attention?agent=worker&kind=question" },
  answerAttention: {
    url: async (bundle) => `/svc/attention/${await askQuestion(bundle)}/answers`,
    body: { answer: "1", epoch: 1 },
  },
  readAgent: {},
  agentState: {},
  agentStateDetail: {},
  agentHistory: { url: `${batch}/history?limit=500` },
  submitAgentRequest: { body: { request_kind: "submit_prompt", prompt: "hello" } },
  agentGateway: {},
  attachAgentGateway: { body: { tui_tracking_timings: { stability_threshold_seconds: 2 } } },
  detachAgentGateway: {},
  agentMailResolveLive: {},
  stopAgent: {},
  relaunchAgent: {},
  launchHeadless: { body: launch },
  submitTurn: { url: `${batch}/turns`, body: { prompt: "hello", chat_session: { mode: "new" } } },
  readAgentTurn: { url: `${batch}/turns/turn-1` },
  agentTurnEvents: { url: `${batch}/turns/turn-1/events?after=0&limit=5` },
  agentTurnStdout: { url: `${batch}/turns/turn-1/artifacts/stdout?offset=0` },
  agentTurnStderr: { url: `${batch}/turns/turn-1/artifacts/stderr` },
  interruptAgent: { url: `${batch}/interrupt` },
  consoleSession: {},
  createSignInCode: {},
  signOut: {},
  agentControlPrompt: { body: { schema_version: 2, prompt: "hello" } },
  agentSendKeys: { body: { sequence: "y<[Enter]>" } },
  agentReconcile: {},
  agentKeepRequests: {},
  agentHeadlessState: {},
  agentNextPromptSession: { body: { mode: "new" } },
  agentTerminalState: {},
  agentTerminalHistory: { url: `${worker}/gateway/tui/history?limit=5` },
  agentNotePrompt: { body: { prompt: "typed by hand" } },
  agentExplain: {},
  agentWait: { url: `${worker}/gateway/tui/wait?for=ready&timeout_seconds=0.5` },
  agentDecide: { body: { option: 1 } },
  agentReadRecorder: {},
  agentUpdateRecorder: { body: { enabled: true } },
  agentRecordedMoment: { url: `${worker}/gateway/recorder/moment?at=2026-01-01T00:00:01Z` },
  agentRecordedCast: { url: `${worker}/gateway/recorder/cast?from=2026-01-01T00:00:01Z` },
  agentReadTypingLease: {},
  agentTakeTypingLease: { body: { holder: "ann" } },
  agentEndTypingLease: {},
  agentTypeText: {
    url: async ({ gateway }) => {
      gateway.leases.take({ holder: "ann", takeOver: true });
      return `${worker}/gateway/control/typing`;
    },
    body: { lease_id: "0".repeat(32), text: "x" },
  },
  agentTranscript: { url: `${worker}/gateway/transcript?limit=5` },
  agentLedger: { url: `${worker}/gateway/ledger?limit=5` },
  agentLedgerSummary: { url: `${worker}/gateway/ledger/summary` },
  agentTranscriptTurn: { url: `${worker}/gateway/transcript/turn-one` },
  agentSubmitGatewayRequest: {
    body: { kind: "submit_prompt", payload: { prompt: "hello", delivery: "immediate" } },
  },
  agentListGatewayRequests: { url: `${worker}/gateway/requests?limit=5` },
  agentReadGatewayRequest: {
    url: async ({ gateway }) => {
      const { request_id } = await gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: "x" } });
      return `${worker}/gateway/requests/${request_id}?include=prompt`;
    },
  },
  agentWithdrawGatewayRequest: {
    url: async ({ gateway }) => {
      gateway.agent.setReadiness(notReady);
      const { request_id } = await gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: "x" } });
      return `${worker}/gateway/requests/${request_id}`;
    },
  },
  agentCreateReminders: { body: { reminders: [reminder] } },
  agentListReminders: {},
  agentReadReminder: { url: oneReminder },
  agentUpdateReminder: { url: oneReminder, body: reminder },
  agentDeleteReminder: { url: oneReminder },
  agentReadNotifier: {},
  agentUpdateNotifier: { body: { schema_version: 1, interval_seconds: 30 } },
  agentDisableNotifier: {},
  agentNotifierAudit: { url: `${worker}/gateway/mail-notifier/audit?limit=5` },
  agentMailStatus: {},
  agentMailList: { body: { box: "inbox", include_body: true } },
  agentMailPeek: { url: withMail("peek"), body: { message_ref: firstMail } },
  agentMailRead: { url: withMail("read"), body: { message_ref: firstMail, box: "inbox" } },
  agentMailSend: { body: { to: ["other@svc.localhost"], subject: "hello", body_content: "text" } },
  agentMailPost: { body: { subject: "a note", body_content: "text", reply_policy: "none" } },
  agentMailReply: { url: withMail("reply"), body: { message_ref: firstMail, body_content: "thanks" } },
  agentMailMark: { url: withMail("mark"), body: { message_refs: [firstMail], read: true } },
  agentMailMove: { url: withMail("move"), body: { message_refs: [firstMail], destination_box: "later" } },
  agentMailArchive: { url: withMail("archive"), body: { message_refs: [firstMail] } },
  openApiDocument: {},
  referencePage: {},
};
const names = Object.keys(calls) as Name[];
const forwarded = Object.keys(forwardedEndpoints) as (keyof typeof forwardedEndpoints)[];

test("every route of the app is declared once, and every declaration has a route", async () => {
  await using bundle = createCoordinatorBundle();
  const told = (routes: readonly { method: string; path: string }[]) =>
    routes.map(({ method, path }) => `${method} ${path}`).sort();
  // What a browser loads is no operation.
  const routes = bundle.app.routes.filter(({ path }) => !isOfPage(path));
  expect(told(routes)).toEqual(told(Object.values(allCoordinatorEndpoints)));
});

const recorder = createExampleRecorder(coordinatorOpenApi(), createExampleRecorder(gatewayOpenApi()));

describe.each(surfaces)("every operation $surface", ({ open }) => {
  interface Server {
    bundle: CoordinatorBundle;
    http: HttpSurface;
  }
  const serve = (): Server => {
    const bundle = createCoordinatorBundle();
    return { bundle, http: open((request) => bundle.app.fetch(request)) };
  };
  const end = async ({ bundle, http }: Server) => {
    await http[Symbol.asyncDispose]();
    await bundle[Symbol.asyncDispose]();
  };
  /** Of all calls that are refused: to build its app takes most of such a test's time. */
  let refusing: Server | undefined;
  afterAll(async () => {
    if (refusing) await end(refusing);
  });

  async function callOn(
    { bundle, http }: Server,
    name: Name,
    change: (init: RequestInit) => RequestInit = (init) => init,
    ref: string | null = null,
  ) {
    const { url, body } = calls[name];
    const endpoint: Endpoint = declared[name];
    const init = body ? json(body, endpoint.method) : { method: endpoint.method };
    const given = typeof url === "function" ? await url(bundle) : (url ?? endpoint.path);
    const path = given.replace(":agent_ref", "worker");
    const reply = await http.request(
      ref === null ? path : path.replace(/^\/svc\/agents\/[^/?]+/, `/svc/agents/${ref}`),
      change(init),
    );
    return { endpoint, reply, text: await reply.text() };
  }

  async function call(
    name: Name,
    change?: (init: RequestInit) => RequestInit,
    prepare: (bundle: CoordinatorBundle) => void = () => {},
    ref: string | null = null,
  ) {
    const server = serve();
    try {
      prepare(server.bundle);
      return await callOn(server, name, change, ref);
    } finally {
      await end(server);
    }
  }

  function refused(name: Name, change?: (init: RequestInit) => RequestInit, ref?: string) {
    refusing ??= serve();
    return callOn(refusing, name, change, ref);
  }

  test.each(names)("%s answers with its declared status and body", async (name) => {
    const { endpoint, reply, text } = await call(name);
    const type = endpoint.response["contentMediaType"] ?? "application/json";
    expect([
      reply.status,
      reply.headers.get("content-type"),
      reply.status === endpoint.status ? "" : text,
    ]).toEqual([endpoint.status, expect.stringContaining(type), ""]);
    const body: unknown = type === "application/json" ? JSON.parse(text) : text;
    expect([...Value.Errors(endpoint.response, body)]).toEqual([]);
    for (const exchanged of [
      { operationId: name, part: "request" as const, body: calls[name].body },
      { operationId: name, part: endpoint.status, body },
    ]) {
      const example = recorder.compare(exchanged);
      if (example) expect(example.body).toEqual(example.recorded as never);
    }
  });

  const withBody = names.filter((name) => declared[name].body !== null);
  test.each(withBody)("%s refuses an unknown key, bad JSON, an empty body and another type", async (name) => {
    const status = async (init: RequestInit) =>
      (await refused(name, (good) => ({ ...good, ...init }))).reply.status;
    expect(await status({ body: JSON.stringify({ ...calls[name].body, surprise: 1 }) })).toBe(422);
    for (const body of ["{", "[]", "5", "null", '"text"']) {
      expect([body, await status({ body })]).toEqual([body, 422]);
    }
    expect(await status({ body: notUtf8({ ...calls[name].body }) })).toBe(422);
    // No field of a remote attach is needed.
    expect(await status({ body: "" })).toBe(name === "attachAgentGateway" ? 501 : 422);
    expect(await status({ body: "x", headers: { "content-type": "text/plain" } })).toBe(415);
  });

  test.each(withBody)("%s takes null for each optional field of its body", async (name) => {
    const body = bodyOfOldClient(declared[name].body, calls[name].body ?? {});
    const { endpoint, reply, text } = await call(name, (init) => ({ ...init, body: JSON.stringify(body) }));
    expect([reply.status, reply.status === endpoint.status ? "" : text]).toEqual([endpoint.status, ""]);
  });

  test.each(names)("%s refuses another method with 405 and says which one it takes", async (name) => {
    const { endpoint, reply } = await refused(name, () => ({ method: "PATCH" }));
    expect([reply.status, reply.headers.get("allow")]).toEqual([
      405,
      expect.stringContaining(endpoint.method),
    ]);
  });

  const ofAgent = names.filter((name) => declared[name].path.includes(":agent_ref"));
  test.each(ofAgent)("%s is 404 for an unknown agent and 409 for an alias of two", async (name) => {
    const unknown = await refused(name, undefined, "nobody");
    expect([unknown.reply.status, JSON.parse(unknown.text)]).toEqual([
      404,
      { detail: 'no agent is known as "nobody"' },
    ]);
    const both = await refused(name, undefined, "twin");
    expect([both.reply.status, JSON.parse(both.text)]).toEqual([
      409,
      { detail: expect.stringContaining("2 agents"), agent_ids: ["id-twin-1", "id-twin-2"] },
    ]);
  });

  test.each(ofAgent)("%s is 409 for the id of one agent that is the name of another", async (name) => {
    const { reply, text } = await refused(name, undefined, "crossed");
    expect([reply.status, JSON.parse(text)]).toEqual([
      409,
      {
        detail: expect.stringMatching(/reached as local_interactive-6;.*reached as local_interactive-7/),
        agent_ids: ["crossed", "id-crossed"],
      },
    ]);
  });

  const ofMailbox = forwarded.filter((name) => /^agent(Mail|.*Notifier)/.test(name));
  test.each(ofMailbox)("%s is 503 for an agent without a mailbox, and says how to get one", async (name) => {
    const { reply, text } = await refused(name, undefined, "mailless");
    expect([reply.status, JSON.parse(text)]).toEqual([
      503,
      {
        detail: expect.stringContaining("svc-mgr agents single --agent-id id-mailless mailbox register"),
        remedy: { code: "register_mailbox", agent_id: "id-mailless" },
      },
    ]);
  });

  test.each(forwarded)(
    "%s is 503 for an agent that no gateway serves, and says how to get one",
    async (name) => {
      const { reply, text } = await refused(name, undefined, "bare");
      expect([reply.status, JSON.parse(text)]).toEqual([
        503,
        {
          detail: expect.stringContaining("svc-mgr agents single --agent-id id-bare gateway attach"),
          remedy: { code: "attach_gateway", agent_id: "id-bare" },
        },
      ]);
    },
  );

  test.each(forwarded)("%s hands the gateway's refusal on as it is", async (name) => {
    const refusal = { detail: "not here", error_id: "abc", more: [1] };
    const { reply, text } = await call(name, undefined, (bundle) => {
      bundle.answer.with = async () => Response.json(refusal, { status: 418 });
    });
    expect([reply.status, JSON.parse(text)]).toEqual([418, refusal]);
  });

  test.each(forwarded)("%s is 503 when its gateway cannot be reached", async (name) => {
    const { reply, text } = await call(name, undefined, (bundle) => {
      const refused = Object.assign(new Error("connection refused"), { code: "ConnectionRefused" });
      bundle.answer.with = () => Promise.reject(refused);
    });
    expect([reply.status, JSON.parse(text)]).toEqual([
      503,
      { detail: 'the gateway of "worker": connection refused' },
    ]);
  });

  const changes = forwarded.filter((name) => forwardedEndpoints[name].method !== "GET");
  test.each(changes)("%s is 504 when its gateway got it and did not answer", async (name) => {
    const { reply, text } = await call(name, undefined, (bundle) => {
      bundle.answer.with = () => Promise.reject(new Error("the socket was closed"));
    });
    expect([reply.status, JSON.parse(text)]).toEqual([
      504,
      {
        detail: expect.stringContaining("it is not known whether the gateway of"),
        remedy: expect.objectContaining({ code: expect.any(String) }),
      },
    ]);
  });

  const headless = [
    "submitTurn",
    "readAgentTurn",
    "agentTurnEvents",
    "agentTurnStdout",
    "interruptAgent",
  ] as const;
  test.each(headless)("%s is 400 for a terminal agent", async (name) => {
    expect((await refused(name, undefined, "worker")).reply.status).toBe(400);
  });

  test.each(["worker", "SVC-worker", "id-worker", "local_interactive-1", "%20worker%20"])(
    "an agent is found as %s",
    async (ref) => {
      const { reply, text } = await call("readAgent", undefined, undefined, ref);
      expect([reply.status, JSON.parse(text).agent_name]).toEqual([200, "worker"]);
    },
  );

  test.each(["limit=0", "limit=501", "limit=x", "offset=1"])("a history with %s is 422", async (query) => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    expect((await http.request(`${worker}/history?${query}`)).status).toBe(422);
    expect(bundle.asked).toEqual([]);
  });

  test("a remote attach is not offered without a body either", async () => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    for (const [ref, status] of [
      ["worker", 501],
      ["nobody", 404],
    ] as const) {
      const reply = await http.request(`/svc/agents/${ref}/gateway/attach`, { method: "POST" });
      expect([ref, reply.status]).toEqual([ref, status]);
    }
    const bad = await http.request(`${worker}/gateway/attach`, json({ more: 1 }));
    expect(bad.status).toBe(422);
  });

  test("a path that cannot be decoded names nothing", async () => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    for (const path of ["/svc/agents/%E0%A4%A/state", "/svc/agents/%/stop", "/svc/agents/worker%zz"]) {
      expect([path, (await http.request(path)).status]).toEqual([path, 404]);
    }
    expect(bundle.faults).toEqual([]);
  });

  test("a request keeps what its gateway refused it with", async () => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    const body = { request_kind: "submit_prompt", prompt: "REFUSE" };
    const reply = await http.request(`${worker}/requests`, json(body));
    expect([reply.status, await reply.json()]).toEqual([409, { detail: "the gateway says no" }]);
  });

  test("a gateway gets what the caller sent, without the caller's token, and the query as it was", async () => {
    await using bundle = createCoordinatorBundle({ token: "secret" });
    const seen: unknown[] = [];
    bundle.answer.with = async (request) => {
      seen.push([
        request.method,
        request.url,
        request.headers.get("authorization"),
        request.headers.get("content-type"),
        await request.text(),
      ]);
      return Response.json({ detail: "seen" }, { status: 404 });
    };
    await using http = open((request) => bundle.app.fetch(request));
    const headers = { authorization: "Bearer secret", "content-type": "application/json" };
    await http.request(`${worker}/gateway/reminders/a%2Fb?x=%20y`, {
      method: "PUT",
      headers,
      body: '{"a": 1}',
    });
    expect(seen).toEqual([
      ["PUT", "http://127.0.0.1:4000/v1/reminders/a%2Fb?x=%20y", null, "application/json", '{"a": 1}'],
    ]);
    expect((await http.request("/svc/agents")).status).toBe(401);
    expect((await http.request("/health")).status).toBe(200);
    // A browser shows no token, and these hold nothing of this machine.
    expect((await http.request("/openapi.json")).status).toBe(200);
    const page = await http.request("/docs", { headers: { accept: "text/html" } });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect((await http.request("/docs", { headers: { host: "evil.example" } })).status).toBe(421);
    const led = await http.request("/", { redirect: "manual" });
    expect([led.status, led.headers.get("location")]).toEqual([302, "/docs"]);
    expect((await http.request("/", { headers: { host: "evil.example" } })).status).toBe(421);
  });

  test("the stream of all agents reports its events with their ids, and resumes after the one named last", async () => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    const headers = { "last-event-id": "a-7" };
    const reply = await http.request("/svc/events?after=a-3", { headers });
    expect(reply.headers.get("content-type")).toContain("text/event-stream");
    expect(await reply.text()).toMatch(
      /^: connected\n\nid: a-1\nevent: agent_seen\ndata: \{.*"kind":"agent_seen".*\}\n\n: heartbeat\n\n$/,
    );
    await (await http.request("/svc/events?after=a-3")).text();
    expect(bundle.asked).toEqual([
      ["follow", "a-7"],
      ["follow", "a-3"],
    ]);
  });

  test.each([
    { component: "FleetEvent", path: "/svc/events" },
    { component: "AttentionEvent", path: "/svc/attention/events" },
  ])("$component is documented as it comes", async ({ component, path }) => {
    await using bundle = createCoordinatorBundle();
    await askQuestion(bundle);
    const reply = await bundle.app.fetch(new Request(`http://127.0.0.1${path}`));
    const example = recorder.compareWith(component, await firstEvent(reply));
    expect(example.body).toEqual(example.recorded as never);
  });

  test("HEAD of the stream is answered at once, without a body", async () => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    const reply = await http.request("/svc/events", { method: "HEAD" });
    expect([reply.status, await reply.text()]).toEqual([200, ""]);
  });

  test("the events of one gateway are handed on as they come, and end with the reader", async () => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    const left = new AbortController();
    const reply = await http.request(`${worker}/gateway/events?after=0`, { signal: left.signal });
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    bundle.gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: "x" } });
    while (!text.includes("event: accepted")) text += new TextDecoder().decode((await reader.read()).value);
    expect(bundle.gateway.followers()).toBe(1);
    await reader.cancel();
    left.abort();
    await until("the gateway's stream to end", async () => bundle.gateway.followers() === 0);
  });
});
