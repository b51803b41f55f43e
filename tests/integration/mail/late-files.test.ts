import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { getMessage } from "../../../src/services/mail/filesystem/registration/accounts.ts";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import { clearMessages } from "../../../src/services/mail/filesystem/upkeep/clear.ts";
import { settle } from "../../support/fake-clock.ts";
import { answeredMail, waitingMail } from "../../support/late-mail.ts";
import { draft, everything } from "../../support/mail-story.ts";

// A message is answered once the index holds its text on disk; its file is synced later.

const lateSteps = ["mail.synced", "mail.folder-synced", "sql:mail-synced"];

describe("a message that was answered", () => {
  test("is synced in the background, once for all that came meanwhile", async () => {
    using has = await answeredMail();
    const second = await has.ada.send(draft("ben", "two"));
    expect(has.passed.filter((label) => lateSteps.includes(label))).toEqual([]);
    expect(has.waiting()).toEqual([has.id, second.message_ref.replace("filesystem:", "")]);
    await has.clock.advance(100);
    await has.filesOnDisk();
    expect(has.passed.filter((label) => lateSteps.includes(label))).toEqual([
      "mail.synced",
      "mail.synced",
      "mail.folder-synced",
      "sql:mail-synced",
    ]);
    expect(has.waiting()).toEqual([]);
    expect(has.clock.pending()).toBe(0);
    expect(has.faults).toEqual([]);
  });

  test("leaves a log of the index that is written over, and does not grow with each message", async () => {
    using has = await answeredMail();
    const sizes: number[] = [];
    for (let round = 0; round < 3; round++) {
      for (let nth = 0; nth < 33; nth++) await has.ada.send(draft("ben", `${round}, ${nth}`));
      await has.clock.advance(100);
      await has.filesOnDisk();
      sizes.push(statSync(join(has.fixture.path, "index.sqlite-wal")).size);
    }
    expect(Math.max(...sizes)).toBeLessThan(1.5 * (sizes[0] ?? 0));
  });

  test("is there at once for who reads it by another process", async () => {
    using has = await answeredMail();
    const other = has.fixture.reopen().openMailbox(has.ben);
    const { messages } = await other.list({ ...everything, includeBody: true });
    expect(messages.map((one) => [one.body_text, one.attestation])).toEqual([
      [has.mail.body_text, "verified"],
    ]);
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
    other.close();
  });

  test("is on disk, and linked, when its root is closed", async () => {
    using has = await answeredMail();
    has.fixture.root.close();
    expect(has.links.map((link) => readFileSync(link, "utf8"))).toEqual([has.text, has.text]);
    expect(has.passed.filter((label) => lateSteps.includes(label))).toEqual(lateSteps);
    expect(waitingMail(has.fixture.path)).toEqual([]);
    expect(has.clock.pending()).toBe(0);
  });

  test("is synced before the answer when it is long: the index holds no second copy", async () => {
    using has = await answeredMail({ body: "x".repeat(70_000) });
    expect(has.waiting()).toEqual([]);
    await has.clock.advance(1000);
    expect(has.passed).not.toContain("sql:mail-synced");
  });

  test("stays removed when it is cleared before it was synced", async () => {
    using has = await answeredMail();
    const { deps, root } = has.fixture;
    await clearMessages(deps, root, { address: null, dryRun: false });
    expect(has.waiting()).toEqual([]);
    await has.clock.advance(1000);
    has.fixture.putOnDisk();
    expect(existsSync(has.file)).toBe(false);
    expect((await has.ben.list(everything)).messages).toEqual([]);
  });
});

/** `isSilent`: nothing is there, as before a file is written. */
const losses: { id: string; lose: (file: string) => void; isSilent?: true }[] = [
  { id: "missing", lose: (file) => rmSync(file), isSilent: true },
  { id: "empty", lose: (file) => truncateSync(file, 0) },
  { id: "full of zeros", lose: (file) => writeFileSync(file, new Uint8Array(statSync(file).size)) },
  { id: "cut off in its body", lose: (file) => truncateSync(file, statSync(file).size - 3) },
  {
    id: "under the name that it had before",
    lose: (file) => renameSync(file, join(dirname(file), "../../staging", basename(file))),
    isSilent: true,
  },
  { id: "missing with its day", lose: (file) => rmSync(dirname(file), { recursive: true }), isSilent: true },
];

/** Of the page that holds the table of registrations' index; rows can still be read. */
function spoilIndex(path: string): void {
  const database = new Database(path);
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  database.run("DROP INDEX registrations_by_address");
  database.close();
}

