import { expect, test } from "bun:test";
import fc from "fast-check";
import { createFilesystemMail } from "../support/filesystem-mail.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { inProcess, json } from "../support/http-surface.ts";

const mark = "mark-7c41";
const odd = fc
  .constantFrom("", "@", "@svc.localhost", "@other.example", "/", "..", " ", "\u0000", "filesystem:", ":")
  .chain((one) => fc.constantFrom(`${mark}${one}`, `${one}${mark}`, `${one}${mark}${one}`));

const message = { subject: "hello", body_content: "text" };
const places: { path: string; body: (text: string) => object }[] = [
  { path: "send", body: (text) => ({ ...message, to: [text] }) },
  { path: "send", body: (text) => ({ ...message, to: ["other@svc.localhost"], cc: [text] }) },
  { path: "reply", body: (text) => ({ message_ref: text, body_content: "text" }) },
  ...["peek", "read"].map((path) => ({ path, body: (text: string) => ({ message_ref: text }) })),
  { path: "list", body: (text) => ({ box: text }) },
  { path: "list", body: (text) => ({ since: text }) },
  { path: "list", body: (text) => ({ cursor: text }) },
  { path: "list", body: (text) => ({ query: text, cursor: text }) },
  { path: "mark", body: (text) => ({ message_refs: [text], read: true }) },
  { path: "move", body: (text) => ({ message_refs: [text], destination_box: text }) },
  { path: "archive", body: (text) => ({ message_refs: [text] }) },
];

test("a refusal of mail repeats nothing of what was sent", async () => {
  using mail = createFilesystemMail({ rings: false });
  await using bundle = createGatewayBundle({ mail });
  await using http = inProcess((request) => bundle.app.fetch(request));
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...places), odd, async ({ path, body }, text) => {
      const reply = await http.request(`/v1/mail/${path}`, json(body(text)));
      if (reply.status < 400) return;
      refused += 1;
      expect(await reply.text()).not.toContain(mark);
    }),
    { numRuns: 300, seed: 20_261_123 },
  );
  expect(refused).toBeGreaterThan(100);
});
