import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";
import { deliveredItem, receiver, targetFixture, webhookSecret } from "../../../support/delivery-targets.ts";
import { until } from "../../../support/until.ts";

const headersOf = (headers: Headers) => Object.fromEntries(headers.entries());

describe("a webhook", () => {
  test("is verified by the library of Standard Webhooks, and has the delivery's id", async () => {
    using fixture = targetFixture();
    fixture.secret("secret", `${webhookSecret}\n`);
    await using hook = receiver();
    const rule = `webhook: { url: "${hook.url}/hook", secret_file: secret }`;
    expect(await fixture.send(rule)).toEqual({ ok: true, detail: "status 200", answer: "ok" });
    const [got] = hook.got;
    const body = new Webhook(webhookSecret).verify(got?.body ?? "", headersOf(got?.headers ?? new Headers()));
    expect(body).toEqual({
      type: "attention",
      timestamp: "2026-01-01T00:00:00.000+00:00",
      data: { delivery_id: "dlv_1", rule: "it", items: [deliveredItem()] },
    });
    expect([got?.path, got?.headers.get("webhook-id")]).toEqual(["/hook", "dlv_1"]);
    const other = new Webhook(`whsec_${Buffer.from("another key of thirty-two bytes..").toString("base64")}`);
    expect(() => other.verify(got?.body ?? "", headersOf(got?.headers ?? new Headers()))).toThrow();
    expect(() =>
      new Webhook(webhookSecret).verify(`${got?.body} `, headersOf(got?.headers ?? new Headers())),
    ).toThrow();
  });

  test.each([
    { status: 500, headers: {}, want: { error: "status 500", askedMs: null, forGood: false } },
    {
      status: 429,
      headers: { "retry-after": "120" },
      want: { error: "status 429", askedMs: 120_000, forGood: false },
    },
    {
      status: 503,
      headers: { "retry-after": "soon" },
      want: { error: "status 503", askedMs: null, forGood: false },
    },
    { status: 410, headers: {}, want: { error: "status 410", askedMs: null, forGood: true } },
  ])("that answers $status is not taken", async ({ status, headers, want }) => {
    using fixture = targetFixture();
    fixture.secret("secret", webhookSecret);
    await using hook = receiver(() => new Response(null, { status, headers: headers as HeadersInit }));
    expect(await fixture.send(`webhook: { url: "${hook.url}", secret_file: secret }`)).toMatchObject({
      ok: false,
      ...want,
    });
  });

  test("that nobody serves is named without its address", async () => {
    using fixture = targetFixture();
    fixture.secret("secret", webhookSecret);
    const sent = await fixture.send(`webhook: { url: "http://127.0.0.1:1/T0KEN/x", secret_file: secret }`);
    expect(sent).toMatchObject({ ok: false, error: expect.stringMatching(/^no connection \(\w+\)$/) });
  });
});

describe("an ntfy topic", () => {
  test("gets a document with title, message, priority and tags, and the token in its header", async () => {
    using fixture = targetFixture();
    fixture.secret("token", "tk_secret\n");
    await using server = receiver();
    const ntfy = `{ url: "${server.url}/alerts", priority: 4, tags: [robot], token_file: token }`;
    expect(await fixture.send(`ntfy: ${ntfy}`)).toMatchObject({ ok: true });
    const [got] = server.got;
    expect([got?.path, got?.headers.get("authorization")]).toEqual(["/", "Bearer tk_secret"]);
    expect(JSON.parse(got?.body ?? "")).toEqual({
      topic: "alerts",
      priority: 4,
      tags: ["robot"],
      title: '"worker" asks a question: Go on?',
      message: '"worker" asks a question: Go on?',
    });
  });

  test("gets several items in one message", async () => {
    using fixture = targetFixture();
    await using server = receiver();
    const items = [
      deliveredItem(),
      deliveredItem({ summary: "second", options: [{ answer: "1", label: "Yes" }] }),
    ];
    expect(await fixture.send(`ntfy: { url: "${server.url}/sub/alerts" }`, { items })).toMatchObject({
      ok: true,
    });
    expect(server.got[0]?.path).toBe("/sub/");
    expect(JSON.parse(server.got[0]?.body ?? "")).toEqual({
      topic: "alerts",
      title: "2 things wait for you",
      message: '"worker" asks a question: Go on?\nsecond\n  1. Yes',
    });
  });
});

