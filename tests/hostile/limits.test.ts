import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";
import { faultTest } from "../support/fault-table.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

const mebibyte = 1024 * 1024;

/** Sends a whole body piece by piece, as fast as the server takes it, and returns its answer. */
function sendLong(
  port: number,
  path: string,
  options: { mebibytes: number; chunked: boolean },
): Promise<string> {
  const { mebibytes, chunked } = options;
  const piece = Buffer.alloc(mebibyte, "x");
  const chunk = Buffer.concat([Buffer.from(`${mebibyte.toString(16)}\r\n`), piece, Buffer.from("\r\n")]);
  const length = chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${mebibytes * mebibyte}`;
  return new Promise((resolve, reject) => {
    let answer = "";
    let sent = 0;
    const socket = connect(port, "127.0.0.1");
    const done = () => {
      if (sent <= mebibytes || !answer.endsWith("}")) return;
      resolve(answer);
      socket.destroy();
    };
    const more = () => {
      while (sent < mebibytes) {
        sent += 1;
        if (!socket.write(chunked ? chunk : piece)) return;
      }
      if (sent++ === mebibytes && chunked) socket.write("0\r\n\r\n");
      done();
    };
    socket.on("drain", more);
    socket.on("data", (bytes) => {
      answer += bytes;
      done();
    });
    socket.on("error", reject);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
    );
    more();
  });
}

describe("a body that is too long", () => {
  const row = {
    area: "callers",
    fault: "A caller sends a body of hundreds of megabytes, with its length told or in chunks",
    outcome: "it is thrown away as it arrives; memory stays as it was",
    seen: "413 with a detail",
    recovery: "the caller sends less",
  } as const;

  for (const chunked of [false, true]) {
    faultTest(
      `of 200 MiB is 413 with a detail and is not kept, ${chunked ? "chunked" : "its length told"}`,
      row,
      async () => {
        await using gateway = createGatewayBundle();
        const server = listen({ fetch: gateway.app.fetch, host: "127.0.0.1", port: 0, clock: createClock() });
        const before = process.memoryUsage.rss();
        try {
          const answer = await sendLong(server.port, "/v1/requests", { mebibytes: 200, chunked });
          expect(answer).toStartWith("HTTP/1.1 413 ");
          expect(answer).toEndWith('{"detail":"the body is larger than 8388608 bytes"}');
          expect(process.memoryUsage.rss() - before).toBeLessThan(120 * mebibyte);
          expect(gateway.queue.depth()).toBe(0);
        } finally {
          await server.stop(0);
        }
      },
    );
  }
});

describe.each(surfaces)("what is nested or long $surface", ({ open }) => {
  test.each([
    { id: "100,000 arrays in each other", body: "[".repeat(100_000) + "]".repeat(100_000) },
    { id: "100,000 objects in each other", body: `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}` },
    { id: "100,000 opened and never closed", body: "[".repeat(100_000) },
    { id: "100,000 keys", body: `{${Array.from({ length: 100_000 }, (_, nth) => `"k${nth}":1`).join(",")}}` },
    {
      id: "a prompt's place with 100,000 in each other",
      body: `{"kind":"submit_prompt","payload":{"prompt":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`,
    },
  ])("$id: 422, and the gateway lives", async ({ body }) => {
    await using gateway = createGatewayBundle();
    await using http = open((request) => gateway.app.fetch(request));
    const reply = await http.request("/v1/requests", { ...json({}), body });
    expect(reply.status).toBe(422);
    const { detail } = (await reply.json()) as { detail: unknown[] };
    expect(detail.length).toBeLessThanOrEqual(20);
    expect(gateway.faults).toEqual([]);
    expect((await http.request("/health")).status).toBe(200);
  });

  test.each([
    {
      id: "a million keys",
      body: `{${Array.from({ length: 700_000 }, (_, nth) => `"k${nth}":1`).join(",")}}`,
    },
    {
      id: "a million references",
      body: `{"message_refs":[${Array.from({ length: 700_000 }, (_, nth) => `"r${nth}"`).join(",")}]}`,
    },
    { id: "four million numbers", body: `[${"1,".repeat(4_000_000)}1]` },
    { id: "empty objects", body: `[${"{},".repeat(2_000_000)}{}]` },
  ])("$id are refused before they are parsed", async ({ body }) => {
    await using gateway = createGatewayBundle();
    await using http = open((request) => gateway.app.fetch(request));
    const reply = await http.request("/v1/mail/mark", { ...json({}), body });
    expect([reply.status, await reply.json()]).toEqual([
      422,
      { detail: [{ type: "json_invalid", loc: ["body"], msg: "the body holds more than 100000 values" }] },
    ]);
  });

  test("1,001 references are 422 with one finding; a reference of 8 MB is too", async () => {
    await using gateway = createGatewayBundle();
    await using http = open((request) => gateway.app.fetch(request));
    const refs = Array.from({ length: 1001 }, (_, nth) => `filesystem:msg-${nth}`);
    for (const message_refs of [refs, ["x".repeat(8_000_000)]]) {
      const reply = await http.request("/v1/mail/mark", json({ message_refs, read: true }));
      const { detail } = (await reply.json()) as { detail: unknown[] };
      expect([reply.status, detail.length]).toEqual([422, 1]);
    }
  });

  test("a finding names at most 200 characters of a key, and 20 findings are reported", async () => {
    await using gateway = createGatewayBundle();
    await using http = open((request) => gateway.app.fetch(request));
    const keys = Array.from({ length: 64 }, (_, nth) => [`${nth}${"k".repeat(100_000)}`, 1]);
    const reply = await http.request("/v1/control/prompt", json(Object.fromEntries(keys)));
    const text = await reply.text();
    expect([reply.status, JSON.parse(text).detail.length]).toEqual([422, 20]);
    expect(text.length).toBeLessThan(20 * 400);
  });

  test.each([
    { id: "brackets in a text", prompt: `${"[{".repeat(5000)}\\"[[` },
    { id: "quotes and backslashes", prompt: `\\${'\\\\"['.repeat(1000)}` },
  ])("$id are no nesting", async ({ prompt }) => {
    await using gateway = createGatewayBundle();
    await using http = open((request) => gateway.app.fetch(request));
    const reply = await http.request("/v1/requests", json({ kind: "submit_prompt", payload: { prompt } }));
    expect(reply.status).toBe(202);
  });

  test.each([1e300, 2 ** 53, -(2 ** 53), 1.5])("a ranking of %p is 422", async (ranking) => {
    await using gateway = createGatewayBundle();
    await using http = open((request) => gateway.app.fetch(request));
    const reply = await http.request("/v1/reminders", json({ reminders: [{ ...reminder, ranking }] }));
    expect([reply.status, await reply.json()]).toMatchObject([
      422,
      { detail: [{ loc: ["body", "reminders", 0, "ranking"] }] },
    ]);
  });
});

