import { describe, expect, test } from "bun:test";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { surfaces } from "../support/http-surface.ts";
import { malformedBytes, notUtf8 } from "../support/not-utf8.ts";

const submission = { kind: "submit_prompt", payload: { prompt: "hello" } };
const prompt = (json: string) =>
  `{"kind":"submit_prompt","payload":{"delivery":"immediate","prompt":${json}}}`;

describe.each(surfaces)("the text of a body $surface", ({ open }) => {
  async function submit(body: BodyInit, path = "/v1/requests") {
    await using bundle = createGatewayBundle();
    await using http = open((request) => bundle.app.fetch(request));
    const headers = { "content-type": "application/json" };
    const reply = await http.request(path, { method: "POST", headers, body });
    return {
      status: reply.status,
      body: (await reply.json()) as { detail?: unknown },
      stored: bundle.queue.list({ limit: 10 }).length,
    };
  }
  const invalid = (msg: string) => [{ type: "json_invalid", loc: ["body"], msg }];

  test.each(Object.entries(malformedBytes))("with %s is 422 and stores nothing", async (_, bytes) => {
    const { status, body, stored } = await submit(notUtf8(submission, bytes));
    expect([status, body.detail, stored]).toEqual([422, invalid("the body is not valid UTF-8"), 0]);
  });

  test.each(['"\\ud800"', '"a\\uDFFFb"', '"\\ude00\\ud83d"', '"\\ud83d\\ud83d\\ude00"'])(
    "with the escapes %s is 422 and stores nothing",
    async (json) => {
      const { status, body, stored } = await submit(prompt(json));
      const why = "a string of the body holds half of a surrogate pair";
      expect([status, body.detail, stored]).toEqual([422, invalid(why), 0]);
    },
  );

  test.each([
    '{"toString":-1}',
    '[{"toString":{}}]',
    '{"\\u0074oString":[]}',
    '[[[{"valueOf":1,"toString":1}]]]',
  ])("with %s for a string is 422 and stores nothing", async (json) => {
    const text = `{"schema_version":2,"prompt":${json}}`;
    const { status, body, stored } = await submit(text, "/v1/control/prompt");
    const wrong = expect.objectContaining({ loc: ["body", "prompt"] });
    expect([status, body.detail, stored]).toEqual([422, [wrong], 0]);
  });

  test("in chunks that part a character is read whole, and a mark at its start is no part of it", async () => {
    const bytes = new TextEncoder().encode(`\ufeff${prompt('"\\ud83d\\ude00 \u{1f600} \u00e9 \\\\ud800"')}`);
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    expect((await submit(chunks)).status).toBe(202);
  });

  test("in chunks that is not UTF-8 is 422", async () => {
    const bytes = notUtf8(submission);
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, 40));
        controller.enqueue(bytes.slice(40));
        controller.close();
      },
    });
    expect((await submit(chunks)).status).toBe(422);
  });
});
