import { expect } from "bun:test";
import { checkChaos } from "../support/chaos/engine.ts";
import { turnsWorld } from "../support/chaos/turns.ts";
import { faultTest } from "../support/fault-table.ts";

const row = {
  area: "processes",
  fault:
    "Turns without a terminal lose their gateway, their bridge or both, or are interrupted, at random moments",
  outcome:
    "each turn has exactly one final state, which never changes; none runs twice; no tool is left alive",
  seen: "`completed`, `failed` or `interrupted` in the turn and in its request alike",
  recovery: "the next gateway finds a turn that still runs, and settles one whose bridge died",
} as const;

faultTest(
  "each turn has exactly one final state and none runs twice, whatever is killed",
  row,
  async () => {
    const { figures } = await checkChaos(turnsWorld, { rounds: 60 });
    expect(Object.keys(figures)).toEqual(expect.arrayContaining(["completed", "failed", "interrupted"]));
  },
  600_000,
);
