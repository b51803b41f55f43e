import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";

/** Ben has archived a message, moved one, read one, sent one, and one is new; 60 more fill his archive. */
async function setup() {
  const mended: string[] = [];
  const fixture = createMailRootFixture({ onMended: (what) => void mended.push(what) });
  const ada = fixture.mailbox("ada");
  const ben = fixture.mailbox("ben");
  for (let nth = 0; nth < 60; nth++) await ada.send(draft("ben", `old ${nth}`));
  await ben.archive((await ben.list(everything)).messages.map((one) => one.message_ref));
  for (const subject of ["moved", "read", "new"]) await ada.send(draft("ben", subject));
  await ben.send(draft("ada", "mine"));
  const refs = new Map((await ben.list(everything)).messages.map((one) => [one.subject, one.message_ref]));
  await ben.move([refs.get("moved") ?? ""], "later");
  await ben.read(refs.get("read") ?? "");
  const folder = join(fixture.path, "mailboxes", ben.address);
  return {
    fixture,
    ben,
    mended,
    lose() {
      for (const ending of ["", "-wal", "-shm"])
        rmSync(join(folder, `mailbox.sqlite${ending}`), { force: true });
    },
    links: (box: string) => readdirSync(join(folder, box)).length,
    async boxes(mailbox = ben) {
      const subjects = async (box: string) =>
        (await mailbox.list({ ...everything, box })).messages.map(({ subject, read }) => [subject, read]);
      return {
        inbox: (await subjects("inbox")).toSorted(),
        later: await subjects("later"),
        sent: await subjects("sent"),
        archived: (await subjects("archive")).length,
      };
    },
    [Symbol.dispose]: () => fixture[Symbol.dispose](),
  };
}

const afterwards = {
  // Whether a message in the inbox was read stood in the lost file alone.
  inbox: [
    ["new", false],
    ["read", false],
  ],
  later: [["moved", true]],
  sent: [["mine", true]],
  archived: 60,
};

describe("a mailbox.sqlite that is lost", () => {
  test("under a live gateway is made again from the boxes on disk, which is said", async () => {
    using has = await setup();
    has.lose();
    expect(await has.boxes()).toEqual(afterwards);
    expect(has.mended).toEqual([expect.stringContaining("mailbox.sqlite of ben@svc.localhost was missing")]);
    expect(["inbox", "later", "archive", "sent"].map(has.links)).toEqual([2, 1, 60, 1]);
  });

  test("while nobody had it open is too", async () => {
    using has = await setup();
    has.ben.close();
    has.lose();
    const again = has.fixture
      .reopen()
      .openMailbox({ address: has.ben.address, principalId: has.ben.principalId });
    expect(await has.boxes(again)).toEqual(afterwards);
    expect(has.mended).toHaveLength(1);
    again.close();
  });

  test("a mailbox that is new, and one that was opened never before, have lost nothing", async () => {
    using has = await setup();
    const carl = has.fixture.mailbox("carl");
    await has.ben.send(draft("carl", "first"));
    expect((await carl.list(everything)).messages).toHaveLength(1);
    expect(has.mended).toEqual([]);
  });
});
