import { expect } from "bun:test";
import { checkChaos } from "../support/chaos/engine.ts";
import { soakWorld } from "../support/chaos/soak.ts";
import { faultTest } from "../support/fault-table.ts";

const row = {
  area: "machine",
  fault: "Agents work on everything at once for a long time",
  outcome:
    "file descriptors stay flat, events, logs and history bounded; `bun run chaos soak` holds the same of memory, for 20 minutes",
  seen: "nothing: no answer is an error",
  recovery: "none is needed",
} as const;

faultTest(
  "nothing piles up while prompts, keys, mail, reminders, turns and streams go on",
  row,
  async () => {
    const { figures } = await checkChaos(soakWorld, { seconds: 20, agents: 4 });
    for (const act of ["prompt", "mail", "turn", "event stream"]) expect(figures[act]).toBeGreaterThan(0);
    const judged = Object.keys(figures).filter((name) => name.endsWith(", growth"));
    expect(judged).toContain("memory of the gateways, growth");
    expect(judged.filter((name) => name.startsWith("descriptors of "))).toHaveLength(6);
  },
  480_000,
);
