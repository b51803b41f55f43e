import { expect, test } from "bun:test";
import { createCliFixture } from "../support/cli-fixture.ts";

const one = "agents single --agent-name worker";

test("an empty id is wrong usage, reported before any agent is asked", async () => {
  await using fixture = createCliFixture();
  for (const line of ["requests show", "gateway reminders get", "gateway reminders remove"]) {
    for (const id of ["", " "]) {
      const run = await fixture.mgr(...`${one} ${line}`.split(" "), id, "--json");
      expect([run.exitCode, run.error()]).toEqual([2, { error: "usage", detail: "<id> is empty" }]);
    }
  }
  const set = await fixture.mgr(...`${one} gateway reminders set`.split(" "), "", "--paused", "yes");
  expect([set.exitCode, set.stderr]).toEqual([2, expect.stringContaining("<id> is empty")]);
}, 120_000);
