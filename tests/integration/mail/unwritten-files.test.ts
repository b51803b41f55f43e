import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { verifyHistories } from "../../../src/services/mail/filesystem/delivery/history.ts";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import { openMailRoot } from "../../../src/services/mail/filesystem/root.ts";
import { clearMessages } from "../../../src/services/mail/filesystem/upkeep/clear.ts";
import { exportMailRoot } from "../../../src/services/mail/filesystem/upkeep/export.ts";
import type { Mail } from "../../../src/services/mail/mailbox.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { sentMail } from "../../support/late-mail.ts";
import { draft, everything } from "../../support/mail-story.ts";

// A message is answered once the index holds its text on disk; its file and its links follow.

describe("the file of a message that was answered", () => {
  test("is written, and linked, once no other message came for 5 ms", async () => {
    using has = await sentMail();
    await has.clock.advance(4);
    const second = await has.ada.send(draft("ben", "two"));
    await has.clock.advance(4);
    expect([has.file, ...has.links].filter((path) => existsSync(path))).toEqual([]);
    await has.clock.advance(1);
    const name = basename(has.file);
    const names = [name, `${second.message_ref.slice("filesystem:".length)}.md`].sort();
    for (const path of [has.file, ...has.links]) expect(readdirSync(dirname(path)).sort()).toEqual(names);
    expect(has.links.map((link) => readFileSync(link, "utf8"))).toEqual(
      Array(2).fill(readFileSync(has.file, "utf8")),
    );
    expect(has.mended).toEqual([]);
    expect(has.passed).not.toContain("mail.synced");
  });

  test("does not wait longer than 50 ms for a sender that is never quiet", async () => {
    using has = await sentMail();
    for (let ms = 0; ms < 48; ms += 4) {
      await has.clock.advance(4);
      await has.ada.send(draft("ben", `after ${ms}`));
    }
    expect(existsSync(has.file)).toBe(false);
    await has.clock.advance(2);
    expect(existsSync(has.file)).toBe(true);
    await has.clock.advance(5);
    expect(readdirSync(dirname(has.file))).toHaveLength(13);
  });

  test("follows in its turn when its message comes while others are written", async () => {
    using has = await sentMail();
    await has.ada.send(draft("ben", "two"));
    const third: Promise<Mail>[] = [];
    has.onStep.set("sql:mail-filed", () => third.push(has.ada.send(draft("ben", "three"))));
    await has.clock.advance(4);
    expect(third).toEqual([]);
    await has.clock.advance(1);
    expect(third).toHaveLength(1);
    expect(readdirSync(dirname(has.file))).toHaveLength(2);
    await has.clock.advance(5);
    expect(readdirSync(dirname(has.file))).toHaveLength(3);
  });

  test("is written by a look at a mailbox of the same process", async () => {
    using has = await sentMail();
    const { messages } = await has.ben.list({ ...everything, includeBody: true });
    expect(messages.map((one) => one.body_text)).toEqual([has.mail.body_text]);
    for (const path of [has.file, ...has.links])
      expect(readFileSync(path, "utf8")).toContain("The bell rings");
  });

  test("is not needed by a process that had the root open, which writes it when its sender has died", async () => {
    using has = await sentMail();
    const clock = createFakeClock();
    const root = openMailRoot({ ...has.fixture.deps, clock }, has.fixture.path);
    const other = root.openMailbox(has.ben);
    // The clock of its sender stands still.
    const mail = await has.ada.send({ ...draft("ben", "two"), body: "The bell rings again." });
    const file = join(dirname(has.file), `${mail.message_ref.slice(11)}.md`);
    expect(await other.read(mail.message_ref)).toMatchObject({
      body_text: "The bell rings again.",
      attestation: "verified",
    });
    expect(await verifyHistories(has.fixture.deps, root, { address: has.ada.address })).toMatchObject([
      { entry_count: 2, broken: null },
    ]);
    expect(existsSync(file)).toBe(false);
    await clock.advance(100);
    await has.filesOnDisk();
    expect(readFileSync(file, "utf8")).toContain("rings again");
    expect(has.mended).toEqual([]);
    other.close();
    root.close();
  });

  test("is exported by another process that starts before it is there", async () => {
    using has = await sentMail();
    const root = has.fixture.reopen();
    const second = await has.ada.send({ ...draft("ben", "two"), body: "The bell rings again." });
    const outputDir = has.fixture.scratch.path("exported");
    const result = await exportMailRoot(has.fixture.deps, root, {
      outputDir,
      addresses: null,
      symlinkMode: "preserve",
    });
    expect(result).toMatchObject({ message_count: 2, blocked_artifacts: [] });
    const day = join(outputDir, "messages", second.created_at_utc.slice(0, 10));
    expect(readFileSync(join(day, `${second.message_ref.slice(11)}.md`), "utf8")).toContain("rings again");
  });

  test("is not missed by a repair that runs meanwhile", async () => {
    using has = await sentMail();
    const options = { cleanupStaging: false, quarantineStaging: false };
    const second: Promise<Mail>[] = [];
    const { findings } = await repairMailRoot(has.fixture.deps, has.fixture.path, {
      ...options,
      onProgress: () => {
        if (second.length === 0) second.push(has.ada.send(draft("ben", "two")));
      },
    });
    expect(second).toHaveLength(1);
    expect(findings).toEqual([]);
    expect(readdirSync(dirname(has.file))).toHaveLength(2);
  });

  test("is not written once its message was cleared", async () => {
    using has = await sentMail();
    await clearMessages(has.fixture.deps, has.fixture.reopen(), { address: null, dryRun: false });
    await has.clock.advance(1000);
    has.fixture.putOnDisk();
    expect(existsSync(has.file)).toBe(false);
    expect((await has.ben.list(everything)).messages).toEqual([]);
  });

  test("is written when another index took the place of the one that has its text", async () => {
    using has = await sentMail();
    for (const ending of ["", "-wal", "-shm"]) rmSync(join(has.fixture.path, `index.sqlite${ending}`));
    await repairMailRoot({ ...has.fixture.deps }, has.fixture.path, {
      cleanupStaging: true,
      quarantineStaging: true,
    });
    expect(existsSync(has.file)).toBe(false);
    await has.clock.advance(5);
    expect(readFileSync(has.file, "utf8")).toContain("The bell rings");
  });

  test.each([
    { id: "was removed", spoil: (path: string) => rmSync(path) },
    { id: "was emptied", spoil: (path: string) => truncateSync(path, 0) },
    { id: "is no database", spoil: (path: string) => writeFileSync(path, "x".repeat(100_000)) },
  ])("is written all the same where the index $id, and a repair finds it", async ({ spoil }) => {
    using has = await sentMail();
    const index = join(has.fixture.path, "index.sqlite");
    for (const ending of ["-wal", "-shm"]) rmSync(index + ending);
    spoil(index);
    await has.clock.advance(5);
    expect(readFileSync(has.file, "utf8")).toContain("The bell rings");
    const options = { cleanupStaging: true, quarantineStaging: true };
    await repairMailRoot({ ...has.fixture.deps }, has.fixture.path, options);
    const again = has.fixture.reopen().openMailbox(has.ben);
    expect((await again.list(everything)).messages.map(({ subject }) => subject)).toEqual(["one"]);
    again.close();
  });

  test("is tried again, and read from the index, where the disk is full", async () => {
    using has = await sentMail();
    has.fails.add("mail.staged");
    await has.clock.advance(5);
    expect(existsSync(has.file)).toBe(false);
    expect(has.faults).toEqual([
      "files of delivered mail cannot be put on disk: no space left on device. Their texts are in the index, and it is tried again",
    ]);
    expect((await has.ben.read(has.mail.message_ref)).body_text).toBe(has.mail.body_text);
    has.fails.clear();
    await has.clock.advance(10_000);
    await has.filesOnDisk();
    expect(readFileSync(has.file, "utf8")).toContain("The bell rings");
  });

  test("does not hold up a look while another process writes to the index", async () => {
    using has = await sentMail();
    const database = new Database(join(has.fixture.path, "index.sqlite"));
    database.run("BEGIN IMMEDIATE");
    for (const mailbox of [has.ben, has.ada]) await mailbox.list(everything);
    expect(existsSync(has.file)).toBe(false);
    await has.clock.advance(100);
    await has.clock.atRest();
    expect(has.passed).not.toContain("mail.staged");
    database.run("ROLLBACK");
    database.close();
    await has.clock.advance(100);
    await has.filesOnDisk();
    expect(readFileSync(has.file, "utf8")).toContain("The bell rings");
    expect(has.faults).toEqual([]);
  });

  test("is not written through a link that took the place of its day", async () => {
    using has = await sentMail();
    const outside = has.fixture.scratch.path("outside");
    mkdirSync(outside);
    symlinkSync(outside, dirname(has.file));
    await has.clock.advance(5);
    expect(readdirSync(outside)).toEqual([]);
    expect(has.faults).toEqual(Array(3).fill(expect.stringContaining("is a symbolic link")));
    rmSync(dirname(has.file));
    await has.clock.advance(10_000);
    await has.filesOnDisk();
    expect(readFileSync(has.file, "utf8")).toContain("The bell rings");
  });

  test("follows also where the answer was lost behind the commit", async () => {
    using has = await sentMail();
    await has.clock.advance(200);
    await has.filesOnDisk();
    has.onStep.set("sql:mail-delivered", () => {
      throw new Error("the answer is lost");
    });
    expect(await awaitOutcome(has.ada.send(draft("ben", "two")))).toThrow("the answer is lost");
    expect(has.waiting()).toHaveLength(1);
    await has.clock.advance(100);
    await has.filesOnDisk();
    expect(readdirSync(dirname(has.file))).toHaveLength(2);
  });
});

