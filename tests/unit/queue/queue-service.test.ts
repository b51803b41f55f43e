import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGatewayDatabase, requestStoreOn } from "../../../src/db/gateway/request-store.ts";
import type { SubmitOutcome } from "../../../src/services/agent/agent.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { notReady } from "../../support/fake-agent.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { createScratch } from "../../support/scratch.ts";

const prompt = (text: string, delivery?: "immediate") =>
  ({ kind: "submit_prompt", payload: { prompt: text, ...(delivery ? { delivery } : {}) } }) as const;
const interrupt = { kind: "interrupt" } as const;

describe("the durable queue", () => {
  test("a ready agent gets the prompt and the record becomes completed", async () => {
    await using bundle = createGatewayBundle();
    const accepted = await bundle.queue.accept(prompt("hello"));
    expect(accepted).toMatchObject({ state: "accepted", queue_depth: 1, managed_agent_instance_epoch: 1 });
    await settle();
    expect(bundle.agent.prompts).toEqual(["hello"]);
    const record = bundle.queue.record(accepted.request_id);
    expect(record).toMatchObject({ state: "completed", prompt_length: 5 });
    expect(bundle.queue.depth()).toBe(0);
    expect(bundle.events.map((event) => event.kind)).toEqual(["accepted", "executing", "completed"]);
  });

  test("no event of a request precedes its acceptance, also of requests that arrive together", async () => {
    await using bundle = createGatewayBundle();
    const texts = Array.from({ length: 20 }, (_, nth) => `prompt ${nth}`);
    const accepted = await Promise.all(texts.map((text) => bundle.queue.accept(prompt(text))));
    for (let round = 0; bundle.queue.depth() > 0 && round < 100; round++) await settle();
    for (const { request_id: id } of accepted) {
      const own = bundle.events.filter((event) => (event as { request_id?: string }).request_id === id);
      expect(own.map(({ kind }) => kind)).toEqual(["accepted", "executing", "completed"]);
    }
  });

  test("a busy agent leaves the row accepted, the slot free and the reason visible", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    const { request_id } = await bundle.queue.accept(prompt("later"));
    await settle();
    expect(bundle.queue.record(request_id)).toMatchObject({
      state: "accepted",
      waiting: { reason: "not_ready" },
    });
    expect(bundle.board.status()).toMatchObject({
      active_execution: "idle",
      queue_depth: 1,
      waiting: { reason: "not_ready", detail: "turn.phase=active" },
    });
    bundle.agent.setReadiness({ ready: true });
    await settle();
    expect(bundle.agent.prompts).toEqual(["later"]);
    expect(bundle.board.status().waiting).toBeUndefined();
  });

  test("prompts are delivered in the order accepted", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    for (const text of ["one", "two", "three"]) await bundle.queue.accept(prompt(text));
    bundle.agent.setReadiness({ ready: true });
    await settle();
    expect(bundle.agent.prompts).toEqual(["one", "two", "three"]);
  });

  test("an interrupt overtakes prompts that wait because the agent is busy", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    await bundle.queue.accept(prompt("waits"));
    const { request_id } = await bundle.queue.accept(interrupt);
    await settle();
    expect(bundle.agent.interrupts).toBe(1);
    expect(bundle.queue.record(request_id)).toMatchObject({
      state: "completed",
      result_json: { outcome: "interrupted" },
    });
    expect(bundle.agent.prompts).toEqual([]);
  });

  test("an immediate prompt does not wait behind one that needs a turn boundary", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady, "turn_boundary");
    await bundle.queue.accept(prompt("waits"));
    await bundle.queue.accept(prompt("now", "immediate"));
    await settle();
    expect(bundle.agent.prompts).toEqual(["now"]);
  });

  test("duplicate interrupts and dominated context commands are coalesced with their reason", async () => {
    await using bundle = createGatewayBundle({ start: false });
    const ids: string[] = [];
    for (const request of [prompt("/compact"), interrupt, prompt(" /new "), interrupt, prompt("/clear")]) {
      ids.push((await bundle.queue.accept(request)).request_id);
    }
    bundle.queue.start();
    await settle();
    const states = ids.map((id) => bundle.queue.record(id)?.state);
    expect(states).toEqual(["coalesced", "completed", "completed", "coalesced", "coalesced"]);
    expect(bundle.agent.prompts).toEqual([" /new "]);
    expect(bundle.queue.record(ids[4] ?? "")?.result_json).toMatchObject({
      coalesced_into_request_id: ids[2],
      coalesced_reason: "superseded_control_intent",
      effective_actions: ["interrupt", "submit_prompt:/new"],
      original_action: "submit_prompt:/clear",
    });
  });

  test("a failed dispatch fails the request with a reason and frees the slot", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.onSubmit = (): SubmitOutcome => ({
      outcome: "failed",
      typed: true,
      detail: "Enter was not taken",
    });
    const { request_id } = await bundle.queue.accept(prompt("x"));
    await settle();
    expect(bundle.queue.record(request_id)).toMatchObject({
      state: "failed",
      error_detail: "Enter was not taken",
      result_json: { typed: true },
    });
    bundle.agent.onSubmit = () => ({ outcome: "submitted" });
    await bundle.queue.accept(prompt("next"));
    await settle();
    expect(bundle.agent.prompts).toEqual(["next"]);
  });

  test("an agent that throws does not keep the slot or kill the worker", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.onSubmit = () => {
      throw new Error("boom");
    };
    const { request_id } = await bundle.queue.accept(prompt("x"));
    await settle();
    expect(bundle.queue.record(request_id)).toMatchObject({
      state: "failed",
      result_json: { outcome: "unknown" },
    });
    bundle.agent.onSubmit = () => ({ outcome: "submitted" });
    await bundle.queue.accept(prompt("next"));
    await bundle.clock.advance(1000);
    expect(bundle.agent.prompts).toEqual(["next"]);
  });

  test("after a restart on the same file accepted rows run once and the running one is failed, never repeated", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-queue-"));
    const path = join(folder, "queue.sqlite");
    try {
      const first = createGatewayBundle({ path });
      let taken: (outcome: SubmitOutcome) => void = () => {};
      first.agent.onSubmit = () => new Promise((resolve) => (taken = resolve));
      const running = await first.queue.accept(prompt("in the slot"));
      const waiting = await first.queue.accept(prompt("behind"));
      await settle();
      expect(first.queue.record(running.request_id)?.state).toBe("running");
      // The process "dies" here: its store is simply left and a new one opens the same file.
      const second = createGatewayBundle({ path });
      await settle();
      expect(second.agent.prompts).toEqual(["behind"]);
      expect(second.queue.record(running.request_id)).toMatchObject({
        state: "failed",
        result_json: { outcome: "unknown" },
      });
      expect(second.queue.record(waiting.request_id)?.state).toBe("completed");
      await second[Symbol.asyncDispose]();
      taken({ outcome: "submitted" });
      await first[Symbol.asyncDispose]();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("the turn that a dead gateway began is followed to its end by the next one", async () => {
    using scratch = createScratch();
    const path = scratch.path("queue.sqlite");
    const step = (name: "submitted" | "turn_ended") => ({ step: name, at_utc: "t", proof: "seen" });
    const first = createGatewayBundle({ path });
    first.agent.onSubmit = ({ onEvidence }) => {
      onEvidence(step("submitted"));
      return { outcome: "submitted" };
    };
    const { request_id } = await first.queue.accept(prompt("long"));
    await settle();
    await first[Symbol.asyncDispose]();

    await using second = createGatewayBundle({ path });
    expect(second.agent.followed.map(({ started }) => started)).toEqual([false]);
    second.agent.followed[0]?.onEvidence(step("turn_ended"));
    expect(second.queue.record(request_id)?.evidence.at(-1)).toEqual(step("turn_ended"));
    await using third = createGatewayBundle({ path });
    expect(third.agent.followed).toEqual([]);
  });

  test("an unavailable agent holds the queue and another instance blocks it until reconciled", async () => {
    await using bundle = createGatewayBundle();
    bundle.agent.setReadiness(notReady);
    const { request_id } = await bundle.queue.accept(prompt("held"));
    bundle.agent.setConnectivity({ connected: false, detail: "the agent has exited", instanceId: null });
    bundle.agent.setReadiness({ ready: true });
    await settle();
    expect(bundle.queue.record(request_id)).toMatchObject({ waiting: { reason: "blocked_unavailable" } });
    bundle.agent.setConnectivity({ connected: true, instanceId: "two" });
    await settle();
    expect(bundle.board.status()).toMatchObject({
      managed_agent_recovery: "reconciliation_required",
      request_admission: "blocked_reconciliation",
      managed_agent_instance_epoch: 2,
    });
    expect(bundle.agent.prompts).toEqual([]);
    expect(bundle.queue.record(request_id)?.state).toBe("accepted");
  });
});

