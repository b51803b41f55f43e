import { expect, test } from "bun:test";
import { join } from "node:path";
import { runChaos } from "../support/chaos.ts";

const seconds = 10;
const seed = Number(process.env["SVC_CHAOS_SEED"] ?? Date.now() % 2 ** 31);

test("through blows to agents, gateways and tmux servers no answer is wrong and nothing accepted is lost", async () => {
  console.log(`SVC_CHAOS_SEED=${seed}`);
  const dist = join(import.meta.dirname, "../../dist");
  const { wrong, figures } = await runChaos({ seconds, seed, dist });
  console.log(JSON.stringify(figures));
  expect(wrong).toEqual([]);
  expect(figures["answers"]).toBeGreaterThan(100);
  expect(figures["blows"]).toBeGreaterThan(2);
  expect(figures["accepted"]).toBeGreaterThan(2);
}, 180_000);
