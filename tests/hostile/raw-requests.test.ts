import { describe, expect, test } from "bun:test";
import type { Diagnostic } from "../../src/services/diagnostics/diagnostic-log.ts";
import { createClock } from "../../src/system/clock.ts";
import { listen } from "../../src/system/http-server.ts";
import { faultTest } from "../support/fault-table.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { openRawLine } from "./raw-line.ts";

const token = "right";

/** A gateway behind a real listener that keeps diagnostics of every request, as a configured one does. */
function setup() {
  const diagnostics: Diagnostic[] = [];
  const bundle = createGatewayBundle({ token, diagnostics: (one) => void diagnostics.push(one) });
  const server = listen({ fetch: bundle.fetch, host: "127.0.0.1", port: 0, clock: createClock() });
  return {
    ...bundle,
    port: server.port,
    async [Symbol.asyncDispose]() {
      await server.stop(0);
      await bundle[Symbol.asyncDispose]();
    },
  };
}

const host = "Host: 127.0.0.1\r\n";
const known = `${host}Authorization: Bearer ${token}\r\n`;
const typed = `${known}Content-Type: application/json\r\n`;
const interrupt = '{"kind":"interrupt"}';
const post = (headers: string, body = "") => `POST /v1/requests HTTP/1.1\r\n${typed}${headers}\r\n${body}`;
const get = (path: string, headers: string) => `GET ${path} HTTP/1.1\r\n${headers}\r\n`;

