import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { stopAgent } from "../../src/services/fleet/stop-agent.ts";
import { createFaultLab, type FaultAgent, type FaultLab } from "../support/fault-lab.ts";
import { load, randomFrom } from "../support/fault-load.ts";
import {
  drained,
  fileProblems,
  leftoverProblems,
  requestProblems,
  type Sent,
} from "../support/fault-story.ts";

const cycles = Number(process.env["SVC_SOAK_CYCLES"] ?? 50);
const seed = Number(process.env["SVC_SOAK_SEED"] ?? Date.now() % 2 ** 31);
/** A third of the gateways die so soon after their process began, the others so soon after they serve. */
const longestStartMs = 400;
const longestServiceMs = 800;

let lab: FaultLab;
beforeAll(async () => {
  lab = await createFaultLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

async function cycle(agent: FaultAgent, number: number, sent: Sent[], random: () => number): Promise<void> {
  const early = random() < 1 / 3;
  await using gateway = await agent.serve(early ? { killAfterMs: random() * longestStartMs } : {});
  let alive = true;
  void gateway.exited.then(() => {
    alive = false;
  });
  const { client } = gateway;
  if (!early) setTimeout(() => void gateway.kill(), random() * longestServiceMs);
  if (client) await load({ client, sent, name: `cycle ${number}`, random }, () => alive);
  expect(await gateway.exited, await gateway.complaints).toBe("SIGKILL");
}

describe("a gateway that is killed again and again under load", () => {
  test(
    `keeps every promise over ${cycles} kills`,
    async () => {
      console.log(`SVC_SOAK_SEED=${seed} SVC_SOAK_CYCLES=${cycles}`);
      const random = randomFrom(seed);
      const agent = await lab.launch("worker");
      const sent: Sent[] = [];
      const broken: string[] = [];
      for (let number = 1; number <= cycles; number++) {
        await cycle(agent, number, sent, random);
        broken.push(...fileProblems(agent.sessionRoot).map((problem) => `cycle ${number}: ${problem}`));
      }
      await using gateway = await agent.serve();
      if (!gateway.client) throw new Error(await gateway.complaints);
      expect(await drained(gateway.client, agent, undefined, 60_000 + cycles * 2000)).toBeNull();
      expect(await gateway.stop()).toBe(0);
      const answered = sent.filter((one) => one.requestId !== null).length;
      console.log(`${sent.length} requests sent, ${answered} answered 202`);
      expect(broken).toEqual([]);
      expect(requestProblems(agent, sent, cycles)).toEqual([]);
      expect([...fileProblems(agent.sessionRoot), ...leftoverProblems(agent.sessionRoot)]).toEqual([]);
      expect(answered).toBeGreaterThan(cycles);
      await stopAgent(lab.world, agent);
    },
    120_000 + cycles * 5000,
  );
});
