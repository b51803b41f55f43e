import { expect, test } from "bun:test";
import { createTypingLeases, withoutTerminalReplies } from "../../../src/services/prompt/typing-lease.ts";
import { createIds } from "../../../src/system/ids.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function setup() {
  const clock = createFakeClock();
  const agent = createFakeAgent();
  const kinds: string[] = [];
  let changes = 0;
  const leases = createTypingLeases({
    agent,
    clock,
    ids: createIds(),
    board: { reconciliationRequired: () => false },
    events: { append: (kind: string) => void kinds.push(kind), subscribe: () => () => {} },
    onChange: () => void changes++,
  });
  return { clock, agent, leases, kinds, changes: () => changes };
}

test("a lease is one person's, is renewed by typing, and ends a minute after the last key", async () => {
  const { clock, agent, leases, changes } = setup();
  const { lease_id } = leases.take({ holder: "ann", takeOver: false });
  expect(() => leases.take({ holder: "bob", takeOver: false })).toThrow('"ann" types in this terminal');
  await clock.advance(55_000);
  await leases.type(lease_id, "x");
  const before = changes();
  await leases.type(lease_id, "y");
  // A key soon after another changes nothing that would be written down.
  expect(changes()).toBe(before);
  await clock.advance(59_000);
  expect(leases.current()?.holder).toBe("ann");
  await clock.advance(1000);
  expect(leases.current()).toBeNull();
  expect(leases.type(lease_id, "z")).rejects.toThrow("nothing was typed");
  expect(agent.typed).toEqual(["x", "y"]);
});

test("it ends half an hour after it began, whatever is typed", async () => {
  const { clock, leases, kinds } = setup();
  const { lease_id } = leases.take({ holder: "ann", takeOver: false });
  for (let minutes = 0; minutes < 60 && leases.current() !== null; minutes++) {
    await leases.type(lease_id, "x");
    await clock.advance(30_000);
  }
  expect(clock.monotonicMs()).toBe(1_800_000);
  expect(kinds).toEqual(["typing_lease_taken", "typing_lease_ended"]);
});

test("another person takes it over only with a word, and the first types nothing more", async () => {
  const { agent, leases } = setup();
  const first = leases.take({ holder: "ann", takeOver: false });
  const second = leases.take({ holder: "bob", takeOver: true });
  expect(leases.type(first.lease_id, "x")).rejects.toThrow('"bob" has it now');
  leases.end(first.lease_id);
  expect(leases.current()?.holder).toBe("bob");
  await leases.type(second.lease_id, "y");
  expect(agent.typed).toEqual(["y"]);
  leases.end();
  expect(leases.current()).toBeNull();
});

test.each([
  { id: "device attributes", given: "\x1b[?1;2c\x1b[>0;276;0c", want: "" },
  { id: "a cursor report between keys", given: "a\x1b[12;40Rb", want: "ab" },
  { id: "a colour", given: "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\", want: "" },
  { id: "a mode report", given: "\x1b[?2004;1$y", want: "" },
  {
    id: "arrows, function keys and a paste stay",
    given: "\x1b[A\x1bOP\x1b[200~x\x1b[201~\x1b[15~",
    want: "\x1b[A\x1bOP\x1b[200~x\x1b[201~\x1b[15~",
  },
])("what a terminal answers by itself is not typed: $id", ({ given, want }) =>
  expect(withoutTerminalReplies(given)).toBe(want),
);
