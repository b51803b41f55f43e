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
  const faults: unknown[] = [];
  const serve = deferredApp(
    core,
    () => {
      asked += 1;
      return whole.promise;
    },
    (error) => faults.push(error),
  );
  const ask = async (method: string, path: string) =>
    (await serve(new Request(`http://127.0.0.1:1${path}`, { method }))).text();
  return { whole, serve, ask, asked: () => asked, faults };
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
  expect(await ask("GET", "/health?all=1")).toBe("core");
  expect(await ask("GET", "/health/")).toBe("core");
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

test("a caller that waits for an app that cannot be had is refused, and not given the reason", async () => {
  const { whole, serve, faults } = setUp();
  const reply = serve(new Request("http://127.0.0.1:1/v1/mail/status"));
  whole.reject(new Error("secret"));
  const { status } = await reply;
  expect([status, await (await reply).json()]).toEqual([
    503,
    { detail: "the server could not load what answers this; ask again" },
  ]);
  expect(faults).toEqual([new Error("secret")]);
});

test("the next caller asks again for an app that could not be had", async () => {
  let tries = 0;
  const serve = deferredApp(
    { routes: [], fetch: () => new Response("core") },
    async () => {
      tries += 1;
      if (tries === 1) throw new Error("the disk is full");
      return () => new Response("whole");
    },
    () => {},
  );
  const ask = async () => (await serve(new Request("http://127.0.0.1:1/v1/mail/status"))).status;
  expect([await ask(), await ask()]).toEqual([503, 200]);
});