/** `closed`: the line is cut without an answer. */
const cases: { id: string; bytes: string; want: number | "closed" }[] = [
  { id: "no host", bytes: get("/health", ""), want: 400 },
  { id: "no host in HTTP/1.0", bytes: "GET /health HTTP/1.0\r\n\r\n", want: 421 },
  { id: "an empty host", bytes: get("/health", "Host: \r\n"), want: 421 },
  { id: "a second host, foreign", bytes: get("/health", `${host}Host: evil.example\r\n`), want: 421 },
  { id: "a second host, ours", bytes: get("/health", `Host: evil.example\r\n${host}`), want: 421 },
  { id: "a name before ours", bytes: get("/health", "Host: evil.example@127.0.0.1\r\n"), want: 421 },
  { id: "a name behind ours", bytes: get("/health", "Host: 127.0.0.1.evil.example\r\n"), want: 421 },
  { id: "a dot behind localhost", bytes: get("/health", "Host: localhost.\r\n"), want: 421 },
  { id: "our address in another form", bytes: get("/health", "Host: 2130706433\r\n"), want: 421 },
  { id: "localhost and a port", bytes: get("/health", "Host: LOCALHOST:1\r\n"), want: 200 },
  { id: "the IPv6 loopback and a port", bytes: get("/health", "Host: [::1]:9\r\n"), want: 200 },
  { id: "another IPv6 address", bytes: get("/health", "Host: [fe80::1]\r\n"), want: 421 },
  { id: "a port that no host has", bytes: get("/health", "Host: 127.0.0.1:65536\r\n"), want: 421 },
  {
    id: "a whole URL of a foreign host, our host beside it",
    bytes: get("http://evil.example/v1/status", host),
    want: 401,
  },
  {
    id: "our URL, a foreign host",
    bytes: get("http://127.0.0.1/health", "Host: evil.example\r\n"),
    want: 421,
  },
  { id: "dots from the open route to another", bytes: get("/health/../v1/status", host), want: 401 },
  { id: "dots, encoded, to another", bytes: get("/health/%2e%2e/v1/status", host), want: 401 },
  { id: "backslashes", bytes: get("/health\\..\\v1\\status", host), want: 401 },
  { id: "the open route as a query", bytes: get("/v1/status?/health", host), want: 401 },
  { id: "the open route as a fragment", bytes: get("/v1/status#/health", host), want: 401 },
  { id: "an encoded slash in an id", bytes: get("/v1/requests/..%2f..%2fhealth", host), want: 401 },
  { id: "a path that cannot be decoded", bytes: get("/v1/requests/%ff", known), want: 404 },
  { id: "a null byte in the path", bytes: get("/v1/requests/a\0b", known), want: 505 },
  { id: "the scheme Basic", bytes: get("/v1/status", `${host}Authorization: Basic cmlnaHQ=\r\n`), want: 401 },
  { id: "an empty token", bytes: get("/v1/status", `${host}Authorization: Bearer \r\n`), want: 401 },
  {
    id: "the token's beginning",
    bytes: get("/v1/status", `${host}Authorization: Bearer righ\r\n`),
    want: 401,
  },
  { id: "the token twice", bytes: get("/v1/status", `${known}Authorization: Bearer right\r\n`), want: 401 },
  { id: "the token in the query", bytes: get("/v1/status?token=right", host), want: 401 },
  { id: "the method *", bytes: `OPTIONS * HTTP/1.1\r\n${known}\r\n`, want: 400 },
  { id: "CONNECT", bytes: `CONNECT evil.example:80 HTTP/1.1\r\n${known}\r\n`, want: 404 },
  { id: "TRACE", bytes: `TRACE /v1/status HTTP/1.1\r\n${known}\r\n`, want: 405 },
  { id: "a method that does not exist", bytes: `FROB /v1/status HTTP/1.1\r\n${known}\r\n`, want: "closed" },
  { id: "HTTP/9.9", bytes: `GET /health HTTP/9.9\r\n${host}\r\n`, want: 505 },
  { id: "TLS", bytes: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", want: 400 },
  { id: "two lengths", bytes: post("Content-Length: 20\r\nContent-Length: 5\r\n", interrupt), want: 400 },
  {
    id: "a length and chunks",
    bytes: post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", `14\r\n${interrupt}\r\n0\r\n\r\n`),
    want: 400,
  },
  {
    id: "two encodings",
    bytes: post(
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
      `14\r\n${interrupt}\r\n0\r\n\r\n`,
    ),
    want: 400,
  },
  { id: "a negative length", bytes: post("Content-Length: -1\r\n"), want: 400 },
  { id: "a signed length", bytes: post("Content-Length: +20\r\n", interrupt), want: 400 },
  {
    id: "a length beyond all numbers",
    bytes: post("Content-Length: 99999999999999999999999\r\n"),
    want: 400,
  },
  { id: "chunks of no size", bytes: post("Transfer-Encoding: chunked\r\n", "zz\r\n"), want: 400 },
  {
    id: "a chunk beyond all numbers",
    bytes: post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\n"),
    want: 400,
  },
  { id: "a header of 40 KB", bytes: get("/health", `${host}X: ${"a".repeat(40_000)}\r\n`), want: 431 },
  {
    id: "300 headers",
    bytes: get("/health", host + Array.from({ length: 300 }, (_, nth) => `X${nth}: a\r\n`).join("")),
    want: 431,
  },
  { id: "a path of 40 KB", bytes: get(`/${"a".repeat(40_000)}`, host), want: 431 },
  { id: "a header over two lines", bytes: get("/health", `${host} evil\r\n`), want: 400 },
  { id: "a blank before the colon", bytes: get("/health", "Host : 127.0.0.1\r\n"), want: 400 },
];

describe("bytes that are no request of ours", () => {
  test.each(cases)("$id: $want", async ({ bytes, want }) => {
    await using gateway = setup();
    using line = await openRawLine(gateway.port);
    line.send(bytes);
    const { heard, closed } = await line.until((text) => /^HTTP\/1\.1 \d{3} .*\r\n\r\n/s.test(text));
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(heard)?.[1] ?? 0);
    expect(want === "closed" ? closed && heard === "" : status).toBe(want === "closed" ? true : want);
    expect([gateway.faults, gateway.queue.depth(), gateway.agent.interrupts]).toEqual([[], 0, 0]);
    expect((await fetch(`http://127.0.0.1:${gateway.port}/health`)).status).toBe(200);
  });

  test("a second request hidden in the body of a first is not carried out", async () => {
    await using gateway = setup();
    using line = await openRawLine(gateway.port);
    const hidden = post("Content-Length: 20\r\n", interrupt);
    line.send(`GET /health HTTP/1.1\r\n${host}Content-Length: ${hidden.length}\r\n\r\n${hidden}`);
    line.send(get("/health", host));
    const { heard } = await line.until((text) => text.split('"status":"ok"').length === 3);
    expect(heard.match(/HTTP\/1\.1 \d{3}/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
    expect(gateway.queue.depth() + gateway.agent.interrupts).toBe(0);
  });
});

faultTest(
  "hundreds of half requests and stalled bodies keep nobody else from being served",
  {
    area: "callers",
    fault: "Clients open connections, send half a request or half a body, and wait",
    outcome:
      "others are served; half a request is cut off after 12 s of silence, half a body after four minutes",
    seen: "nothing, or a closed connection",
    recovery: "by itself",
  },
  async () => {
    await using gateway = setup();
    const halves = [
      "",
      "GET /hea",
      `GET /health HTTP/1.1\r\nHo`,
      post("Content-Length: 20\r\n", '{"kind"'),
      post("Transfer-Encoding: chunked\r\n", "14\r\n{"),
    ];
    const lines = await Promise.all(Array.from({ length: 400 }, () => openRawLine(gateway.port)));
    for (const [nth, line] of lines.entries()) line.send(halves[nth % halves.length] ?? "");
    const ask = () =>
      fetch(`http://127.0.0.1:${gateway.port}/v1/status`, { headers: { authorization: `Bearer ${token}` } });
    expect((await Promise.all(Array.from({ length: 50 }, ask))).every(({ status }) => status === 200)).toBe(
      true,
    );
    // What was begun can still be ended.
    lines[3]?.send(`${":"}"interrupt"}`);
    expect((await lines[3]?.until((text) => text.includes("gwreq-")))?.heard).toStartWith("HTTP/1.1 202");
    for (const line of lines) line[Symbol.dispose]();
    expect((await ask()).status).toBe(200);
  },
);
