import { afterAll, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { AttentionList } from "../../src/protocol/attention.ts";
import { documentEndpoints } from "../../src/protocol/core-endpoints.ts";
import type { Endpoint } from "../../src/protocol/endpoint.ts";
import { gatewayEndpoints, streamEndpoints } from "../../src/protocol/endpoints.ts";
import { aguiConnectionHeader } from "../../src/protocol/wire.ts";
import { gatewayOpenApi } from "../../src/routes/openapi/documents.ts";
import { isOfPage } from "../support/console-services.ts";
import { notReady } from "../support/fake-agent.ts";
import { settle } from "../support/fake-clock.ts";
import { giveTerminal } from "../support/fake-terminal.ts";
import { giveTurns } from "../support/fake-turns.ts";
import { createGatewayBundle, type GatewayBundle } from "../support/gateway-bundle.ts";
import { type HttpSurface, json, surfaces } from "../support/http-surface.ts";
import { deliverTo } from "../support/mail-delivery.ts";
import { notUtf8 } from "../support/not-utf8.ts";
import { bodyOfOldClient } from "../support/old-client.ts";
import { createExampleRecorder, firstEvent } from "../support/recorded-examples.ts";
import { until } from "../support/until.ts";

const declared = { ...gatewayEndpoints, ...documentEndpoints };
type Name = keyof typeof declared;

interface Call {
  /** Path and query; the endpoint's own path when absent. */
  url?: (bundle: GatewayBundle, isFresh: boolean) => Promise<string>;
  body?: object;
}

const reminder = {
  mode: "one_off",
  title: "look again",
  prompt: "Look again",
  ranking: 0,
  start_after_seconds: 60,
} as const;
const oneReminder = async ({ reminders }: GatewayBundle) =>
  `/v1/reminders/${reminders.create([reminder]).reminders[0]?.reminder_id}`;

const firstMail = `filesystem:msg-20260101T000000Z-${"1".padStart(32, "0")}`;

/** One good call of every operation: a declaration without one does not compile. */
const calls: Record<Name, Call> = {
  health: {},
  status: {},
  snapshot: {
    url: async (bundle, isFresh) => {
      await executeRequest(bundle, isFresh);
      return "/v1/snapshot?limit=5";
    },
  },
  submitRequest: {
    body: { kind: "submit_prompt", payload: { prompt: "Run the tests.", delivery: "immediate" } },
  },
  listRequests: {
    url: async (bundle, isFresh) => {
      await executeRequest(bundle, isFresh);
      return "/v1/requests?limit=5";
    },
  },
  readRequest: {
    url: async (bundle, isFresh) => `/v1/requests/${await executeRequest(bundle, isFresh)}?include=prompt`,
  },
  withdrawRequest: {
    url: async ({ agent, queue }) => {
      agent.setReadiness(notReady);
      const payload = { prompt: "Run the tests." };
      return `/v1/requests/${(await queue.accept({ kind: "submit_prompt", payload })).request_id}`;
    },
  },
  controlPrompt: { body: { schema_version: 2, prompt: "Run the tests." } },
  terminalState: {},
  terminalHistory: {},
  notePrompt: { body: { prompt: "typed by hand" } },
  explain: {},
  wait: { url: async () => "/v1/control/tui/wait?for=ready&timeout_seconds=0.5" },
  decide: { body: { option: 1 } },
  sendKeys: { body: { sequence: "y<[Enter]>" } },
  reconcile: {},
  keepRequests: {},
  readRecorder: {},
  updateRecorder: { body: { enabled: true, max_bytes: 1_048_576 } },
  recordedMoment: { url: async () => "/v1/recorder/moment?at=2026-01-01T00:00:01Z" },
  recordedCast: { url: async () => "/v1/recorder/cast?from=2026-01-01T00:00:01Z" },
  readTypingLease: {},
  takeTypingLease: { body: { holder: "ann" } },
  endTypingLease: {},
  typeText: {
    url: async ({ leases }) => {
      leases.take({ holder: "ann", takeOver: true });
      return "/v1/control/typing";
    },
    body: { lease_id: "0".repeat(32), text: "x" },
  },
  ownAgentState: {},
  ownAttention: {
    url: async (bundle) => {
      await askQuestion(bundle);
      return "/v1/attention";
    },
  },
  answerOwnAttention: {
    url: async (bundle) => `/v1/attention/${(await askQuestion(bundle)).items[0]?.id}/answers`,
    body: { answer: "1" },
  },
  consoleSession: {},
  createSignInCode: {},
  signOut: {},
  headlessState: {},
  nextPromptSession: { body: { mode: "new" } },
  listTurns: { url: async () => "/v1/turns?limit=5" },
  readTurn: { url: async () => "/v1/turns/turn-1" },
  turnEvents: { url: async () => "/v1/turns/turn-1/events?after=0" },
  transcript: { url: async () => "/v1/transcript?limit=5&q=Hello%20world&max_bytes=100" },
  ledger: { url: async () => "/v1/ledger?limit=5&since=2026-01-01T00:00:00Z" },
  ledgerSummary: { url: async () => "/v1/ledger/summary?until=2026-12-01T00:00:00Z" },
  transcriptTurn: { url: async () => "/v1/transcript/turn-one?offset=2&max_bytes=4" },
  mailStatus: {},
  mailList: { url: withMail("list"), body: { box: "inbox", include_body: true } },
  mailPeek: { url: withMail("peek"), body: { message_ref: firstMail } },
  mailRead: { url: withMail("read"), body: { message_ref: firstMail, box: "inbox" } },
  mailSend: {
    body: {
      to: ["other@svc.localhost"],
      subject: "The build is red",
      body_content: "Two tests fail since noon.",
    },
  },
  mailPost: { body: { subject: "a note", body_content: "text", reply_policy: "none" } },
  mailReply: { url: withMail("reply"), body: { message_ref: firstMail, body_content: "thanks" } },
  mailMark: { url: withMail("mark"), body: { message_refs: [firstMail], read: true } },
  mailMove: { url: withMail("move"), body: { message_refs: [firstMail], destination_box: "later" } },
  mailArchive: { url: withMail("archive"), body: { message_refs: [firstMail] } },
  readNotifier: {},
  updateNotifier: { body: { schema_version: 1, interval_seconds: 30 } },
  disableNotifier: {},
  notifierAudit: { url: async () => "/v1/mail-notifier/audit?limit=5" },
  createReminders: { body: { reminders: [reminder] } },
  listReminders: {},
  readReminder: { url: oneReminder },
  updateReminder: { url: oneReminder, body: reminder },
  deleteReminder: { url: oneReminder },
  aguiCapabilities: {},
  aguiDetach: {
    url: async ({ app }) => {
      const viewer = json({ threadId: "thread", runId: "viewer", messages: [] });
      const reply = await app.fetch(new Request("http://127.0.0.1:1/v1/ag-ui/connect", viewer));
      return `/v1/ag-ui/connections/${reply.headers.get(aguiConnectionHeader)}`;
    },
  },
  openApiDocument: {},
  referencePage: {},
  gatewayMetrics: {},
};
const names = Object.keys(calls) as Name[];

/** The path of a mail route once the agent has the message `firstMail`. */
function withMail(verb: string) {
  return async (bundle: GatewayBundle) => {
    await deliverTo(bundle);
    return `/v1/mail/${verb}`;
  };
}

/** A request that was executed, so that its record is the same in each run; on a fresh gateway only. */
async function executeRequest({ queue, store }: GatewayBundle, isFresh: boolean): Promise<string> {
  const { request_id } = await queue.accept({ kind: "submit_prompt", payload: { prompt: "Run the tests." } });
  if (isFresh) await until("the request to end", () => store.get(request_id)?.state === "completed");
  return request_id;
}

/** How often the agent was made to do something, and what was told of it. */
function countWork({ agent, events }: GatewayBundle): () => number[] {
  let acts = 0;
  const counted = <Given extends unknown[], Result>(act: (...given: Given) => Result) =>
    ((...given: Given) => {
      acts += 1;
      return act(...given);
    }) as typeof act;
  agent.decide = counted(agent.decide);
  agent.terminal.notePrompt = counted(agent.terminal.notePrompt);
  if (agent.turns) agent.turns.overrideNextPrompt = counted(agent.turns.overrideNextPrompt);
  return () => [
    acts,
    agent.prompts.length,
    agent.keysSent.length,
    agent.typed.length,
    agent.interrupts,
    events.length,
  ];
}

/** The agent asks something; what waits for a person. */
async function askQuestion({ app, agent }: GatewayBundle): Promise<AttentionList> {
  const { state } = giveTerminal(agent);
  const options = [{ index: 1, text: "Yes", selected: true }];
  state.awaiting_decision = { kind: "selection_menu", question: "Go on?", id: "aaaaaaaaaaaa", options };
  const reply = await app.fetch(new Request("http://127.0.0.1/v1/attention"));
  return (await reply.json()) as AttentionList;
}

test("every route of the app is declared once, and every declaration has a route", async () => {
  await using bundle = createGatewayBundle();
  const told = (routes: readonly { method: string; path: string }[]) =>
    routes.map(({ method, path }) => `${method} ${path}`).sort();
  const all = { ...declared, ...streamEndpoints };
  // What a browser loads is no operation.
  const routes = bundle.app.routes.filter(({ path }) => !isOfPage(path));
  expect(told(routes)).toEqual(told(Object.values(all)));
});

const recorder = createExampleRecorder(gatewayOpenApi());

describe.each(surfaces)("every operation $surface", ({ open }) => {
  interface Server {
    bundle: GatewayBundle;
    http: HttpSurface;
  }
  const serve = (options: Parameters<typeof createGatewayBundle>[0] = {}): Server => {
    const bundle = createGatewayBundle(options);
    giveTerminal(bundle.agent);
    giveTurns(bundle.agent);
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
  type Change = (init: RequestInit) => RequestInit;

  async function callOn(server: Server, name: Name, change: Change = (init) => init) {
    const { bundle, http } = server;
    const { url, body } = calls[name];
    const endpoint: Endpoint = declared[name];
    const init = body ? json(body, endpoint.method) : { method: endpoint.method };
    const reply = await http.request(
      (await url?.(bundle, server !== refusing)) ?? endpoint.path,
      change(init),
    );
    return { endpoint, reply, text: await reply.text() };
  }

  async function call(name: Name, change?: Change) {
    const server = serve();
    try {
      return await callOn(server, name, change);
    } finally {
      await end(server);
    }
  }

  function refused(name: Name, change?: Change) {
    refusing ??= serve();
    return callOn(refusing, name, change);
  }

  test.each(names)("%s answers with its declared status and body", async (name) => {
    const { endpoint, reply, text } = await call(name);
    const type = endpoint.response["contentMediaType"] ?? "application/json";
    expect([reply.status, reply.headers.get("content-type")]).toEqual([
      endpoint.status,
      expect.stringContaining(type),
    ]);
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

  // The queue keeps the keys of requests: tests/contract/idempotency-keys.test.ts.
  const keyed = names.filter((name) => declared[name].keepsKey && name !== "submitRequest");
  test.each(keyed)("%s with a key is done once, and answered as the first time", async (name) => {
    const writes: string[] = [];
    const server = serve({ onWrite: (label) => void writes.push(label) });
    const { bundle } = server;
    const done = countWork(bundle);
    try {
      const url = (await calls[name].url?.(bundle, true)) ?? declared[name].path;
      const withKey = (other: Name, to: string) => {
        const { body } = calls[other];
        const { method } = declared[other];
        const init: RequestInit = body ? json(body, method) : { method };
        return server.http.request(to, { ...init, headers: { ...init.headers, "Idempotency-Key": "key-1" } });
      };
      const ask = async () => {
        const reply = await withKey(name, url);
        return { status: reply.status, body: (await reply.json()) as unknown };
      };
      const effects = () => [...done(), writes.filter((label) => !label.startsWith("sql:key")).length];
      const first = await ask();
      expect(first.status).toBe(declared[name].status);
      await settle();
      const once = effects();
      expect(await ask()).toEqual(first);
      await settle();
      expect(effects()).toEqual(once);
      // The key belongs to this call alone.
      const other = name === "sendKeys" ? "decide" : "sendKeys";
      const refusal = await withKey(other, declared[other].path);
      expect([refusal.status, await refusal.json()]).toEqual([
        409,
        { detail: "this idempotency key was used for another request" },
      ]);
      expect(effects()).toEqual(once);
    } finally {
      await end(server);
    }
  });

  test.each(names.filter((name) => declared[name].method === "GET"))(
    "HEAD of %s answers like GET, without a body",
    async (name) => {
      const { endpoint, reply, text } = await call(name, () => ({ method: "HEAD" }));
      expect([reply.status, text]).toEqual([endpoint.status, ""]);
    },
  );

  const withBody = names.filter((name) => declared[name].body !== null);
  test.each(withBody)("%s takes its schema_version or none, and no other", async (name) => {
    const version = name === "controlPrompt" ? 2 : 1;
    const answered = async (change: (body: Record<string, unknown>) => void, ask = call) => {
      const body: Record<string, unknown> = { ...calls[name].body };
      change(body);
      const { reply, text } = await ask(name, (init) => ({ ...init, body: JSON.stringify(body) }));
      return { status: reply.status, detail: (JSON.parse(text) as { detail?: unknown }).detail };
    };
    const good = declared[name].status;
    expect(
      (
        await answered((body) => {
          delete body["schema_version"];
        })
      ).status,
    ).toBe(good);
    expect(
      (
        await answered((body) => {
          body["schema_version"] = version;
        })
      ).status,
    ).toBe(good);
    for (const wrong of [3 - version, 0, String(version), version + 0.5]) {
      const answer = await answered((body) => {
        body["schema_version"] = wrong;
      }, refused);
      expect([wrong, answer.status, answer.detail]).toEqual([
        wrong,
        422,
        [expect.objectContaining({ type: "literal_error", loc: ["body", "schema_version"] })],
      ]);
    }
  });

  test.each(withBody)("%s refuses an unknown key, bad JSON, an empty body and another type", async (name) => {
    const status = async (init: RequestInit) =>
      (await refused(name, (good) => ({ ...good, ...init }))).reply.status;
    expect(await status({ body: JSON.stringify({ ...calls[name].body, surprise: 1 }) })).toBe(422);
    for (const body of ["{", "", "[]", "5", "null", '"text"']) expect(await status({ body })).toBe(422);
    expect(await status({ body: notUtf8({ ...calls[name].body }) })).toBe(422);
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

  const queries = [
    { id: "a limit of 0", url: "/v1/requests?limit=0", field: "limit" },
    { id: "a negative limit", url: "/v1/requests?limit=-1", field: "limit" },
    { id: "a limit over 1000", url: "/v1/requests?limit=1001", field: "limit" },
    { id: "a limit that is no number", url: "/v1/requests?limit=abc", field: "limit" },
    { id: "an empty limit", url: "/v1/requests?limit=", field: "limit" },
    { id: "half a request", url: "/v1/requests?limit=1.5", field: "limit" },
    { id: "a limit in another notation", url: "/v1/requests?limit=1e2", field: "limit" },
    { id: "an unknown state", url: "/v1/requests?state=lost", field: "state" },
    { id: "an unknown parameter", url: "/v1/requests?offset=1", field: "offset" },
    { id: "a history of 0", url: "/v1/control/tui/history?limit=0", field: "limit" },
    { id: "a history over 1000", url: "/v1/control/tui/history?limit=1001", field: "limit" },
    { id: "a history of abc", url: "/v1/control/tui/history?limit=abc", field: "limit" },
    { id: "a wait for nothing", url: "/v1/control/tui/wait", field: "for" },
    {
      id: "a wait of more than an hour",
      url: "/v1/control/tui/wait?for=ready&timeout_seconds=3601",
      field: "timeout_seconds",
      msg: "expected number to be less or equal to 3600",
    },
    {
      id: "a wait of less than nothing",
      url: "/v1/control/tui/wait?for=ready&timeout_seconds=-0.5",
      field: "timeout_seconds",
      msg: "expected number to be greater or equal to 0",
    },
    {
      id: "a wait of abc",
      url: "/v1/control/tui/wait?for=ready&timeout_seconds=abc",
      field: "timeout_seconds",
    },
  ];
  test.each(queries)("$id is 422 and says where", async ({ url, field, msg = expect.any(String) }) => {
    await using bundle = createGatewayBundle();
    const terminal = giveTerminal(bundle.agent);
    await using http = open((request) => bundle.app.fetch(request));
    const reply = await http.request(url);
    const { detail } = (await reply.json()) as { detail: { loc: unknown[]; msg: string }[] };
    expect([reply.status, detail[0]]).toMatchObject([422, { loc: ["query", field], msg }]);
    expect([terminal.limits, terminal.waited]).toEqual([[], []]);
  });

  test("the history's limit is 100 unless set otherwise, and reaches the terminal as a number", async () => {
    await using bundle = createGatewayBundle();
    const terminal = giveTerminal(bundle.agent);
    await using http = open((request) => bundle.app.fetch(request));
    for (const query of ["", "?limit=1", "?limit=1000"]) {
      expect((await http.request(`/v1/control/tui/history${query}`)).status).toBe(200);
    }
    expect(terminal.limits).toEqual([100, 1, 1000]);
  });

  test("a noted prompt reaches the terminal and is answered with its state", async () => {
    await using bundle = createGatewayBundle();
    const terminal = giveTerminal(bundle.agent);
    await using http = open((request) => bundle.app.fetch(request));
    const note = (body: object) => http.request("/v1/control/tui/note-prompt", json(body));
    const reply = await note({ prompt: "typed by hand" });
    expect([reply.status, await reply.json(), terminal.noted]).toEqual([
      200,
      JSON.parse(JSON.stringify(terminal.state)),
      ["typed by hand"],
    ]);
    expect((await note({ prompt: " " })).status).toBe(422);
    expect(terminal.noted).toHaveLength(1);
  });

  test.each(["state", "history", "explain", "wait?for=ready"])(
    "/v1/control/tui/%s is 422 for an agent without a tracked terminal",
    async (what) => {
      await using bundle = createGatewayBundle();
      await using http = open((request) => bundle.app.fetch(request));
      const reply = await http.request(`/v1/control/tui/${what}`);
      expect([reply.status, await reply.json()]).toEqual([
        422,
        { detail: "this backend has no tracked terminal" },
      ]);
    },
  );

  const viewer = {
    threadId: "thread",
    runId: "run",
    messages: [{ id: "1", role: "user", content: "Go on" }],
  };
  test.each<{ component: string; path: string; init?: RequestInit; status: number }>([
    { component: "ErrorBody", path: "/v1/requests/nothing", status: 404 },
    { component: "ValidationErrorBody", path: "/v1/requests", init: json({}), status: 422 },
    {
      component: "PromptRefusalBody",
      path: "/v1/control/prompt",
      init: json({ prompt: "Run the tests." }),
      status: 409,
    },
    {
      component: "AguiNotConnected",
      path: "/v1/ag-ui/connections/none",
      init: { method: "DELETE" },
      status: 404,
    },
  ])("the refusal $component is documented as it comes", async ({ component, path, init, status }) => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    await using http = open((request) => bundle.app.fetch(request));
    const reply = await http.request(path, init);
    expect(reply.status).toBe(status);
    const example = recorder.compareWith(component, await reply.json());
    expect(example.body).toEqual(example.recorded as never);
  });

  test.each([
    { component: "GatewayEvent", path: "/v1/events?after=0", init: undefined },
    { component: "AguiEvent", path: "/v1/ag-ui/connect", init: json(viewer) },
  ])("the event $component is documented as it comes", async ({ component, path, init }) => {
    await using bundle = createGatewayBundle();
    await executeRequest(bundle, true);
    const reply = await bundle.app.fetch(new Request(`http://127.0.0.1${path}`, init));
    const example = recorder.compareWith(component, await firstEvent(reply));
    expect(example.body).toEqual(example.recorded as never);
  });

  test.each(["AguiConnectInput", "AguiRunInput"])("%s is documented as it is sent", (component) => {
    const example = recorder.compareWith(component, viewer);
    expect(example.body).toEqual(example.recorded as never);
  });
});
