import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import Ajv from "ajv/dist/2020.js";
import { json } from "../support/http-surface.ts";
import { installSchemathesis } from "../support/schemathesis/install.ts";
import { type ForeignTargets, openForeignTargets } from "../support/schemathesis/targets.ts";
import { until } from "../support/until.ts";
import type { Document } from "./calls.ts";
import { createOracle } from "./oracle.ts";

/** Of each server. A longer run: `bun run fuzz --schemathesis`. */
const seconds = 6;
const seed = 20_261_123;

let foreign: ForeignTargets;
beforeAll(async () => {
  await installSchemathesis();
  foreign = await openForeignTargets(join(import.meta.dir, "../../dist"));
}, 240_000);
afterAll(() => foreign?.[Symbol.asyncDispose]());

test.each([0, 1, 2])(
  "a schema-driven fuzzer of others finds nothing that a server and its document distinguish (%i)",
  async (index) => {
    const target = foreign.targets[index];
    const { failure, output } = (await target?.run({ seed, seconds })) ?? {
      failure: "no target",
      output: "",
    };
    expect([target?.name, failure]).toEqual([target?.name, null]);
    // It was at work, and the server is still there. How much it sends in its time depends on the machine:
    // hundreds as a rule, a dozen beside other work.
    const generated = Number(/(\d[\d,]*) generated/.exec(output)?.[1]?.replaceAll(",", "") ?? 0);
    expect(generated).toBeGreaterThan(0);
    expect(foreign.alive()).toBe(true);
  },
  300_000,
);

const get = (url: string, init: RequestInit = {}) => fetch(url, { ...init, proxy: false } as RequestInit);
const documentOf = async (baseUrl: string) =>
  (await (await get(`${baseUrl}/openapi.json`)).json()) as Document;

test("what ends an agent or a server answers as documented, and ends exactly that", async () => {
  await using mortal = await foreign.openMortal();
  const oracle = createOracle(await documentOf(mortal.baseUrl), []);
  const ask = async (method: string, path: string) => {
    const reply = await get(`${mortal.baseUrl}${path}`, { method });
    const answer = { status: reply.status, headers: reply.headers, text: await reply.text() };
    return [reply.status, oracle.judge({ method, path }, answer)];
  };
  const shutdown = "/svc/coord/shutdown";
  expect(await ask("POST", "/svc/agents/nobody/stop")).toEqual([404, []]);
  expect(await ask("POST", "/svc/agents/nobody/relaunch")).toEqual([404, []]);
  expect(await ask("GET", "/svc/agents/mortal/stop")).toEqual([405, []]);
  for (const method of ["GET", "PUT", "DELETE"]) expect(await ask(method, shutdown)).toEqual([405, []]);
  expect(await ask("POST", "/svc/agents/mortal/relaunch")).toEqual([200, []]);
  expect(mortal.agentAlive()).toBe(true);
  expect(await ask("POST", "/svc/agents/mortal/stop")).toEqual([200, []]);
  await until("the end of its gateway", () => !mortal.agentAlive());
  expect((await ask("POST", "/svc/agents/mortal/stop"))[1]).toEqual([]);
  expect(await ask("POST", shutdown)).toEqual([200, []]);
  expect(await mortal.exited).toBe(0);
  expect(foreign.alive()).toBe(true);
}, 120_000);

const thread = { threadId: "thread", runId: "run", tools: [], context: [], forwardedProps: {}, state: {} };
const task = { id: "1", role: "user", content: "say hello\nFAST" };

const streams = [
  { operation: "events", server: 0, path: "/v1/events" },
  { operation: "aguiConnect", server: 0, path: "/v1/ag-ui/connect", body: { ...thread, messages: [] } },
  { operation: "aguiRun", server: 1, path: "/v1/ag-ui/runs", body: { ...thread, messages: [task] } },
  { operation: "screenEvents", server: 0, path: "/v1/screen/events" },
  { operation: "screensEvents", server: 2, path: "/svc/console/screens/events?agents=worker" },
  { operation: "fleetEvents", server: 2, path: "/svc/events" },
  { operation: "agentGatewayEvents", server: 2, path: "/svc/agents/worker/gateway/events" },
];

test.each(streams)(
  "the stream $operation begins as its document says",
  async ({ operation, server, path, body }) => {
    const at = foreign.targets[server]?.baseUrl ?? "";
    const document = (await (await get(`${at}/openapi.json`)).json()) as Document;
    const described = streamIn(document, operation);
    const left = new AbortController();
    const ask = () => get(`${at}${path}`, { ...(body ? json(body) : {}), signal: left.signal });
    // What the fuzzer asked for may still run, and a second run beside it is refused.
    const reply = await until("an agent that is free", async () => {
      const answer = await ask();
      if (answer.status !== 409) return answer;
      await answer.text();
      return null;
    });
    try {
      const type = reply.headers.get("content-type")?.split(";")[0];
      expect([reply.status, type, described.type]).toEqual([200, described.type, "text/event-stream"]);
      // Something happens that each of them tells.
      await get(`${foreign.targets[0]?.baseUrl}/v1/requests`, json({ kind: "interrupt" }));
      const { kind, data } = await firstEvent(reply);
      expect(described.kinds).toContain(kind ?? (data as { type: string }).type);
      const ajv = new Ajv({ strict: false, validateFormats: false });
      const fits = ajv.compile({ ...described.item, components: document.components });
      expect([fits(data), ajv.errorsText(fits.errors)]).toEqual([true, "No errors"]);
    } finally {
      left.abort();
    }
  },
  60_000,
);

/** What the document says of the stream of this operation. */
function streamIn(document: Document, operationId: string): { type: string; kinds: string[]; item: object } {
  type Media = Record<string, { "x-event-kinds": object; "x-item-schema": object }>;
  type Described = { operationId: string; responses: Record<string, { content: Media }> };
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path) as Described[]);
  const content = operations.find((one) => one.operationId === operationId)?.responses["200"]?.content ?? {};
  const [[type, media] = ["none", undefined]] = Object.entries(content);
  return { type, kinds: Object.keys(media?.["x-event-kinds"] ?? {}), item: media?.["x-item-schema"] ?? {} };
}

/** The first frame with data; comments before it are passed over. */
async function firstEvent(reply: Response): Promise<{ kind: string | null; data: unknown }> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of reply.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true });
    const frame = text
      .split("\n\n")
      .slice(0, -1)
      .find((one) => /^data:/m.test(one));
    if (frame === undefined) continue;
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(frame)?.[1] ?? null;
    return { kind: field("event"), data: JSON.parse(field("data") ?? "null") };
  }
  throw new Error(`the stream ended: ${text.slice(0, 300)}`);
}
