import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { stopAgent } from "../../src/services/fleet/stop-agent.ts";
import { createFaultLab, type FaultAgent, type FaultLab } from "../support/fault-lab.ts";
import {
  drained,
  fileProblems,
  leftoverProblems,
  requestProblems,
  type Sent,
  send,
} from "../support/fault-story.ts";

const cycles = Number(process.env["SVC_SOAK_CYCLES"] ?? 50);
const seed = Number(process.env["SVC_SOAK_SEED"] ?? Date.now() % 2 ** 31);
/** A third of the gateways die so soon after their process began, the others so soon after they serve. */
const longestStartMs = 400;
const longestServiceMs = 800;
/** Prompts that a cycle may add; each takes about half a second to be delivered. */
const promptsEach = 2;

let lab: FaultLab;
beforeAll(async () => {
  lab = await createFaultLab();
});
afterAll(() => lab[Symbol.asyncDispose]());

/** The same numbers from 0 to 1 for the same seed. */
function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Prompts, context commands and interrupts for as long as the gateway lives. */
async function load(
  at: { client: GatewayClient; sent: Sent[]; name: string; random: () => number },
  alive: () => boolean,
) {
  const { client, sent, name, random } = at;
  for (let prompts = 0; alive(); ) {
    const dice = random();
    if (dice < 0.4 && prompts < promptsEach) {
      prompts += 1;
      const prompt = `${name} prompt ${prompts}\nFAST`;
      sent.push(await send(client, { kind: "submit_prompt", payload: { prompt } }));
    } else if (dice < 0.7) {
      const prompt = dice < 0.6 ? "/clear" : "/new";
      sent.push(await send(client, { kind: "submit_prompt", payload: { prompt } }));
    } else {
      sent.push(await send(client, { kind: "interrupt" }));
    }
    await Bun.sleep(random() * 200);
  }
}

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
