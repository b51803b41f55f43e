import { expect, test } from "bun:test";
import { deferredApp } from "../../../src/routes/http/deferred-app.ts";

function setUp() {
  const whole = Promise.withResolvers<(request: Request) => Response>();
  const core = {
    routes: [
      { method: "GET", path: "/health" },
      { method: "GET", path: "/v1/requests/:request_id" },
    ],
    fetch: () => new Response("core"),
  };
  let asked = 0;
  const { fetch: serve, complete } = deferredApp(core, () => {
    asked += 1;
    return whole.promise;
  });
  const ask = async (method: string, path: string) =>
    (await serve(new Request(`http://127.0.0.1:1${path}`, { method }))).text();
  return { whole, serve, complete, ask, asked: () => asked };
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

test("what the core has a route for is answered at once", async () => {
  const { ask, asked } = setUp();
  expect(await ask("GET", "/health")).toBe("core");
  expect(await ask("GET", "/v1/requests/gwreq-1")).toBe("core");
  expect(asked()).toBe(0);
});

test.each([
  ["GET", "/v1/mail/status"],
  ["PUT", "/health"],
  ["GET", "/v1/requests/"],
])("%s %s waits for the app that knows all routes", async (method, path) => {
  const { whole, ask } = setUp();
  const reply = ask(method, path);
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
