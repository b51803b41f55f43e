import { expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readMoment } from "../../src/services/extensions/observe/recorder/reader.ts";
import { createRecorderFixture } from "../support/recorder-fixture.ts";

// A recording holds what a terminal showed: it is written for this user alone, and only this user's is
// believed.

const otherUser = 65_534;

test("a folder of another user takes no recording, and is not read", async () => {
  const fixture = createRecorderFixture();
  mkdirSync(fixture.folder, { mode: 0o700 });
  writeFileSync(join(fixture.folder, "00000001-1000.jsonl"), '{"k":"alive","t":1000}\n');
  chownSync(fixture.folder, otherUser, otherUser);
  const recorder = fixture.open();
  recorder.start();
  await fixture.pass(250);
  expect(fixture.problems).toEqual([expect.stringContaining("is no folder of this user")]);
  await recorder.stop();
  expect(readdirSync(fixture.folder)).toEqual(["00000001-1000.jsonl"]);
  expect(() => fixture.why(2000)).toThrow("is no folder of this user");
});

test("records of another user, or that others may write, are not believed", async () => {
  const fixture = createRecorderFixture();
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  await recorder.stop();
  const path = join(fixture.folder, fixture.names("jsonl")[0] ?? "");
  const nowMs = fixture.clock.nowMs();
  const query = { atMs: nowMs, nowMs, agentName: "worker" };
  const read = () => readMoment(fixture.scratch.files, fixture.gatewayRoot, query).gap;
  expect(read()).toContain("switched off");
  chmodSync(path, 0o666);
  expect(read()).toBe("no record of then can be read");
  chmodSync(path, 0o600);
  chownSync(path, otherUser, otherUser);
  expect(read()).toBe("no record of then can be read");
});

test("a file that became a link is not followed", async () => {
  const fixture = createRecorderFixture();
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  await recorder.stop();
  const path = join(fixture.folder, fixture.names("jsonl")[0] ?? "");
  const elsewhere = fixture.scratch.path("elsewhere");
  renameSync(path, elsewhere);
  symlinkSync(elsewhere, path);
  expect(() => fixture.why()).toThrow("refused the path");
  // A link in the place of the next part is no place to write to either.
  const planted = fixture.scratch.path("planted");
  writeFileSync(planted, "mine");
  const again = fixture.open();
  again.start();
  symlinkSync(planted, join(fixture.folder, `00000002-${fixture.clock.nowMs()}.jsonl`));
  await fixture.pass(250);
  expect(fixture.problems).toHaveLength(1);
  await again.stop();
  expect(statSync(planted).size).toBe(4);
});
