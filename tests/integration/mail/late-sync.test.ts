import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import {
  existsSync,
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
import { getMessage } from "../../../src/services/mail/filesystem/accounts.ts";
import { clearMessages } from "../../../src/services/mail/filesystem/clear.ts";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";
import { until } from "../../support/until.ts";

// A message is answered once the index holds its text on disk; its file is synced later.

const disposals: Disposable[] = [];
afterEach(() => {
  for (const one of disposals.splice(0)) one[Symbol.dispose]();
});

/** A message of ada to ben that was answered and not synced. `fails`: the steps that the disk refuses, as it is full. */
async function answered({ subject = "one", body = "The bell rings at noon." } = {}) {
  const clock = createFakeClock();
  const passed: string[] = [];
  const fails = new Set<string>();
  const mended: string[] = [];
  const faults: string[] = [];
  const fixture = createMailRootFixture({
    system: { clock },
    onMended: (what) => mended.push(what),
    onFault: (what) => faults.push(what),
    steps: {
      before(label) {
        if (fails.has(label)) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      },
      after: (label) => passed.push(label),
    },
  });
  disposals.push(fixture);
  const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  passed.length = 0;
  const mail = await ada.send({ ...draft("ben", subject), body });
  const id = mail.message_ref.replace("filesystem:", "");
  const file = join(fixture.path, "messages", mail.created_at_utc.slice(0, 10), `${id}.md`);
  const text = readFileSync(file, "utf8");
  return {
    fixture,
    clock,
    passed,
    fails,
    mended,
    faults,
    ada,
    ben,
    mail,
    id,
    file,
    text,
    waiting: () => waiting(fixture.path),
  };
}

/** Ids of the messages whose texts the index keeps. */
function waiting(path: string): string[] {
  const database = new Database(join(path, "index.sqlite"), { readonly: true });
  const rows = database
    .query<{ id: string }, []>("SELECT message_id AS id FROM unsynced_messages ORDER BY seq")
    .all();
  database.close();
  return rows.map(({ id }) => id);
}

const lateSteps = ["mail.synced", "mail.folder-synced", "sql:mail-synced"];

describe("a message that was answered", () => {
  test("is synced in the background, once for all that came meanwhile", async () => {
    const has = await answered();
    const second = await has.ada.send(draft("ben", "two"));
    expect(has.passed.filter((label) => lateSteps.includes(label))).toEqual([]);
    expect(has.waiting()).toEqual([has.id, second.message_ref.replace("filesystem:", "")]);
    await has.clock.advance(100);
    await until("the files to be on disk", () => has.passed.includes("sql:mail-synced"));
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
    const has = await answered();
    const sizes: number[] = [];
    for (let round = 0; round < 3; round++) {
      for (let nth = 0; nth < 33; nth++) await has.ada.send(draft("ben", `${round}, ${nth}`));
      await has.clock.advance(100);
      await until("the files to be on disk", () => has.waiting().length === 0);
      sizes.push(statSync(join(has.fixture.path, "index.sqlite-wal")).size);
    }
    expect(Math.max(...sizes)).toBeLessThan(1.5 * (sizes[0] ?? 0));
  });

  test("is there at once for who reads it by another process", async () => {
    const has = await answered();
    const other = has.fixture.reopen().openMailbox(has.ben);
    const { messages } = await other.list({ ...everything, includeBody: true });
    expect(messages.map((one) => [one.body_text, one.attestation])).toEqual([
      [has.mail.body_text, "verified"],
    ]);
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
    other.close();
  });

  test("is on disk, and linked, when its root is closed", async () => {
    const has = await answered();
    const links = ["ada@svc.localhost/sent", "ben@svc.localhost/inbox"].map((box) =>
      join(has.fixture.path, "mailboxes", box, `${has.id}.md`),
    );
    has.fixture.root.close();
    expect(links.map((link) => readFileSync(link, "utf8"))).toEqual([has.text, has.text]);
    expect(has.passed.filter((label) => lateSteps.includes(label))).toEqual(lateSteps);
    expect(waiting(has.fixture.path)).toEqual([]);
    expect(has.clock.pending()).toBe(0);
  });

  test("is synced before the answer when it is long: the index holds no second copy", async () => {
    const has = await answered({ body: "x".repeat(70_000) });
    expect(has.waiting()).toEqual([]);
    await has.clock.advance(1000);
    expect(has.passed).not.toContain("sql:mail-synced");
  });

  test("stays removed when it is cleared before it was synced", async () => {
    const has = await answered();
    const { deps, root } = has.fixture;
    await clearMessages(deps, root, { address: null, dryRun: false });
    expect(has.waiting()).toEqual([]);
    await has.clock.advance(1000);
    has.fixture.putOnDisk();
    expect(existsSync(has.file)).toBe(false);
    expect((await has.ben.list(everything)).messages).toEqual([]);
  });
});

const losses: { id: string; lose: (file: string) => void }[] = [
  { id: "missing", lose: (file) => rmSync(file) },
  { id: "empty", lose: (file) => truncateSync(file, 0) },
  { id: "full of zeros", lose: (file) => writeFileSync(file, new Uint8Array(statSync(file).size)) },
  { id: "cut off in its body", lose: (file) => truncateSync(file, statSync(file).size - 3) },
  {
    id: "under the name that it had before",
    lose: (file) => renameSync(file, join(dirname(file), "../../staging", basename(file))),
  },
  { id: "missing with its day", lose: (file) => rmSync(dirname(file), { recursive: true }) },
];

/** Of the page that holds the table of registrations' index; rows can still be read. */
function spoilIndex(path: string): void {
  const database = new Database(path);
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  database.run("DROP INDEX registrations_by_address");
  database.close();
}

describe("a loss of power", () => {
  test.each(losses)("that leaves the file $id loses nothing", async ({ lose }) => {
    const has = await answered();
    lose(has.file);
    const other = has.fixture.reopen().openMailbox(has.ben);
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
    expect(await other.read(has.mail.message_ref)).toMatchObject({
      body_text: has.mail.body_text,
      attestation: "verified",
    });
    expect(has.mended).toEqual([
      `the file of ${has.id} was lost or cut off and is written again from the index`,
    ]);
    expect(has.waiting()).toEqual([]);
    expect(readdirSync(join(has.fixture.path, "staging"))).toEqual(["quarantine"]);
    other.close();
  });

  test.each([
    { id: "sound", spoil: () => {}, index: "in_place" },
    { id: "broken", spoil: spoilIndex, index: "fresh" },
  ] as const)("before a repair of a $id index loses nothing", async ({ spoil, index }) => {
    const has = await answered();
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
    const has = await answered();
    spoilIndex(join(has.fixture.path, "index.sqlite"));
    await repairMailRoot({ ...has.fixture.deps }, has.fixture.path, options);
    expect(has.waiting()).toEqual([]);
    const steps = ["mail.synced", "mail.folder-synced", "mail.index-placed"];
    expect(has.passed.filter((label) => steps.includes(label))).toEqual(steps);
  });

  test("goes on where a text has no place in the root, and says so", async () => {
    const has = await answered();
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
    const has = await answered();
    for (const label of ["mail.synced", "mail.rewritten"]) has.fails.add(label);
    await has.clock.advance(100);
    await settle();
    await until("the fault to be reported", () => has.faults.length > 0);
    await has.clock.advance(10_000);
    await settle();
    expect(has.faults).toEqual([
      "files of delivered mail cannot be put on disk: no space left on device. Their texts are in the index, and it is tried again",
    ]);
    expect(has.waiting()).toEqual([has.id]);
    has.fails.clear();
    await until("the next attempt", async () => {
      await has.clock.advance(10_000);
      return has.passed.includes("sql:mail-synced");
    });
    expect(has.waiting()).toEqual([]);
    // After a sync that failed the system may take what it lost for written: the next sync alone proves nothing.
    expect(has.passed).toContain("mail.rewritten");
    expect(readFileSync(has.file, "utf8")).toBe(has.text);
  });

  test.each(losses)("keeps no one from reading what a loss of power left $id", async ({ lose }) => {
    const has = await answered();
    lose(has.file);
    has.fails.add("mail.rewritten");
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
    const has = await answered();
    rmSync(has.file);
    has.fails.add("mail.rewritten");
    const second = await has.ada.send(draft("ben", "two"));
    await has.clock.advance(100);
    await until("the second to be on disk", () => !has.waiting().includes(second.message_ref.slice(11)));
    expect(has.waiting()).toEqual([has.id]);
  });
});

test("a row of the index that names no message is dropped, and nothing is written", async () => {
  const has = await answered();
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
