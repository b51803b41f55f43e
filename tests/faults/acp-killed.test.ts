import { expect, test } from "bun:test";
import { acpWorld } from "../support/chaos/acp.ts";
import { checkChaos } from "../support/chaos/engine.ts";

test("turns of an ACP agent that is killed at random have one final state each, and leave no process", async () => {
  const { figures } = await checkChaos(acpWorld, { rounds: 15 });
  expect(figures).toMatchObject({ turns: 15 });
});
