import { expect, test } from "bun:test";
import { challengeAnswerHeader, challengeHeader } from "../../../src/protocol/wire.ts";
import { deferredApp } from "../../../src/routes/http/deferred-app.ts";
import { callerGuards, hostRule } from "../../../src/routes/http/gate.ts";

const health = { path: "/health", body: () => ({ status: "ok" }) };

function setUp(options: { health?: typeof health | null } = {}) {
  const whole = Promise.withResolvers<(request: Request) => Response>();
  let asked = 0;
  const { fetch: serve, complete } = deferredApp({
    guards: callerGuards({
      allowsHost: hostRule("127.0.0.1"),
      allowedOrigins: ["http://page.test"],
      answerChallenge: (challenge) => `answer to ${challenge}`,
    }),
    health: options.health === undefined ? health : options.health,
    load: () => {
      asked += 1;
      return whole.promise;
    },
  });
  const request = (method: string, path: string, headers: Record<string, string> = {}) =>
    serve(new Request(`http://127.0.0.1:1${path}`, { method, headers }));
  const ask = async (method: string, path: string) => (await request(method, path)).text();
  return { whole, serve, complete, request, ask, asked: () => asked };
}

/** Whether a promise has settled once everything that was under way has been. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

test("whether the server runs is answered at once, without a token", async () => {
  const { request, asked } = setUp();
  const response = await request("GET", "/health");
  expect(response.headers.get("content-type")).toBe("application/json;charset=utf-8");
  expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  expect(asked()).toBe(0);
});

test("that answer has what the gate adds to it", async () => {
  const { headers } = await setUp().request("GET", "/health", {
    [challengeHeader]: "one",
    origin: "http://page.test",
  });
  expect(headers.get(challengeAnswerHeader)).toBe("answer to one");
  expect(headers.get("access-control-allow-origin")).toBe("http://page.test");
});

test.each([
  ["another host", { host: "elsewhere.test" }, 421],
  ["the page of another origin", { origin: "http://elsewhere.test" }, 403],
])("%s is refused as it is later", async (_what, headers, status) => {
  const response = await setUp().request("GET", "/health", headers);
  expect(response.status).toBe(status);
  expect(await response.json()).toEqual({ detail: expect.any(String) });
});

test.each([
  ["GET", "/v1/mail/status"],
  ["GET", "/v1/status"],
  ["PUT", "/health"],
  ["GET", "/health/"],
])("%s %s waits for the app with all routes", async (method, path) => {
  const { whole, ask } = setUp();
  const reply = ask(method, path);
  expect(await settled(reply)).toBe(false);
  whole.resolve(() => new Response("whole"));
  expect(await reply).toBe("whole");
});

test("where the app alone may answer, health waits for it too", async () => {
  const { whole, ask } = setUp({ health: null });
  const reply = ask("GET", "/health");
  expect(await settled(reply)).toBe(false);
  whole.resolve(() => new Response("whole"));
  expect(await reply).toBe("whole");
});

test("once there, that app answers all", async () => {
  const { whole, ask, asked } = setUp();
  whole.resolve(() => new Response("whole"));
  expect(await ask("GET", "/v1/mail/status")).toBe("whole");
  expect(await ask("GET", "/health")).toBe("whole");
  expect(asked()).toBe(1);
});

test("it is asked for without a caller too, and answers all then", async () => {
  const { whole, complete, ask } = setUp();
  whole.resolve(() => new Response("whole"));
  await complete();
  expect(await ask("GET", "/health")).toBe("whole");
});

test("a caller that waits for an app that cannot be had is refused, and not given the reason", async () => {
  const { whole, serve, complete } = setUp();
  const reply = serve(new Request("http://127.0.0.1:1/v1/mail/status"));
  whole.reject(new Error("secret"));
  const { status } = await reply;
  await expect(complete()).rejects.toThrow("secret");
  expect([status, await (await reply).json()]).toEqual([503, { detail: "this server could not start" }]);
});