describe("while the agent is reserved for a request", () => {
  /** A queue whose next request waits for its permit until `go`. */
  async function reserving() {
    const bundle = createGatewayBundle();
    const { promise, resolve: go } = Promise.withResolvers<void>();
    const { reserve } = bundle.agent;
    let returned = 0;
    bundle.agent.reserve = async (submission) => {
      await promise;
      const permit = await reserve(submission);
      return { ...permit, [Symbol.dispose]: () => void returned++ };
    };
    const { request_id } = await bundle.queue.accept(prompt("x"));
    await settle();
    expect(bundle.queue.record(request_id)?.state).toBe("accepted");
    return { bundle, go, request_id, returned: () => returned };
  }

  test("a new instance of the agent does not get the request", async () => {
    const { bundle, go, request_id, returned } = await reserving();
    await using _ = bundle;
    bundle.agent.setConnectivity({ instanceId: "two" });
    go();
    await settle();
    expect([bundle.agent.prompts, returned()]).toEqual([[], 1]);
    expect(bundle.queue.record(request_id)).toMatchObject({
      state: "accepted",
      waiting: { reason: "blocked_reconciliation" },
    });
  });

  test("an ended request is not started, and this is not reported as a fault", async () => {
    const { bundle, go, request_id, returned } = await reserving();
    await using _ = bundle;
    bundle.agent.setConnectivity({ instanceId: "two" });
    bundle.board.reconcile();
    go();
    await settle();
    expect([bundle.agent.prompts, returned()]).toEqual([[], 1]);
    expect(bundle.queue.record(request_id)?.state).toBe("failed");
    expect(bundle.logged.filter((line) => line.includes("fault"))).toEqual([]);
  });
});

