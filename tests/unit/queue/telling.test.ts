import { expect, test } from "bun:test";
import { createTelling } from "../../../src/services/queue/telling.ts";

function recorded() {
  const told: string[] = [];
  let accepted = false;
  const telling = createTelling({
    events: { append: (kind) => void told.push(kind) },
    acceptance: {
      tell: () => {
        if (!accepted) told.push("accepted");
        const first = !accepted;
        accepted = true;
        return first;
      },
    },
  });
  return { telling, told };
}

test("a promotion is told after this turn of the event loop, once, and after the acceptance", async () => {
  const { telling, told } = recorded();
  telling.promoted(() => told.push("executing"));
  expect(told).toEqual([]);
  await new Promise<void>((resolve) => setImmediate(resolve));
  telling.flush();
  expect(told).toEqual(["accepted", "executing"]);
});

test("what follows a promotion is never told before it", () => {
  const { telling, told } = recorded();
  telling.promoted(() => told.push("executing"));
  telling.append("request_evidence");
  expect(told).toEqual(["accepted", "executing", "request_evidence"]);
});
