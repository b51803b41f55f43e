import { expect, test } from "bun:test";
import { ServiceError } from "../../../src/system/errors.ts";
import { notReady } from "../../support/fake-agent.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";

const prompt = (text: string, turn_id?: string) => ({
  kind: "submit_prompt" as const,
  payload: { prompt: text, ...(turn_id ? { turn_id } : {}) },
});
const whenIdle = ({ depth }: { depth: number }) =>
  depth > 0 ? new ServiceError("conflict", `${depth} before`) : null;
/** What became of each of some acceptances. */
const outcomes = async (accepted: Promise<unknown>[]) =>
  (await Promise.allSettled(accepted)).map((one) =>
    one.status === "fulfilled" ? "accepted" : (one.reason as Error).message,
  );

function setup() {
  const bundle = createGatewayBundle();
  bundle.agent.setReadiness(notReady);
  return bundle;
}

test("accepts only the first of several prompts that need an idle queue at the same moment", async () => {
  await using bundle = setup();
  const { queue } = bundle;
  expect(await outcomes(["a", "b", "c"].map((text) => queue.acceptIf(prompt(text), whenIdle)))).toEqual([
    "accepted",
    "1 before",
    "1 before",
  ]);
  expect([queue.depth(), queue.list({ limit: 9 }).length]).toEqual([1, 1]);
});

test("a request of the same moment counts as waiting, and a refusal does not affect it", async () => {
  await using bundle = setup();
  const { queue } = bundle;
  const all = [queue.accept(prompt("a")), queue.acceptIf(prompt("b"), whenIdle), queue.accept(prompt("c"))];
  expect(await outcomes(all)).toEqual(["accepted", "1 before", "accepted"]);
  expect(queue.list({ limit: 9 })).toHaveLength(2);
});

test("a turn id of a request stays known after the request ended", async () => {
  await using bundle = createGatewayBundle();
  const { queue, clock } = bundle;
  const seen: boolean[] = [];
  const note = ({ isTurnKnown }: { isTurnKnown: boolean }) => {
    seen.push(isTurnKnown);
    return null;
  };
  const { request_id } = await queue.acceptIf(prompt("a", "one"), note);
  await clock.advance(1000);
  expect(queue.record(request_id)).toMatchObject({ state: "completed", turn_id: "one" });
  await queue.acceptIf(prompt("b", "one"), note);
  await queue.acceptIf(prompt("c", "two"), note);
  await queue.acceptIf(prompt("d"), note);
  expect(seen).toEqual([false, true, false, false]);
});
