import { expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { createFolderWatch, type FolderWatch } from "../../../src/system/watch.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { everything } from "../../support/mail-story.ts";
import { createTestSignal } from "../../support/until.ts";

test("a mailbox notifies of what comes into its inbox, and not for what its owner archives", async () => {
  const changes = createTestSignal<string | null>();
  const rings = createTestSignal<void>();
  const real = createFolderWatch();
  const watch: FolderWatch = {
    watchFolder: (folder, listener) =>
      real.watchFolder(folder, (name) => {
        changes.emit(name);
        listener(name);
      }),
  };
  using fixture = createMailRootFixture({ system: { watch } });
  const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  ben.onArrival(rings.emit);
  const { message_ref: sent } = await ada.send({
    to: [ben.address],
    cc: [],
    subject: "Ring",
    body: "",
    attachments: [],
    notifyBlock: null,
    notifyAuth: null,
  });
  await rings.first("a ring", () => true);
  const [rung, seen] = [rings.values.length, changes.values.length];
  await ben.archive([sent]);
  await changes.until("the change that archiving is", () => changes.values.length > seen);
  expect(rings.values.length).toBe(rung);
});

test("a doorbell that cannot trigger is reported once, the mail is delivered, and a doorbell that works again is quiet", async () => {
  const faults: string[] = [];
  const clock = createFakeClock();
  using fixture = createMailRootFixture({ system: { clock }, onFault: (what) => void faults.push(what) });
  const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  await ben.list(everything);
  const inboxFolder = fixture.scratch.path("mailbox/mailboxes/ben@svc.localhost/inbox");
  const away = fixture.scratch.path("away");
  renameSync(inboxFolder, away);
  writeFileSync(inboxFolder, "no folder");
  const send = async (subject: string) => {
    await ada.send({
      to: [ben.address],
      cc: [],
      subject,
      body: "",
      attachments: [],
      notifyBlock: null,
      notifyAuth: null,
    });
    // The links follow the answer.
    await clock.advance(5);
  };
  await send("one");
  await send("two");
  expect(faults).toEqual([expect.stringMatching(/^the doorbell of .*ben@svc\.localhost failed: /)]);
  rmSync(inboxFolder);
  renameSync(away, inboxFolder);
  await send("three");
  expect(faults).toHaveLength(1);
  const { messages } = await ben.list(everything);
  expect(messages.map(({ subject }) => subject).sort()).toEqual(["one", "three", "two"]);
  rmSync(inboxFolder, { recursive: true });
  writeFileSync(inboxFolder, "no folder");
  await send("four");
  expect(faults).toHaveLength(2);
});
