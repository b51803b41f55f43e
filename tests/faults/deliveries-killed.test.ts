import { describe, expect, test } from "bun:test";
import { runDeliveryCrash } from "../support/delivery-crash.ts";

describe("deliveries of a server that is killed", () => {
  test("none of 300 items is missed through five kills, and what comes twice has one id", async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const { wrong, figures } = await runDeliveryCrash({ items: 300, kills: 5, seed, longestLifeMs: 150 });
    expect({ seed, wrong }).toEqual({ seed, wrong: [] });
    expect(figures.received).toBeGreaterThanOrEqual(300);
  }, 60_000);

  test("at each of its writes: nothing is missed, nothing is new", async () => {
    const labels = ["sql:migrate", "sql:delivery-enqueue", "sql:delivery-begin", "sql:delivery-settle"];
    const at = labels.flatMap((label) =>
      (["before", "after"] as const).map((when) => ({ label, when, nth: 1 })),
    );
    const { wrong, figures } = await runDeliveryCrash({ items: 60, kills: 0, seed: 7, longestLifeMs: 0, at });
    expect([wrong, figures.kills]).toEqual([[], at.length]);
  }, 60_000);
});
