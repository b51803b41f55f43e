import { expect, test } from "bun:test";
import { settle } from "../../support/fake-clock.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";

const prompt = (text: string) => ({ kind: "submit_prompt" as const, payload: { prompt: text } });

test("a request whose end could not be written frees the slot once the disk has space", async () => {
  let full = false;
  const steps = {
    before(label: string) {
      if (full && label.startsWith("sql:")) {
        throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
      }
    },
    after() {},
  };
  await using bundle = createGatewayBundle({ steps });
  const typed = Promise.withResolvers<void>();
  bundle.agent.onSubmit = async () => {
    await typed.promise;
    return { outcome: "submitted" };
  };
  const first = await bundle.queue.accept(prompt("one"));
  const second = await bundle.queue.accept(prompt("two"));
  full = true;
  typed.resolve();
  await settle();
  await bundle.clock.advance(5000);
  expect(bundle.queue.record(first.request_id)?.state).toBe("running");
  expect(bundle.board.status()).toMatchObject({
    request_admission: "blocked_unavailable",
    admission_block: { reason: "disk_full" },
    waiting: { reason: "blocked_unavailable", detail: expect.stringContaining("the disk is full") },
  });
  full = false;
  await bundle.clock.advance(5000);
  expect(bundle.queue.record(first.request_id)).toMatchObject({
    state: "completed",
  });
  expect(bundle.agent.prompts).toEqual(["one", "two"]);
  expect(bundle.queue.record(second.request_id)?.state).toBe("completed");
  expect(bundle.board.status()).toMatchObject({ request_admission: "open", queue_depth: 0 });
});
