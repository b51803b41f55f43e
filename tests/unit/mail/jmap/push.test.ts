import { expect, test } from "bun:test";
import { watchArrivals } from "../../../../src/services/mail/jmap/changes.ts";
import type { JmapClient } from "../../../../src/services/mail/jmap/client.ts";
import { ServiceError } from "../../../../src/system/errors.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

test("a server that fails is reported once for each distinct failure, and its return notifies", async () => {
  const clock = createFakeClock();
  const faults: string[] = [];
  let rings = 0;
  let calls = 0;
  let failure: string | null = "nothing listens";
  const client: Pick<JmapClient, "call" | "openEvents"> = {
    openEvents: async () => null,
    async call() {
      calls += 1;
      if (failure !== null) throw new ServiceError("transport_failed", failure);
      return {
        of: () => ({ state: "1", newState: "1", created: [], hasMoreChanges: false }) as never,
        has: () => true,
      };
    },
  };
  const end = watchArrivals({
    client: client as JmapClient,
    clock,
    pollMs: 5000,
    notify: () => {
      rings += 1;
    },
    onFault: (why) => void faults.push(why),
  });
  await clock.advance(10_000);
  expect(calls).toBeGreaterThan(2);
  expect(faults).toEqual(["nothing listens"]);
  failure = "the login was refused";
  await clock.advance(60_000);
  expect(faults).toEqual(["nothing listens", "the login was refused"]);
  expect(rings).toBe(0);
  failure = null;
  await clock.advance(60_000);
  expect(rings).toBe(1);
  failure = "nothing listens";
  await clock.advance(60_000);
  expect(faults).toEqual(["nothing listens", "the login was refused", "nothing listens"]);
  end();
});