describe("the link of a message that was answered", () => {
  test("is not made once the message was cleared", async () => {
    using has = await sentMail();
    const address = has.ben.address;
    await clearMessages(has.fixture.deps, has.fixture.reopen(), { address, dryRun: false });
    await has.clock.advance(5);
    expect(has.links.map((link) => lstatSync(link, { throwIfNoEntry: false }) !== undefined)).toEqual([
      true,
      false,
    ]);
  });

  test("is not made where the owner has moved the message by another process", async () => {
    using has = await sentMail();
    const elsewhere = has.fixture.reopen().openMailbox(has.ben);
    await elsewhere.move([has.mail.message_ref], "later");
    await has.clock.advance(5);
    const folder = join(has.fixture.path, "mailboxes", has.ben.address);
    expect(["inbox", "later"].map((box) => readdirSync(join(folder, box)).length)).toEqual([0, 1]);
    elsewhere.close();
  });

  test.each(["force", "stash"] as const)(
    "is not made in the mailbox of who has got the address since: %s",
    async (mode) => {
      using has = await sentMail();
      const { address } = has.ben;
      has.fixture.reopen().registrations.register({ address, principalId: "SVC-eve", mode });
      await has.clock.advance(5);
      expect(readdirSync(join(has.fixture.path, "mailboxes", address, "inbox"))).toEqual([]);
    },
  );
});

test("a message that comes while a repair makes a new index is on disk when it ends, and the next repair adds it", async () => {
  using has = await sentMail();
  const database = new Database(join(has.fixture.path, "index.sqlite"));
  database.run("DROP INDEX registrations_by_address");
  database.close();
  const options = { cleanupStaging: false, quarantineStaging: false };
  const second: Promise<Mail>[] = [];
  await repairMailRoot(has.fixture.deps, has.fixture.path, {
    ...options,
    onProgress: () => {
      if (second.length === 0) second.push(has.ada.send(draft("ben", "two")));
    },
  });
  expect(readdirSync(dirname(has.file))).toHaveLength(2);
  await has.clock.advance(5);
  expect(has.faults).toEqual([expect.stringContaining("a repair of the mailboxes adds it to the new one")]);
  await repairMailRoot(has.fixture.deps, has.fixture.path, options);
  const { messages } = await has.fixture.reopen().openMailbox(has.ben).list(everything);
  expect(messages.map(({ subject }) => subject).sort()).toEqual(["one", "two"]);
});
