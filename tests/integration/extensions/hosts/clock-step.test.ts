import { afterEach, expect, setSystemTime, test } from "bun:test";
import { readFileSync } from "node:fs";
import { operateBus } from "../../../../src/services/extensions/hosts/nats-bus.ts";
import { createClock } from "../../../../src/system/clock.ts";
import { createIds } from "../../../../src/system/ids.ts";
import { startBus } from "../../../support/bus.ts";
import { createScratch } from "../../../support/scratch.ts";
import { until } from "../../../support/until.ts";

afterEach(() => void setSystemTime());

test("a connection that ends comes back though the wall clock went back by hours", async () => {
  using scratch = createScratch();
  await using bus = await startBus(scratch.path("bus"), []);
  const operator = await operateBus({
    clock: createClock(),
    ids: createIds(),
    log: () => {},
    address: {
      url: bus.url,
      fleet: bus.fleet,
      authorities: null,
      credentials: readFileSync(bus.operatorKey, "utf8"),
    },
  });
  setSystemTime(Date.now() - 3 * 3_600_000);
  await bus.restart();
  const isBack = async () => (await operator.carriers({ probe: false }))[0]?.reconnects === 1;
  await until("the operator to be connected again", isBack, 15_000).finally(() => operator.stop());
  expect(await isBack()).toBe(true);
}, 30_000);