describe("the request store", () => {
  test("the database refuses a second running row", async () => {
    const store = requestStoreOn(
      openGatewayDatabase({ path: ":memory:", clock: createFakeClock(), steps: quietSteps }),
    );
    const row = {
      kind: "submit_prompt",
      lane: "turn_boundary",
      payload: {},
      acceptedAtUtc: "t",
      epoch: 1,
      evidence: [],
    } as const;
    await Promise.all(["a", "b"].map((requestId) => store.insertAccepted({ ...row, requestId })));
    store.transition("t", [{ requestId: "a", from: "accepted", to: "running" }]);
    expect(() => store.transition("t", [{ requestId: "b", from: "accepted", to: "running" }])).toThrow(
      /UNIQUE/,
    );
    expect(() => store.transition("t", [{ requestId: "a", from: "accepted", to: "failed" }])).toThrow(
      /illegal/,
    );
    expect(store.depth()).toBe(2);
    store.close();
  });

  test("one bad row of a batch fails only its own caller", async () => {
    const store = requestStoreOn(
      openGatewayDatabase({ path: ":memory:", clock: createFakeClock(), steps: quietSteps }),
    );
    const row = {
      kind: "submit_prompt",
      lane: "turn_boundary",
      payload: {},
      acceptedAtUtc: "t",
      epoch: 1,
      evidence: [],
    } as const;
    const results = await Promise.allSettled(
      ["a", "a", "b"].map((requestId) => store.insertAccepted({ ...row, requestId })),
    );
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    store.close();
  });
});
