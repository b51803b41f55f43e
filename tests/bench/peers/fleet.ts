import { until } from "../../support/until.ts";
import type { PeerAgent } from "./product.ts";

const readyMs = 120_000;

/**
 * One agent after the other, each idle before the next is started: a start of the CLI takes a core for
 * seconds.
 */
export async function startedApart(
  count: number,
  start: (number: number) => Promise<PeerAgent>,
): Promise<PeerAgent[]> {
  const agents: PeerAgent[] = [];
  for (let number = 1; number <= count; number++) {
    const agent = await start(number);
    await until("the agent is idle", () => agent.isIdle(), readyMs);
    agents.push(agent);
  }
  return agents;
}
