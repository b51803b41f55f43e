import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { type StdioServer, startStdioServer } from "../support/stdio-server.ts";
import { until } from "../support/until.ts";
import { secretsOf } from "./planted-secrets.ts";

// What reaches the standard input of `svc mcp` and `svc acp`: a client that is broken, or that passes on what
// others wrote.

let fixture: CliFixture;
beforeAll(async () => {
  fixture = createCliFixture();
  const { stderr, exitCode } = await fixture.run("svc", ["new", "worker", "demo-acp", "-w"]);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const maxMegabytes = 300;
const { prompt: plantedSecret } = secretsOf("stdio");
const servers = [
  {
    name: "svc mcp",
    words: ["mcp"],
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
    /** A request whose answer needs nothing but the server. */
    cheap: { method: "tools/list", params: {} },
    /** One that goes on for as long as the client lets it. */
    long: (id: string) => ({
      method: "tools/call",
      id,
      params: {
        name: "wait",
        arguments: { agent: "worker", request_id: id, seconds: 50 },
      },
    }),
    wrong: [
      { name: "wait", arguments: [plantedSecret] },
      { name: "wait", arguments: plantedSecret },
      { name: "wait", _meta: { progressToken: { [plantedSecret]: 7 } } },
    ],
  },
  {
    name: "svc acp",
    words: ["acp", "--agent", "worker"],
    initialize: { protocolVersion: 1, clientCapabilities: {} },
    cheap: { method: "session/new", params: { cwd: "/", mcpServers: [] } },
    long: null,
    wrong: [
      { sessionId: "x", prompt: [{ type: plantedSecret }] },
      { sessionId: "x", prompt: plantedSecret },
    ],
  },
];

async function open(
  server: (typeof servers)[number],
  options: { reads?: boolean } = {},
): Promise<StdioServer> {
  const started = startStdioServer(fixture, server.words, options);
  if (options.reads !== false) {
    expect(await started.request("initialize", server.initialize)).toMatchObject({ result: {} });
    await started.send({ method: "notifications/initialized" });
  }
  return started;
}

const request = (fields: object) => JSON.stringify({ jsonrpc: "2.0", ...fields });
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
/** Each with the code of the error that answers it; null: nothing does. */
const lines: { id: string; line: string | Uint8Array; code: number | null }[] = [
  { id: "no JSON", line: `${plantedSecret} is no message`, code: -32700 },
  { id: "half of a message", line: '{"jsonrpc":"2.0","id":1,"method":', code: -32700 },
  { id: "bytes that are no text", line: new Uint8Array([0, 255, 254, 128, 27, 91, 50, 74]), code: -32700 },
  { id: "an empty line", line: " \t\r", code: null },
  { id: "a number", line: "7", code: -32600 },
  { id: "null", line: "null", code: -32600 },
  {
    id: "a batch",
    line: `[${request({ id: 1, method: "ping" })},${request({ id: 2, method: "ping" })}]`,
    code: -32600,
  },
  { id: "an empty batch", line: "[]", code: -32600 },
  { id: "an empty object", line: "{}", code: -32600 },
  { id: "another version", line: '{"jsonrpc":"1.0","id":1,"method":"ping"}', code: -32600 },
  { id: "a request with id null", line: request({ id: null, method: "initialize" }), code: -32600 },
  { id: "an id that is an object", line: request({ id: {}, method: "initialize" }), code: -32600 },
  { id: "a method that is a number", line: request({ id: 1, method: 7 }), code: -32600 },
  { id: "params that are a list", line: request({ id: 1, method: "initialize", params: [1] }), code: -32602 },
  { id: "neither method nor result", line: request({ id: 1 }), code: -32600 },
  { id: "an answer to nothing", line: request({ id: 4711, result: { outcome: plantedSecret } }), code: null },
  { id: "an error for nothing", line: request({ id: 4711, error: { code: "x", message: 7 } }), code: null },
  {
    id: "an unknown notification",
    line: request({ method: "no/such", params: { a: plantedSecret } }),
    code: null,
  },
  {
    id: "a depth of 100,000",
    line: request({ id: 1, method: "x" }).replace('"x"', nested(100_000)),
    code: -32600,
  },
  { id: "200,000 values", line: `{"jsonrpc":"2.0","params":{"a":[${"0,".repeat(200_000)}0]}}`, code: -32600 },
];

describe.each(servers)("$name, to a broken client", (server) => {
  test("answers each line that is no message with an error, and goes on", async () => {
    await using started = await open(server);
    for (const { id, line, code } of lines) {
      const before = started.received.length;
      await started.write(line);
      await started.write("\n");
      // Answers come in the order of the lines: what follows the line's own is that of the next request.
      const next = await started.request(server.cheap.method, server.cheap.params);
      expect([id, next.error]).toEqual([id, undefined]);
      const own = started.received.slice(before, -1).map(({ error, result }) => error?.code ?? result);
      expect([id, own]).toEqual([id, code === null ? [] : [code]]);
    }
    expect(JSON.stringify(started.received) + started.stderr()).not.toContain(plantedSecret);
    await started.endInput();
    expect(await started.exited).toBe(0);
  }, 60_000);

  test("answers unknown methods and wrong parameters with their id", async () => {
    await using started = await open(server);
    expect(await started.request("no/such")).toMatchObject({ error: { code: -32601 } });
    expect(await started.request("__proto__")).toMatchObject({ error: { code: -32601 } });
    const { method } = server.long?.("x") ?? { method: "session/prompt" };
    const wrong: object[] = [{}, { name: 7, sessionId: 7 }, { _meta: 7 }, ...server.wrong];
    for (const params of [...wrong, null as unknown as object, [plantedSecret]]) {
      const { error } = await started.request(method, params);
      expect([params, error?.code]).toEqual([params, -32602]);
      expect(error?.message).toMatch(/^[^\n{}[\]]{1,100}$/);
    }
    expect(JSON.stringify(started.received)).not.toContain(plantedSecret);
    // A notification has no answer, whatever it lacks.
    await started.write(`${JSON.stringify({ jsonrpc: "2.0", method })}\n`);
    expect(await started.request(server.cheap.method, server.cheap.params)).toMatchObject({ result: {} });
  }, 60_000);

  test("puts a message together from single bytes", async () => {
    await using started = await open(server);
    const text = `${request({ id: "é😀", ...server.cheap })}\r\n`;
    for (const byte of new TextEncoder().encode(text)) await started.write(new Uint8Array([byte]));
    expect(await started.response("é😀")).toMatchObject({ result: {} });
  }, 60_000);

  test("gives lines of 100 MB an error and little memory", async () => {
    await using started = await open(server);
    const piece = new Uint8Array(1 << 20).fill(0x78);
    for (const begin of ["", '{"jsonrpc":"2.0","id":9,"method":"']) {
      const before = started.received.length;
      await started.write(begin);
      for (let sent = 0; sent < 100; sent++) await started.write(piece);
      await started.write("\n");
      const next = await started.request(server.cheap.method, server.cheap.params);
      expect(next.result).toBeDefined();
      expect(started.received.slice(before, -1)).toMatchObject([{ error: { code: -32600 } }]);
    }
    expect(started.peakMegabytes()).toBeLessThan(maxMegabytes);
  }, 60_000);

  test("ends with its input, in the middle of a line too", async () => {
    await using started = await open(server);
    await started.write('{"jsonrpc":"2.0","id":1,"meth');
    await started.endInput();
    expect(await started.exited).toBe(0);
  }, 60_000);

  test("ends, in bounded memory, when its client reads nothing", async () => {
    await using started = await open(server, { reads: false });
    await started.send({ id: 0, method: "initialize", params: server.initialize });
    const flood = Array.from({ length: 50_000 }, (_, id) => request({ id: id + 1, ...server.cheap }));
    // The server may be gone before all of it is sent.
    await started.write(`${flood.join("\n")}\n`).catch(() => {});
    expect(await started.exited).toBe(3);
    expect(started.stderr()).toContain("the client does not read what it is sent");
    expect(started.stderr().length).toBeLessThan(1000);
  }, 60_000);

  test("ends with its input when its client reads nothing", async () => {
    await using started = await open(server, { reads: false });
    await started.send({ id: 0, method: "initialize", params: server.initialize });
    await started.send(...Array.from({ length: 60 }, (_, id) => ({ id: id + 1, ...server.cheap })));
    expect(started.peakMegabytes()).toBeLessThan(maxMegabytes);
    await started.endInput();
    expect(await started.exited).toBe(0);
  }, 60_000);
});

describe("svc mcp, to a client that asks for too much", () => {
  const [server] = servers;
  if (!server?.long) throw new Error("no server");
  const long = server.long;

  test("holds 64 calls at once, refuses more, and answers all when its input ends", async () => {
    const accepted = await fixture.run("svc", ["tell", "--json", "worker", "wait\nSLOW 20000"]);
    const requestId = String(accepted.json()["request_id"]);
    await using started = await open(server);
    const wait = (id: string) => ({
      ...long(id),
      params: { name: "wait", arguments: { agent: "worker", request_id: requestId, seconds: 50 } },
    });
    await started.send(...Array.from({ length: 500 }, (_, at) => wait(`w${at}`)));
    await started.response("w499");
    const refused = started.received.filter(({ error }) => error?.code === -32000);
    expect(refused).toHaveLength(436);
    // A call that the client takes back makes room.
    await started.send({ method: "notifications/cancelled", params: { requestId: "w0" } });
    await until("room", async () => (await started.request("tools/list")).result);
    await started.endInput();
    expect(await started.exited).toBe(0);
    const answered = started.received.filter(({ id, result }) => /^w/.test(String(id)) && result);
    expect(answered).toHaveLength(63);
    expect(JSON.stringify(answered[0])).toContain("wait again with the same arguments");
    await fixture.run("svc", ["stop", "worker"]);
  }, 60_000);
});
