import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { busNames, deleteHosts, proveKey } from "../../../../src/services/extensions/hosts/nats-bus.ts";
import { createClock } from "../../../../src/system/clock.ts";
import { createIds } from "../../../../src/system/ids.ts";
import { awaitOutcome } from "../../../support/await-outcome.ts";
import { type Bus, startBus } from "../../../support/bus.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createScratch } from "../../../support/scratch.ts";

const names = busNames("svc");
const share = [`KV_${names.bucket("build-1")}`, names.mailStream("build-1")];

/** A bus with what it keeps of a host that was revoked. */
async function withRevokedHost(folder: string) {
  const bus = await startBus(folder, ["build-1"]);
  const seed = new TextEncoder().encode(readFileSync(bus.operatorKey, "utf8").trim());
  const operator = await connect({
    servers: bus.url,
    authenticator: nkeyAuthenticator(seed),
    inboxPrefix: names.inbox("operator"),
  });
  const { streams } = await jetstreamManager(operator);
  await streams.add({
    name: share[0] ?? "",
    subjects: [`$KV.${names.bucket("build-1")}.>`],
    allow_rollup_hdrs: true,
  });
  await streams.add({ name: share[1] ?? "", subjects: [names.mail("build-1", "*")] });
  bus.revoke("build-1");
  return {
    bus,
    operator,
    kept: async () => (await streams.list().next()).map(({ config }) => config.name).sort(),
  };
}

/** A way to the bus that ends its first connections at once. */
async function openBrokenLine(bus: Bus, brokenConnections: number) {
  const { port } = new URL(bus.url);
  let connections = 0;
  const server = createServer((near) => {
    connections += 1;
    if (connections <= brokenConnections) {
      near.destroy();
      return;
    }
    const far = connectSocket({ host: "127.0.0.1", port: Number(port) });
    near.on("error", () => far.destroy()).pipe(far);
    far.on("error", () => near.destroy()).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `nats://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`,
    connections: () => connections,
    [Symbol.dispose]: () => void server.close(),
  };
}

const requestOf = (url: string, keyFile: string) => ({
  clock: createClock(),
  ids: createIds(),
  address: { url, fleet: "svc", authorities: null, credentials: readFileSync(keyFile, "utf8") },
});

test("what a revoked host left is deleted by a later attempt when the server broke the first ones", async () => {
  await using stack = new AsyncDisposableStack();
  const { folder } = stack.use(createScratch());
  const { bus, operator, kept } = await withRevokedHost(folder);
  stack.use(bus);
  stack.defer(() => operator.close());
  using dead = await openBrokenLine(bus, Number.POSITIVE_INFINITY);
  expect(
    await awaitOutcome(deleteHosts({ ...requestOf(dead.url, bus.operatorKey), hosts: ["build-1"] })),
  ).toThrow(dead.url);
  expect(await kept()).toEqual(share);

  using line = await openBrokenLine(bus, 2);
  await deleteHosts({ ...requestOf(line.url, bus.operatorKey), hosts: ["build-1"] });
  expect([line.connections(), await kept()]).toEqual([3, []]);
  await deleteHosts({ ...requestOf(bus.url, bus.operatorKey), hosts: ["build-1"] });
}, 60_000);

test("only the server's refusal of the key proves a revocation", async () => {
  await using stack = new AsyncDisposableStack();
  const { folder } = stack.use(createScratch());
  const bus = stack.use(await startBus(folder, ["build-1", "build-2"]));
  bus.revoke("build-1");
  const revoked = bus.keyOf("build-1");
  expect(await proveKey(requestOf(bus.url, revoked), "refused")).toBeNull();
  expect(await proveKey(requestOf(bus.url, bus.keyOf("build-2")), "accepted")).toBeNull();

  /** What is said once the time to prove it has passed. */
  async function finalFault(url: string, keyFile: string, wanted: "accepted" | "refused") {
    const clock = createFakeClock();
    const proof = proveKey({ ...requestOf(url, keyFile), clock }, wanted);
    let isOver = false;
    const end = proof.finally(() => {
      isOver = true;
    });
    // Between two attempts it rests.
    while (!isOver) {
      await Promise.race([end, clock.atRest()]);
      await clock.advance(1000);
    }
    return end;
  }
  expect(await finalFault(bus.url, bus.keyOf("build-2"), "refused")).toBe("the server accepted the key");
  using dead = await openBrokenLine(bus, Number.POSITIVE_INFINITY);
  expect(await finalFault(dead.url, revoked, "refused")).toContain(dead.url);
}, 60_000);
