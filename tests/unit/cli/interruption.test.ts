import { expect, test } from "bun:test";
import { unlessInterrupted } from "../../../src/cli/command-line/interruption.ts";

const never = () => new Promise<string>(() => {});
const state = "the agent runs; end it with: svc stop worker";

test("an interruption ends the wait with exit 130 and says what holds", async () => {
  const abort = new AbortController();
  const waited = unlessInterrupted(abort.signal, state, never, { agent_id: "a" });
  abort.abort();
  const detail = `interrupted; ${state}`;
  await expect(waited).rejects.toMatchObject({
    exitCode: 130,
    message: detail,
    json: { error: "interrupted", detail, agent_id: "a" },
  });
});

test("after an interruption nothing is begun", async () => {
  let begun = false;
  const work = async () => {
    begun = true;
  };
  await expect(unlessInterrupted(AbortSignal.abort(), state, work)).rejects.toMatchObject({ exitCode: 130 });
  expect(begun).toBe(false);
});

test("without one the work's value and its failure pass through", async () => {
  const { signal } = new AbortController();
  expect(await unlessInterrupted(signal, state, async () => 7)).toBe(7);
  const fails = unlessInterrupted(signal, state, () => Promise.reject(new Error("no")));
  await expect(fails).rejects.toThrow("no");
});
