import { expect } from "bun:test";
import { join } from "node:path";
import { runChaos } from "../support/chaos.ts";
import { faultTest } from "../support/fault-table.ts";

const seconds = 10;
const seed = Number(process.env["SVC_CHAOS_SEED"] ?? Date.now() % 2 ** 31);

const row = {
  area: "processes",
  fault: "Agents, sessions, gateways and tmux servers are killed, and gateways hang, at random under load",
  outcome: "no answer of the coordination server is wrong or a 500; nothing accepted is lost or heard twice",
  seen: "what is dead is told as dead within moments; a gateway that hangs delays nobody else",
  recovery: "attach, relaunch or launch again, as the agent's state says",
} as const;

faultTest(
  "through faults of agents, gateways and tmux servers no answer is wrong and nothing accepted is lost",
  row,
  async () => {
    console.log(`SVC_CHAOS_SEED=${seed}`);
    const dist = join(import.meta.dirname, "../../dist");
    const { wrong, figures } = await runChaos({ seconds, seed, dist });
    console.log(JSON.stringify(figures));
    expect(wrong).toEqual([]);
    expect(figures["answers"]).toBeGreaterThan(100);
    expect(figures["faults"]).toBeGreaterThan(2);
    expect(figures["accepted"]).toBeGreaterThan(2);
  },
  480_000,
);
