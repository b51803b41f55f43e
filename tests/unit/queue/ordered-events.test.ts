import { expect, test } from "bun:test";
import { createOrderedEvents } from "../../../src/services/queue/acceptance.ts";

function recorded() {
  const logged: string[] = [];
  let accepted = false;
  const ordered = createOrderedEvents({
    events: { append: (kind) => void logged.push(kind) },
    acceptance: {
      logPending: () => {
        if (!accepted) logged.push("accepted");
        const first = !accepted;
        accepted = true;
        return first;
      },
    },
  });
  return { ordered, logged };
}

test("a promotion is logged after this turn of the event loop, once, and after the acceptance", async () => {
  const { ordered, logged } = recorded();
  ordered.promoted(() => logged.push("executing"));
  expect(logged).toEqual([]);
  await new Promise<void>((resolve) => setImmediate(resolve));
  ordered.flush();
  expect(logged).toEqual(["accepted", "executing"]);
});

test("what follows a promotion is never logged before it", () => {
  const { ordered, logged } = recorded();
  ordered.promoted(() => logged.push("executing"));
  ordered.append("request_evidence");
  expect(logged).toEqual(["accepted", "executing", "request_evidence"]);
});
