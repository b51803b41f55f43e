import { describe, expect, test } from "bun:test";
import type { ReminderDefinition } from "../../../src/protocol/reminders.ts";
import { settle } from "../../support/fake-clock.ts";
import { createGatewayBundle, type GatewayBundle } from "../../support/gateway-bundle.ts";
import { define, holdSubmission, make, repeat, told } from "../../support/reminder-samples.ts";

describe("while a reminder is delivered", () => {
  test("the status says running, the queue waits and says why", async () => {
    await using bundle = createGatewayBundle();
    const finish = holdSubmission(bundle);
    const id = make(bundle);
    await bundle.clock.advance(10_000);
    expect(bundle.reminders.get(id).delivery_state).toBe("executing");
    const { request_id } = await bundle.queue.accept({ kind: "submit_prompt", payload: { prompt: "next" } });
    await settle();
    expect(bundle.board.status()).toMatchObject({
      active_execution: "running",
      queue_depth: 1,
      waiting: { reason: "execution_slot" },
    });
    expect(bundle.store.get(request_id)?.state).toBe("accepted");
    finish({ outcome: "submitted" });
    await settle();
    expect(bundle.agent.prompts).toEqual(["Look again", "next"]);
    expect(bundle.board.status()).toMatchObject({ active_execution: "idle", queue_depth: 0 });
  });

  test("an interrupt does not wait for it, a prompt does", async () => {
    await using bundle = createGatewayBundle();
    const finish = holdSubmission(bundle);
    make(bundle);
    await bundle.clock.advance(10_000);
    await bundle.queue.accept({ kind: "submit_prompt", payload: { prompt: "next" } });
    await bundle.queue.accept({ kind: "interrupt" });
    await settle();
    expect([bundle.agent.interrupts, bundle.agent.prompts, bundle.queue.depth()]).toEqual([1, [], 1]);
    finish({ outcome: "submitted" });
    await settle();
    expect(bundle.agent.prompts).toEqual(["Look again", "next"]);
  });

  test("it cannot be updated", async () => {
    await using bundle = createGatewayBundle();
    const finish = holdSubmission(bundle);
    const id = make(bundle);
    await bundle.clock.advance(10_000);
    expect(() => bundle.reminders.update(id, define())).toThrow("being delivered");
    finish({ outcome: "submitted" });
    await settle();
    expect(() => bundle.reminders.update(id, define())).toThrow("no reminder");
  });

  test("deleting it lets the delivery end and stops what would follow", async () => {
    await using bundle = createGatewayBundle();
    const finish = holdSubmission(bundle);
    const id = bundle.reminders.create([repeat()]).reminders[0]?.reminder_id ?? "";
    await bundle.clock.advance(10_000);
    bundle.reminders.remove(id);
    expect(told(bundle, "reminder_deleted")).toMatchObject([{ executing: true, delete_requested: true }]);
    finish({ outcome: "submitted" });
    await bundle.clock.advance(60_000);
    expect(bundle.agent.prompts).toEqual(["Look again"]);
    const [completed, ...others] = told(bundle, "reminder_completed");
    expect([completed?.["reminder_id"], completed?.["next_due_at_utc"], others]).toEqual([id, undefined, []]);
  });

  test("the direct prompt that wants a free gateway is refused", async () => {
    await using bundle = createGatewayBundle();
    const finish = holdSubmission(bundle);
    make(bundle);
    await bundle.clock.advance(10_000);
    const reply = await bundle.app.fetch(
      new Request("http://127.0.0.1/v1/control/prompt", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ prompt: "now" }),
      }),
    );
    expect([reply.status, await reply.json()]).toMatchObject([409, { detail: { error_code: "not_ready" } }]);
    finish({ outcome: "submitted" });
    await settle();
  });
});

describe("between the decision and the first byte", () => {
  /** The agent is being looked at; `go` ends the look. */
  async function looking(bundle: GatewayBundle, more: Partial<ReminderDefinition> = {}) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { reserve } = bundle.agent;
    bundle.agent.reserve = async (submission) => {
      await promise;
      return reserve(submission);
    };
    const id = make(bundle, more);
    await bundle.clock.advance(10_000);
    return { id, go: resolve };
  }

  test("a deletion prevents the delivery", async () => {
    await using bundle = createGatewayBundle();
    const { id, go } = await looking(bundle);
    bundle.reminders.remove(id);
    go();
    await settle();
    expect([bundle.agent.prompts, told(bundle, "reminder_started")]).toEqual([[], []]);
    expect(told(bundle, "reminder_deleted")).toMatchObject([{ executing: false }]);
  });

  test("a pause while the agent is reserved prevents it, and gives the agent back", async () => {
    await using bundle = createGatewayBundle();
    const id = make(bundle, { ranking: 1 });
    let returned = 0;
    bundle.agent.reserve = async () => {
      bundle.reminders.update(id, define({ paused: true }));
      return {
        ready: true,
        submit: () => Promise.reject(new Error("nothing is submitted")),
        [Symbol.dispose]: () => void returned++,
      };
    };
    await bundle.clock.advance(10_000);
    expect(bundle.reminders.get(id)).toMatchObject({ paused: true, last_started_at_utc: null });
    expect(returned).toBe(1);
    expect(told(bundle, "reminder_failed")).toEqual([]);
  });

  test("a headless agent is given its id, for it is no direct prompt", async () => {
    await using bundle = createGatewayBundle();
    const given: (string | undefined)[] = [];
    bundle.agent.onSubmit = ({ requestId }) => {
      given.push(requestId);
      return { outcome: "submitted" };
    };
    const id = make(bundle);
    await bundle.clock.advance(10_000);
    expect(given).toEqual([expect.stringMatching(new RegExp(`^${id}-[0-9a-f]{6}$`))]);
  });

  test("an update is possible and counts", async () => {
    await using bundle = createGatewayBundle();
    const { id, go } = await looking(bundle);
    bundle.reminders.update(id, define({ prompt: "other" }));
    go();
    await settle();
    expect(bundle.agent.prompts).toEqual([]);
    await bundle.clock.advance(10_000);
    expect(bundle.agent.prompts).toEqual(["other"]);
  });

  test("a request that was accepted goes first", async () => {
    await using bundle = createGatewayBundle();
    const { go } = await looking(bundle);
    await bundle.queue.accept({ kind: "submit_prompt", payload: { prompt: "queued" } });
    await settle();
    go();
    await settle();
    expect(bundle.agent.prompts).toEqual(["queued", "Look again"]);
  });
});