describe("a loss of power", () => {
  test.each(losses)("that leaves the file $id loses nothing", async ({ lose, isSilent }) => {
    using has = await answeredMail();
    lose(has.file);
    const other = has.fixture.reopen().openMailbox(has.ben);
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
    expect(await other.read(has.mail.message_ref)).toMatchObject({
      body_text: has.mail.body_text,
      attestation: "verified",
    });
    const mended = `the file of ${has.id} was cut off or changed and is written again from the index`;
    expect(has.mended).toEqual(isSilent ? [] : [mended]);
    expect(has.waiting()).toEqual([]);
    expect(readdirSync(join(has.fixture.path, "staging"))).toEqual(["quarantine"]);
    other.close();
  });

  test.each([
    { id: "sound", spoil: () => {}, index: "in_place" },
    { id: "broken", spoil: spoilIndex, index: "fresh" },
  ] as const)("before a repair of a $id index loses nothing", async ({ spoil, index }) => {
    using has = await answeredMail();
    rmSync(has.file);
    spoil(join(has.fixture.path, "index.sqlite"));
    const options = { cleanupStaging: true, quarantineStaging: true };
    const result = await repairMailRoot({ ...has.fixture.deps }, has.fixture.path, options);
    expect(result.index_rebuilt).toBe(index);
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
    const other = has.fixture.reopen().openMailbox(has.ben);
    expect((await other.read(has.mail.message_ref)).body_text).toBe(has.mail.body_text);
    other.close();
  });
});

describe("a repair of a broken index", () => {
  const options = { cleanupStaging: true, quarantineStaging: true };

  test("puts on disk what waited there: the new one does not have its text", async () => {
    using has = await answeredMail();
    spoilIndex(join(has.fixture.path, "index.sqlite"));
    await repairMailRoot({ ...has.fixture.deps }, has.fixture.path, options);
    expect(has.waiting()).toEqual([]);
    const steps = ["mail.synced", "mail.folder-synced", "mail.index-placed"];
    expect(has.passed.filter((label) => steps.includes(label)).slice(0, 3)).toEqual(steps);
  });

  test("goes on where a text has no place in the root, and says so", async () => {
    using has = await answeredMail();
    const aside = has.fixture.scratch.path("aside");
    renameSync(dirname(has.file), aside);
    symlinkSync(aside, dirname(has.file));
    spoilIndex(join(has.fixture.path, "index.sqlite"));
    const { findings } = await repairMailRoot({ ...has.fixture.deps }, has.fixture.path, options);
    expect(findings.map(({ problem }) => problem).join("\n")).toContain("is a symbolic link");
    expect(readFileSync(join(aside, basename(has.file)), "utf8")).toBe(has.text);
  });
});

describe("a disk that is full when a file is to be synced", () => {
  test("keeps the text, is reported once, and is asked again", async () => {
    using has = await answeredMail();
    for (const label of ["mail.synced", "mail.staged"]) has.fails.add(label);
    await has.clock.advance(100);
    await has.clock.atRest();
    await has.clock.advance(10_000);
    await has.clock.atRest();
    expect(has.faults).toEqual([
      "files of delivered mail cannot be put on disk: no space left on device. Their texts are in the index, and it is tried again",
    ]);
    expect(has.waiting()).toEqual([has.id]);
    has.fails.clear();
    await has.clock.advance(10_000);
    await has.filesOnDisk();
    // After a sync that failed the system may take what it lost for written: the next sync alone proves
    // nothing.
    expect(has.passed).toContain("mail.staged");
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
  });

  test.each(losses)("keeps no one from reading what a loss of power left $id", async ({ lose }) => {
    using has = await answeredMail();
    lose(has.file);
    has.fails.add("mail.staged");
    const root = has.fixture.reopen();
    const other = root.openMailbox(has.ben);
    const { messages } = await other.list({
      ...everything,
      query: "bell",
      includeBody: true,
      onlyReadable: true,
    });
    expect(messages.map((one) => one.body_text)).toEqual([has.mail.body_text]);
    expect(await other.read(has.mail.message_ref)).toMatchObject({
      body_text: has.mail.body_text,
      attestation: "verified",
    });
    expect(getMessage(has.fixture.deps, root, has.ben.address, has.id).body).toBe(has.mail.body_text ?? "");
    expect(has.faults).toHaveLength(1);
    // What is there can be synced, and is not the message.
    await has.clock.advance(10_000);
    await settle();
    root.close();
    expect(has.waiting()).toEqual([has.id]);
    has.fails.clear();
    has.fixture.putOnDisk();
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
    other.close();
  });

  test("does not hold up the next message, which is synced", async () => {
    using has = await answeredMail();
    rmSync(has.file);
    mkdirSync(has.file);
    const second = await has.ada.send(draft("ben", "two"));
    await has.clock.advance(100);
    const secondId = second.message_ref.slice(11);
    await has.steps.until("the second to be on disk", () => !has.waiting().includes(secondId));
    expect(has.waiting()).toEqual([has.id]);
  });
});

test("a row of the index that names no message is dropped, and nothing is written", async () => {
  using has = await answeredMail();
  has.fixture.putOnDisk();
  const database = new Database(join(has.fixture.path, "index.sqlite"));
  const plant = database.query("INSERT INTO unsynced_messages (message_id, text) VALUES (?, ?)");
  const unknown = `msg-20260101T000000Z-${"a".repeat(32)}`;
  plant.run(unknown, `---\nmessage_id: "${unknown}"\n---\n\nplanted`);
  plant.run("../../../planted", "planted");
  plant.run(has.id, "planted");
  database.close();
  const before = readdirSync(has.fixture.path, { recursive: true }).sort();
  has.fixture.putOnDisk();
  expect(has.waiting()).toEqual([]);
  expect(readFileSync(has.file, "utf8")).toBe(has.text);
  expect(readdirSync(has.fixture.path, { recursive: true }).sort()).toEqual(before);
});
