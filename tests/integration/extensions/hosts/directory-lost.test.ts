import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { busNames, operateBus } from "../../../../src/services/extensions/hosts/nats-bus.ts";
import { createClock } from "../../../../src/system/clock.ts";
import { createIds } from "../../../../src/system/ids.ts";
import { startBus } from "../../../support/bus.ts";
import { openFaultyLine } from "../../../support/faulty-line.ts";
import { createScratch } from "../../../support/scratch.ts";
import { until } from "../../../support/until.ts";

const names = busNames("svc");

async function connectAs(name: string, url: string, keyFile: string) {
  const seed = new TextEncoder().encode(readFileSync(keyFile, "utf8").trim());
  return connect({ servers: url, authenticator: nkeyAuthenticator(seed), inboxPrefix: names.inbox(name) });
}

test("an operator whose directory cannot be opened after a reconnection opens it as soon as it can be", async () => {
  await using stack = new AsyncDisposableStack();
  const { folder } = stack.use(createScratch());
  const bus = stack.use(await startBus(folder, ["build-1"]));
  const line = stack.use(await openFaultyLine(Number(new URL(bus.url).port)));
  const said: string[] = [];
  const operator = await operateBus({
    clock: createClock(),
    ids: createIds(),
    log: (text) => void said.push(text),
    address: {
      url: `nats://127.0.0.1:${line.port}`,
      fleet: "svc",
      authorities: null,
      credentials: readFileSync(bus.operatorKey, "utf8"),
    },
  });
  stack.defer(() => operator.stop());
  const second = await connectAs("operator", bus.url, bus.operatorKey);
  stack.defer(() => second.close());
  const host = await connectAs("build-1", bus.url, bus.keyOf("build-1"));
  stack.defer(() => host.close());

  // Another stream has the subjects of the directory: it cannot be made, and the connection is well.
  const { streams } = await jetstreamManager(second);
  await streams.add({ name: "other", subjects: [`$KV.${names.bucket("build-1")}.>`] });
  line.cut();
  await until(
    "the reconnection",
    async () => (await operator.carriers({ probe: false }))[0]?.reconnects === 1,
  );
  await until("the fault to be reported", () => {
    // The first may come before the operator has subscribed again.
    host.publish(names.hello("build-1"));
    return said.some((text) => text.includes("overlap"));
  });
  const [carrier] = await operator.carriers({ probe: false });
  expect(carrier).toMatchObject({ connected: true, reconnects: 1 });
  await streams.delete("other");

  const record = {
    schema_version: 1,
    host: "build-1",
    instance: "aa".repeat(8),
    epoch: 1,
    heartbeat_ms: 1000,
    version: "1",
    agents: 0,
    at_utc: "2026-11-25T10:00:00.000+00:00",
  };
  await until(
    "the host to be live",
    async () => {
      host.publish(names.hello("build-1"));
      await host
        .request(`$KV.${names.bucket("build-1")}.build-1`, JSON.stringify(record), { timeout: 1000 })
        .catch(() => {});
      return operator.directory.hosts().some(({ state }) => state === "live");
    },
    30_000,
  );
  expect(said.filter((text) => text.includes("overlap"))).toHaveLength(1);
}, 60_000);
