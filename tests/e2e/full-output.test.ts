import { expect, test } from "bun:test";
import { createCliFixture } from "../support/cli-fixture.ts";

test("a fault of standard output is not called one of our files", async () => {
  await using fixture = createCliFixture();
  const command = fixture.command("svc").join(" ");
  const text = await fixture.shell(`${command} ls > /dev/full`);
  expect([text.exitCode, text.stderr]).toEqual([
    1,
    "Error: standard output cannot be used: the disk is full; make room and try again (ENOSPC)\n",
  ]);
  const json = await fixture.shell(`${command} ls --json > /dev/full`);
  expect(JSON.parse(json.stderr)).toMatchObject({
    error: "storage",
    detail: expect.stringMatching(/^standard output /),
  });
}, 60_000);
