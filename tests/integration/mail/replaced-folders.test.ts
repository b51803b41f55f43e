import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { withExclusiveRoot } from "../../../src/services/mail/filesystem/root.ts";
import type { Mailbox } from "../../../src/services/mail/mailbox.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";

/**
 * A root in which `place` has been replaced by a link to the folder `outside`, while its mailboxes are open.
 */
async function setup(place: string) {
  const fixture = createMailRootFixture();
  const ada = fixture.mailbox("ada");
  const ben = fixture.mailbox("ben");
  await sendTo(ada, ben);
  await ben.list(everything);
  const path = join(fixture.path, place);
  const aside = fixture.scratch.path("aside");
  const outside = fixture.scratch.path("outside");
  mkdirSync(outside);
  renameSync(path, aside);
  symlinkSync(outside, path);
  return {
    ada,
    ben,
    written: () => readdirSync(outside, { recursive: true }),
    putBack() {
      rmSync(path);
      renameSync(aside, path);
    },
    [Symbol.dispose]: () => fixture[Symbol.dispose](),
  };
}

function sendTo(from: Mailbox, to: Mailbox, attachments: { path: string }[] = []) {
  return from.send({ ...draft("ben", "hello", { attachments }), to: [to.address] });
}

test.each([
  { id: "messages", place: "messages" },
  { id: "a day of messages", place: `messages/${new Date().toISOString().slice(0, 10)}` },
  { id: "staging", place: "staging" },
])("where $id became a link, mail is refused and nothing is written through it", async ({ place }) => {
  using fixture = await setup(place);
  const refused = await sendTo(fixture.ada, fixture.ben).catch((error) => error);
  expect([refused.reason, refused.message]).toEqual([
    "transport_failed",
    expect.stringContaining("is a symbolic link"),
  ]);
  expect(fixture.written()).toEqual([]);
  fixture.putBack();
  await sendTo(fixture.ada, fixture.ben);
  expect((await fixture.ben.list(everything)).messages).toHaveLength(2);
});

test("where the folder of attachments became a link, mail with one is refused and nothing is left", async () => {
  using fixture = await setup("attachments/managed");
  const refused = await sendTo(fixture.ada, fixture.ben, [{ path: import.meta.path }]).catch(
    (error) => error,
  );
  expect([refused.reason, fixture.written()]).toEqual(["transport_failed", []]);
});

test.each([
  { id: "an open mailbox", place: "mailboxes/ben@svc.localhost" },
  { id: "the state of an open mailbox", place: "mailboxes/ben@svc.localhost/mailbox.sqlite" },
])("where $id became a link, nothing is looked up or written behind it", async ({ place }) => {
  using fixture = await setup(place);
  const refused = await fixture.ben.list(everything).catch((error) => error);
  expect([refused.reason, refused.message]).toEqual([
    "transport_failed",
    expect.stringContaining("symbolic link"),
  ]);
  await sendTo(fixture.ada, fixture.ben);
  expect(fixture.written()).toEqual([]);
  fixture.putBack();
  expect((await fixture.ben.list(everything)).messages).toHaveLength(2);
});

test("an open mailbox that was moved away and linked is not looked up there", async () => {
  using fixture = createMailRootFixture();
  const ben = fixture.mailbox("ben");
  await ben.list(everything);
  const folder = join(fixture.path, "mailboxes", ben.address);
  renameSync(folder, fixture.scratch.path("away"));
  symlinkSync(fixture.scratch.path("away"), folder);
  const refused = await ben.list(everything).catch((error) => error);
  expect(refused.reason).toBe("transport_failed");
});

test("where a box became a link, mail arrives and no file of it lies behind the link", async () => {
  using fixture = await setup("mailboxes/ben@svc.localhost/inbox");
  await sendTo(fixture.ada, fixture.ben);
  expect((await fixture.ben.list(everything)).messages).toHaveLength(2);
  expect(fixture.written()).toEqual([]);
});

test("a maintenance that finds no place for its lock says so, and not that another runs", async () => {
  using fixture = createMailRootFixture();
  rmSync(join(fixture.path, "locks"), { recursive: true });
  const refused = await withExclusiveRoot(fixture.deps, fixture.path, () => "done").catch((error) => error);
  expect(refused.reason).toBe("transport_failed");
});
