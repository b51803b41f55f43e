import { describe, expect } from "bun:test";
import { createDeliveriesWorld } from "../support/chaos/deliveries.ts";
import { checkChaos } from "../support/chaos/engine.ts";
import { faultTest } from "../support/fault-table.ts";

describe("deliveries of a server that is killed", () => {
  const random = {
    area: "processes",
    fault: "The server that delivers to the outside is killed at random moments, while items appear",
    outcome: "each item that waits is delivered; what comes twice has the same id",
    seen: "the receiver may get a delivery again, with the id that it has seen",
    recovery: "the next server on the same files goes on, and finds what appeared meanwhile",
  } as const;
  faultTest(
    "none of 300 items is missed through five kills, and what comes twice has one id",
    random,
    async () => {
      const { figures } = await checkChaos(createDeliveriesWorld(), { items: 300, rounds: 5 });
      expect(figures["received"]).toBeGreaterThanOrEqual(300);
    },
    120_000,
  );

  const writes = { ...random, fault: "The same, immediately before and after each write of its outbox" };
  faultTest(
    "at each of its writes: nothing is missed, nothing is new",
    writes,
    async () => {
      const labels = ["sql:migrate", "sql:delivery-enqueue", "sql:delivery-begin", "sql:delivery-settle"];
      const at = labels.flatMap((label) =>
        (["before", "after"] as const).map((when) => ({ label, when, nth: 1 })),
      );
      const { figures } = await checkChaos(createDeliveriesWorld(at), { items: 60, rounds: 0 });
      expect(figures["deaths_at_steps"]).toBe(at.length);
    },
    120_000,
  );
});