describe("a command", () => {
  test("reads the delivery, and nothing of it is in its arguments or its environment but the id", async () => {
    using fixture = targetFixture({
      PATH: process.env["PATH"] ?? "",
      SVC_COORD_TOKEN: "hunter2",
      HOME: "/home/x",
    });
    const out = fixture.scratch.path("out");
    const script = `{ cat; echo "$@"; env; } > ${out}; echo thanks`;
    const rule = `command: { argv: [sh, -c, '${script}', sh, 'a $b; "c"'] }`;
    expect(await fixture.send(rule)).toEqual({ ok: true, detail: "exit status 0", answer: "thanks\n" });
    const [json = "", words, ...env] = readFileSync(out, "utf8").split("\n");
    expect(JSON.parse(json)).toMatchObject({ type: "attention", data: { delivery_id: "dlv_1" } });
    expect(words).toBe('a $b; "c"');
    expect(env).toContain("SVC_DELIVERY_ID=dlv_1");
    expect(env.join("\n")).not.toContain("hunter2");
    expect(env.join("\n")).not.toContain("Go on?");
  });

  test.each([
    {
      id: "that fails",
      argv: "[sh, -c, 'echo no >&2; exit 3']",
      want: { error: "exit status 3", answer: "no\n" },
    },
    { id: "that a signal ends", argv: "[sh, -c, 'kill -TERM $$']", want: { error: "signal SIGTERM" } },
    {
      id: "that is not there",
      argv: "[no-such-program-here]",
      want: { error: "the program cannot be started (ENOENT)" },
    },
  ])("$id is not taken", async ({ argv, want }) => {
    using fixture = targetFixture();
    expect(await fixture.send(`command: { argv: ${argv} }`)).toMatchObject({ ok: false, ...want });
  });

  test("that does not end is ended together with its children", async () => {
    using fixture = targetFixture();
    const file = fixture.scratch.path("pid");
    const rule = `command: { argv: [sh, -c, 'sleep 600 & echo $! > ${file}; wait'], timeout_seconds: 1 }`;
    expect(await fixture.send(rule)).toMatchObject({
      ok: false,
      error: "the program did not end within 1 s",
    });
    const pid = Number(readFileSync(file, "utf8"));
    await until(
      "the end of its child",
      () => !existsSync(`/proc/${pid}`) || readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z "),
    );
  });

  test("that prints without end is ended at its time limit, and little of it is kept", async () => {
    using fixture = targetFixture();
    const result = await fixture.send("command: { argv: [yes], timeout_seconds: 1 }");
    expect(result).toMatchObject({ ok: false, error: "the program did not end within 1 s" });
    expect(result.answer.length).toBe(4096);
  });

  test("that closes its input at once is taken by its exit status", async () => {
    using fixture = targetFixture();
    const items = [deliveredItem({ question: "x".repeat(2_000_000) })];
    expect(await fixture.send("command: { argv: ['true'] }", { items })).toMatchObject({ ok: true });
  });
});

describe("a server that means harm", () => {
  const rule = (url: string, more = "") => `webhook: { url: "${url}", secret_file: secret${more} }`;

  test.each([301, 302, 307, 308])("and redirects with %d is not followed", async (status) => {
    using fixture = targetFixture();
    fixture.secret("secret", webhookSecret);
    await using victim = receiver();
    await using hook = receiver(() => new Response(null, { status, headers: { location: victim.url } }));
    expect(await fixture.send(rule(hook.url))).toMatchObject({
      ok: false,
      error: `status ${status}: redirects are refused; give the final address`,
    });
    expect(victim.got).toEqual([]);
  });

  test("and answers without end costs neither memory nor time", async () => {
    using fixture = targetFixture();
    fixture.secret("secret", webhookSecret);
    const piece = new Uint8Array(65_536);
    await using hook = receiver(() => new Response(new ReadableStream({ pull: (to) => to.enqueue(piece) })));
    const result = await fixture.send(rule(hook.url));
    expect([result.ok, result.answer.length]).toEqual([true, 16_384]);
  });

  test("and begins an answer that never goes on is left at the time limit", async () => {
    using fixture = targetFixture();
    fixture.secret("secret", webhookSecret);
    await using hook = receiver(() => new Response(new ReadableStream({ start: (to) => to.enqueue("x") })));
    expect(await fixture.send(rule(hook.url, ", timeout_seconds: 1"))).toMatchObject({
      ok: false,
      error: "no answer within 1 s",
    });
  });

  test("and sends secrets back shows none", async () => {
    using fixture = targetFixture();
    fixture.secret("token", "tk_hunter2");
    await using server = receiver(
      ({ headers }) => new Response(headers.get("authorization"), { status: 401 }),
    );
    const result = await fixture.send(`ntfy: { url: "${server.url}/t", token_file: token }`);
    expect(result).toMatchObject({ ok: false, error: "status 401", answer: "Bearer ********" });
  });
});

test("what agents write reaches no header and no line of another item", async () => {
  using fixture = targetFixture();
  fixture.secret("secret", webhookSecret);
  await using server = receiver();
  const hostile = "x\r\nX-Planted: 1\n\u001b[2J\u202e\u0000end";
  const items = [deliveredItem({ agent: hostile, summary: hostile, question: hostile, evidence: [hostile] })];
  await fixture.send(`ntfy: { url: "${server.url}/t" }`, { items });
  await fixture.send(`webhook: { url: "${server.url}/h", secret_file: secret }`, { items });
  const [ntfy, hook] = server.got;
  expect([ntfy, hook].map((one) => one?.headers.get("x-planted"))).toEqual([null, null]);
  const { title, message } = JSON.parse(ntfy?.body ?? "") as { title: string; message: string };
  expect(title).not.toMatch(/[\p{Cc}\u202e]/u);
  expect(message.split("\n").length).toBe(2);
  expect(message.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
  // A program reads the text as it is.
  expect(JSON.parse(hook?.body ?? "").data.items[0].question).toBe(hostile);
});

test.each([
  { id: "can be read by others", mode: 0o644, text: webhookSecret, want: /mode 0600/ },
  { id: "is no key", mode: 0o600, text: "hunter2", want: /must hold base64 of 24 to 64 bytes/ },
])("nothing is sent with a secret that $id", async ({ mode, text, want }) => {
  using fixture = targetFixture();
  await using server = receiver();
  writeFileSync(fixture.scratch.path("secret"), text);
  chmodSync(fixture.scratch.path("secret"), mode);
  const result = await fixture.send(`webhook: { url: "${server.url}", secret_file: secret }`);
  expect(result).toMatchObject({ ok: false, error: expect.stringMatching(want) });
  expect(JSON.stringify(result)).not.toContain(text);
  expect(server.got).toEqual([]);
});
