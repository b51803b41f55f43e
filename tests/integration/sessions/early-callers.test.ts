import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { loadGatewayExtensions } from "../../../src/cli/extensions.ts";
import { createGateway } from "../../../src/cli/gateway/gateway.ts";
import { gatewayEndpoints } from "../../../src/protocol/endpoints.ts";
import { launchAgent } from "../../../src/services/sessions/launch.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import type { HttpServer } from "../../../src/system/http-server.ts";
import { createSystem } from "../../../src/system/system.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createSessionFixture } from "../../support/session-fixture.ts";

const asked = {
  health: gatewayEndpoints.health.path,
  status: gatewayEndpoints.status.path,
  requests: gatewayEndpoints.listRequests.path,
  reminders: gatewayEndpoints.listReminders.path,
  notifier: gatewayEndpoints.readNotifier.path,
  document: "/openapi.json",
  nothing: "/v1/nothing",
};

const createExtensions = await loadGatewayExtensions();
const listener = { host: "127.0.0.1", port: 0, token: null };

test("a start that fails after it listened leaves nothing behind that says otherwise", async () => {
  await using fixture = await createSessionFixture();
  const { sessionRoot } = await launchAgent(fixture.deps, fixture.request());
  const system = createSystem();
  const heard: HttpServer[] = [];
  const early: (Response | Promise<Response>)[] = [];
  const facts = {
    ...listener,
    sessionRoot,
    profiles: [],
    env: fixture.deps.env,
    extensions: createExtensions(),
  };
  const failing = createGateway({
    ...facts,
    system: {
      ...system,
      files: {
        ...system.files,
        write(label, ...rest) {
          if (label === "file:pid") throw new Error("no such luck");
          system.files.write(label, ...rest);
        },
      },
      network: {
        ...system.network,
        listen(options) {
          const server = system.network.listen(options);
          heard.push(server);
          early.push(options.fetch(new Request(`http://127.0.0.1:${server.port}${asked.reminders}`)));
          return server;
        },
      },
    },
  });
  expect(await awaitOutcome(failing.start())).toThrow("no such luck");
  const [server, reply] = [heard[0], await early[0]];
  expect([200, 503]).toContain(reply?.status ?? 0);
  expect(await awaitOutcome(fetch(`http://127.0.0.1:${server?.port}${asked.health}`))).toThrow();
  const { currentInstance } = sessionPaths(sessionRoot);
  expect(existsSync(currentInstance)).toBe(false);

  const gateway = createGateway({ ...facts, system });
  const { baseUrl } = await gateway.start();
  expect((await fetch(`${baseUrl}${asked.health}`)).status).toBe(200);
  await gateway.stop();
});

test("callers of the first moment are answered as later ones are", async () => {
  await using fixture = await createSessionFixture();
  const session = await launchAgent(fixture.deps, fixture.request());
  const system = createSystem();
  const early: Promise<[string, number]>[] = [];
  const gateway = createGateway({
    system: {
      ...system,
      network: {
        ...system.network,
        // As if they had waited for the socket.
        listen(options) {
          const server = system.network.listen(options);
          for (const [name, path] of Object.entries(asked)) {
            const reply = options.fetch(new Request(`http://127.0.0.1:${server.port}${path}`));
            early.push(Promise.resolve(reply).then(({ status }) => [name, status]));
          }
          return server;
        },
      },
    },
    sessionRoot: session.sessionRoot,
    ...listener,
    profiles: [],
    env: fixture.deps.env,
    extensions: createExtensions(),
  });
  const { baseUrl } = await gateway.start();
  try {
    const later = Object.entries(asked).map(
      async ([name, path]) => [name, (await fetch(`${baseUrl}${path}`)).status] as const,
    );
    expect(Object.fromEntries(await Promise.all(early))).toEqual(
      Object.fromEntries(await Promise.all(later)),
    );
    expect(Object.fromEntries(await Promise.all(early))).toEqual({
      health: 200,
      status: 200,
      requests: 200,
      reminders: 200,
      notifier: 200,
      document: 200,
      nothing: 404,
    });
  } finally {
    await gateway.stop();
  }
});
