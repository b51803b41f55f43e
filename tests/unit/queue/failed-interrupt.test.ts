import { expect, test } from "bun:test";
import type { InterruptOutcome } from "../../../src/services/agent/agent.ts";
import { settle } from "../../support/fake-clock.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";

test("interrupts that wait during a failed interrupt end with it and are not executed", async () => {
  await using bundle = createGatewayBundle();
  const tried = Promise.withResolvers<InterruptOutcome>();
  bundle.agent.onInterrupt = () => tried.promise;
  const first = await bundle.queue.accept({ kind: "interrupt" });
  await settle();
  const others = [
    await bundle.queue.accept({ kind: "interrupt" }),
    await bundle.queue.accept({ kind: "interrupt" }),
  ];
  const prompt = await bundle.queue.accept({ kind: "submit_prompt", payload: { prompt: "after" } });
  tried.resolve({ outcome: "failed", detail: "the turn was not seen to stop after the interrupt key" });
  await settle();
  expect(bundle.queue.record(first.request_id)).toMatchObject({ state: "failed" });
  for (const { request_id } of others) {
    expect(bundle.queue.record(request_id)).toMatchObject({
      state: "coalesced",
      result_json: { coalesced_into_request_id: first.request_id, original_action: "interrupt" },
    });
  }
  expect(bundle.agent.interrupts).toBe(1);
  expect(bundle.queue.record(prompt.request_id)).toMatchObject({ state: "completed" });
  expect(bundle.events.filter((event) => event.kind === "coalesced")).toHaveLength(1);
});

test("an interrupt after a failed one is executed", async () => {
  await using bundle = createGatewayBundle();
  bundle.agent.onInterrupt = () => ({ outcome: "failed", detail: "not seen to stop" });
  await bundle.queue.accept({ kind: "interrupt" });
  await settle();
  await bundle.queue.accept({ kind: "interrupt" });
  await settle();
  expect(bundle.agent.interrupts).toBe(2);
});
