import { expect, test } from "bun:test";
import { openMailboxState } from "../../../src/db/mailbox/state.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

const mark = { generation: "g", registrationId: "r" };

test("a store has another version after each commit, its own or another's, and the same until then", () => {
  using scratch = createScratch();
  const path = scratch.path("mailbox.sqlite");
  const open = () => openMailboxState({ path, clock: createFakeClock(), steps: quietSteps });
  const ours = open();
  const theirs = open();
  const versions = [ours.store.version()];
  ours.mark();
  expect(ours.store.version()).toBe(versions[0] ?? "");
  ours.seed("test", [], { ...mark, seededSeq: 1 });
  versions.push(ours.store.version());
  theirs.seed("test", [], { ...mark, seededSeq: 2 });
  versions.push(ours.store.version());
  expect(ours.mark()?.seededSeq).toBe(2);
  expect(ours.store.version()).toBe(versions[2] ?? "");
  expect(new Set(versions).size).toBe(3);
  theirs.close();
  ours.close();
});
