import { expect } from "bun:test";
import { join } from "node:path";
import { faultTest } from "../support/fault-table.ts";
import { runSoak } from "../support/soak.ts";

const seconds = 20;
const seed = Number(process.env["SVC_SOAK_SEED"] ?? Date.now() % 2 ** 31);

const row = {
  area: "machine",
  fault: "Agents work on everything at once for a long time",
  outcome:
    "file descriptors stay flat, events, logs and history bounded; `bun run soak` holds the same of memory, for 20 minutes",
  seen: "nothing: no answer is an error",
  recovery: "none is needed",
} as const;

faultTest(
  "nothing piles up while prompts, keys, mail, reminders, turns and streams go on",
  row,
  async () => {
    console.log(`bun run soak --minutes ${(seconds / 60).toFixed(1)} --agents 4 --seed ${seed}`);
    const dist = join(import.meta.dirname, "../../dist");
    const { wrong, figures, verdicts } = await runSoak({
      seconds,
      seed,
      dist,
      agents: 4,
      sampleEveryMs: 500,
    });
    console.log(JSON.stringify(figures));
    expect(wrong).toEqual([]);
    for (const act of ["prompt", "mail", "turn", "event stream"]) expect(figures[act]).toBeGreaterThan(0);
    const judged = verdicts.map(({ name }) => name);
    expect(judged).toContain("memory of the gateways");
    expect(judged.filter((name) => name.startsWith("descriptors of "))).toHaveLength(6);
  },
  480_000,
);