const reminder = { mode: "one_off", title: "tea", prompt: "tea", ranking: 1, start_after_seconds: 60 };

test("a gateway holds 5,000 reminders; one more is 409 until one is gone", async () => {
  await using gateway = createGatewayBundle();
  const create = async (count: number) => {
    const reminders = Array.from({ length: count }, (_, ranking) => ({ ...reminder, ranking }));
    const reply = await gateway.app.fetch(
      new Request("http://127.0.0.1:1/v1/reminders", json({ reminders })),
    );
    return [reply.status, await reply.json()] as const;
  };
  expect((await create(5001))[0]).toBe(422);
  expect((await create(5000))[0]).toBe(200);
  expect(await create(1)).toEqual([409, { detail: expect.stringContaining("5000 reminders") }]);
  const [first] = gateway.reminders.list().reminders;
  gateway.reminders.remove(first?.reminder_id ?? "");
  expect((await create(2))[0]).toBe(409);
  expect((await create(1))[0]).toBe(200);
});

test("a gateway holds 2 MiB of reminders' texts; more is 409 until some are gone", async () => {
  await using gateway = createGatewayBundle();
  const call = async (path: string, method: string, body: unknown) => {
    const request = new Request(`http://127.0.0.1:1${path}`, { ...json(body), method });
    return (await gateway.app.fetch(request)).status;
  };
  const long = { ...reminder, prompt: "p".repeat(0.75 * mebibyte) };
  const create = (one: object) => call("/v1/reminders", "POST", { reminders: [one] });
  expect([await create(long), await create(long), await create(long)]).toEqual([200, 200, 409]);
  expect(await create(reminder)).toBe(200);
  const [first, , last] = gateway.reminders.list().reminders;
  expect(await call(`/v1/reminders/${last?.reminder_id}`, "PUT", long)).toBe(409);
  expect(await call(`/v1/reminders/${first?.reminder_id}`, "PUT", long)).toBe(200);
  gateway.reminders.remove(first?.reminder_id ?? "");
  expect(await create(long)).toBe(200);
});

test("64 GUI clients are attached at once; one more is 503 until one leaves", async () => {
  await using gateway = createGatewayBundle();
  const input = { threadId: "t", runId: "r", state: {}, messages: [], tools: [], context: [] };
  const attach = () => gateway.app.fetch(new Request("http://127.0.0.1:1/v1/ag-ui/connect", json(input)));
  const attached = await Promise.all(Array.from({ length: 64 }, attach));
  expect(attached.every(({ status }) => status === 200)).toBe(true);
  const refused = await attach();
  expect([refused.status, await refused.json()]).toEqual([503, { detail: expect.stringContaining("64") }]);
  await attached[0]?.body?.cancel();
  expect((await attach()).status).toBe(200);
});
