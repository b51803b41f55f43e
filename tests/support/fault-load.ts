import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { type Sent, send } from "./fault-story.ts";

/** Prompts that one call of `load` sends at most; each takes about half a second to be delivered. */
const promptsEach = 2;
const longestPauseMs = 200;

/** The same numbers from 0 to 1 for the same seed. */
export function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Prompts, context commands and interrupts, as the dice fall, for as long as the gateway lives. What is sent is added
 * to `sent`; `name` makes the prompts its own.
 */
export async function load(
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
    await Bun.sleep(random() * longestPauseMs);
  }
}
