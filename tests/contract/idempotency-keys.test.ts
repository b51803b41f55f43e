import { describe, expect, test } from "bun:test";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

const submit = (prompt: string) => ({ schema_version: 1, kind: "submit_prompt", payload: { prompt } });

describe.each(surfaces)("a request with a key $surface", ({ open }) => {
  async function setup() {
    const bundle = createGatewayBundle();
    const http = open((request) => bundle.app.fetch(request));
    const post = async (body: object, key?: string) => {
      const init = json(body);
      const headers = { ...init.headers, ...(key === undefined ? {} : { "Idempotency-Key": key }) };
      const reply = await http.request("/v1/requests", { ...init, headers });
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    };
    const list = async (query = "") => {
      const reply = await http.request(`/v1/requests${query}`);
      return ((await reply.json()) as { requests: Record<string, unknown>[] }).requests;
    };
    return {
      ...bundle,
      post,
      list,
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  test("is stored once, and every repetition gets the first answer", async () => {
    await using gateway = await setup();
    const first = await gateway.post(submit("one"), "key-1");
    expect(first.status).toBe(202);
    const again = await gateway.post(submit("one"), "key-1");
    expect([again.status, again.body["request_id"], again.body["accepted_at_utc"]]).toEqual([
      202,
      first.body["request_id"],
      first.body["accepted_at_utc"],
    ]);
    const other = await gateway.post(submit("one"), "key-2");
    expect(other.body["request_id"]).not.toBe(first.body["request_id"]);
    const without = [await gateway.post(submit("one")), await gateway.post(submit("one"))];
    expect(new Set(without.map(({ body }) => body["request_id"])).size).toBe(2);
    expect(await gateway.list()).toHaveLength(4);
    expect((await gateway.list("?idempotency_key=key-1")).map((one) => one["request_id"])).toEqual([
      first.body["request_id"] as string,
    ]);
    expect((await gateway.list("?idempotency_key=key-1"))[0]).toMatchObject({ idempotency_key: "key-1" });
    expect(await gateway.list("?idempotency_key=key-9")).toEqual([]);
  });

  test("is stored once when many callers send it at the same moment", async () => {
    await using gateway = await setup();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => gateway.post(submit("same"), `key-${index % 2}`)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ body }) => body["request_id"])).size).toBe(2);
    expect(await gateway.list()).toHaveLength(2);
  });

  test("gets its first answer also while nothing new is accepted", async () => {
    await using gateway = await setup();
    const first = await gateway.post(submit("one"), "key-1");
    gateway.agent.setConnectivity({ connected: false, detail: "gone" });
    expect((await gateway.post(submit("two"), "key-2")).status).toBe(503);
    const again = await gateway.post(submit("one"), "key-1");
    expect([again.status, again.body["request_id"]]).toEqual([202, first.body["request_id"]]);
  });

  test("is refused for another request, and for what is no key", async () => {
    await using gateway = await setup();
    await gateway.post(submit("one"), "key-1");
    expect(await gateway.post(submit("two"), "key-1")).toEqual({
      status: 409,
      body: { detail: "this idempotency key was used for another request" },
    });
    expect((await gateway.post({ kind: "interrupt" }, "key-1")).status).toBe(409);
    expect((await gateway.post(submit("one"), "no key")).status).toBe(422);
    expect((await gateway.post(submit("one"), "k".repeat(129))).status).toBe(422);
    expect(await gateway.list()).toHaveLength(1);
  });
});
