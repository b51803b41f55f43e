import { expect } from "bun:test";
import { agentsWorld } from "../support/chaos/agents.ts";
import { checkChaos } from "../support/chaos/engine.ts";
import { faultTest } from "../support/fault-table.ts";

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
    const { figures } = await checkChaos(agentsWorld, { seconds: 10 });
    expect(figures["answers"]).toBeGreaterThan(100);
    expect(figures["faults"]).toBeGreaterThan(2);
    expect(figures["accepted"]).toBeGreaterThan(2);
  },
  480_000,
);
