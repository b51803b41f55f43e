import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { RepairResult } from "../../../src/protocol/mailbox-admin.ts";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import type { Mailbox } from "../../../src/services/mail/mailbox.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createMailRootFixture, type MailRootFixture } from "../../support/mail-root.ts";
import { draft, everything, liveThroughADay, viewOf } from "../../support/mail-story.ts";

const asked = { cleanupStaging: true, quarantineStaging: true };

async function repair(fixture: MailRootFixture) {
  const result = await repairMailRoot(fixture.deps, fixture.path, asked);
  expect([...Value.Errors(RepairResult, result)]).toEqual([]);
  return result;
}

/** The mailboxes as a process sees them that comes afterwards. */
function opener(fixture: MailRootFixture): (name: string) => Mailbox {
  const root = fixture.reopen();
  return (name) => root.openMailbox({ address: `${name}@svc.localhost`, principalId: `SVC-${name}` });
}

function replace(path: string, text: string): void {
  drop(path);
  writeFileSync(path, text);
}

function spoil(path: string, from: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0x5a, from, Math.min(bytes.length, from + 6000));
  writeFileSync(path, bytes);
}

/** Removes a database with what belongs to it, as if it had never been. */
function drop(path: string): void {
  for (const ending of ["", "-wal", "-shm"]) rmSync(path + ending, { force: true });
}

/** Everything that was written is in the files themselves. */
function settle(fixture: MailRootFixture): void {
  const mailboxes = join(fixture.path, "mailboxes");
  const states = readdirSync(mailboxes).map((name) => join(mailboxes, name, "mailbox.sqlite"));
  for (const path of [join(fixture.path, "index.sqlite"), ...states].filter((one) => existsSync(one))) {
    const database = new Database(path);
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
  }
}

function canonicalOf(fixture: MailRootFixture, subject: string): string {
  const folder = fixture.scratch.path("mailbox/messages");
  for (const day of readdirSync(folder)) {
    for (const name of readdirSync(join(folder, day))) {
      const path = join(folder, day, name);
      if (readFileSync(path, "utf8").includes(`subject: "${subject}"`)) return path;
    }
  }
  throw new Error(`no message ${subject}`);
}

describe("a repair of the index", () => {
  test("leaves a root that is in order as it is", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const before = await viewOf(opener(fixture));
    const result = await repair(fixture);
    expect(result).toMatchObject({
      ok: true,
      message_count: 8,
      registration_count: 4,
      defaulted_state_count: 0,
      staging_artifact_count: 0,
      backed_up_index_path: null,
      index_rebuilt: "in_place",
      findings: [],
    });
    expect(result.restored_state_count).toBe(result.projection_count);
    expect(await viewOf(opener(fixture))).toEqual(before);
    expect(await repair(fixture)).toEqual(result);
  });

  const losses: { id: string; lose: (index: string) => void; backup: boolean }[] = [
    { id: "missing", lose: drop, backup: false },
    { id: "no database", lose: (index) => replace(index, "not a database".repeat(99)), backup: true },
    { id: "spoiled inside", lose: (index) => spoil(index, 8192), backup: true },
    { id: "empty", lose: (index) => replace(index, ""), backup: true },
  ];
  test.each(losses)("that is $id brings back every message, flag and owner", async ({ lose, backup }) => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const before = await viewOf(opener(fixture));
    settle(fixture);
    const index = join(fixture.path, "index.sqlite");
    lose(index);
    for (const ending of ["-wal", "-shm"]) rmSync(index + ending, { force: true });
    const result = await repair(fixture);
    expect(result.message_count).toBe(8);
    expect(result.backed_up_index_path !== null).toBe(backup);
    if (result.backed_up_index_path) expect(existsSync(result.backed_up_index_path)).toBe(true);
    expect(await viewOf(opener(fixture))).toEqual(before);
    expect(
      (await repair(fixture)).findings.filter((one) => !one.problem.startsWith("its registration")),
    ).toEqual([]);
    expect(await viewOf(opener(fixture))).toEqual(before);
  });

  test("is noticed by a process that had the old one open", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const ann = fixture.mailbox("ann");
    drop(join(fixture.path, "index.sqlite"));
    await repair(fixture);
    const { message_ref } = await ann.send(draft("bob", "afterwards"));
    expect((await opener(fixture)("bob").peek(message_ref)).subject).toBe("afterwards");
  });

  test("gives who has not looked yet what he was sent, unread, and leaves to the others what they have", async () => {
    using fixture = createMailRootFixture();
    const ann = fixture.mailbox("ann");
    fixture.mailbox("bob");
    await ann.send(draft("bob", "news", { cc: ["ann@svc.localhost"] }));
    fixture.putOnDisk();
    const inbox = fixture.scratch.path("mailbox/mailboxes/bob@svc.localhost/inbox");
    for (const name of readdirSync(inbox)) unlinkSync(join(inbox, name));
    settle(fixture);
    drop(join(fixture.path, "index.sqlite"));
    await repair(fixture);
    const { messages } = await opener(fixture)("bob").list(everything);
    expect(messages.map((one) => [one.subject, one.unread])).toEqual([["news", true]]);
  });

  test("brings a stashed mailbox back as stashed", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    fixture.root.registrations.register({
      address: "bob@svc.localhost",
      principalId: "SVC-other",
      mode: "stash",
    });
    settle(fixture);
    drop(join(fixture.path, "index.sqlite"));
    await repair(fixture);
    const rows = fixture.reopen().registrations.list();
    expect(
      rows
        .filter((one) => one.address === "bob@svc.localhost")
        .map((one) => one.status)
        .sort(),
    ).toEqual(["active", "stashed"]);
    expect(rows.some((one) => one.address.includes("--"))).toBe(false);
  });
});

test("a mailbox that leads to a folder of nobody is reported with its remedy", async () => {
  using fixture = createMailRootFixture();
  const folder = fixture.scratch.path("elsewhere");
  mkdirSync(join(folder, "inbox"), { recursive: true });
  symlinkSync(folder, join(fixture.path, "mailboxes", "zoe@svc.localhost"));
  expect((await repair(fixture)).findings).toEqual([
    {
      path: "mailboxes/zoe@svc.localhost",
      problem: "it leads to a folder that this user did not register",
      moved_to: null,
      remedy: { code: "register_folder" },
    },
  ]);
});

describe("a repair of a mailbox", () => {
  const bobs = "mailbox/mailboxes/bob@svc.localhost/mailbox.sqlite";

  test("whose state is gone puts every message into the box where its link lies", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const before = await viewOf(opener(fixture));
    settle(fixture);
    drop(fixture.scratch.path(bobs));
    const result = await repair(fixture);
    expect(result.defaulted_state_count).toBe(7);
    const after = await viewOf(opener(fixture));
    const boxes = (lines: string[] | undefined) => lines?.map((line) => line.split(",")[0]);
    expect(boxes(after["bob"])).toEqual(boxes(before["bob"]));
    expect(after["bob"]).toContain("archive: archived, read");
    expect({ ...after, bob: [] }).toEqual({ ...before, bob: [] });
  });

  test("whose state is no database keeps the old file and says so", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    await viewOf(opener(fixture));
    replace(fixture.scratch.path(bobs), "garbage".repeat(1000));
    const { findings, defaulted_state_count } = await repair(fixture);
    expect(defaulted_state_count).toBe(7);
    const [finding] = findings;
    expect(finding?.problem).toContain("the state of bob@svc.localhost could not be used");
    expect(readFileSync(join(fixture.path, finding?.moved_to ?? ""), "utf8")).toStartWith("garbage");
  });

  test("whose state is spoiled inside keeps the flags that can be read", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const before = await viewOf(opener(fixture));
    settle(fixture);
    const path = fixture.scratch.path(bobs);
    // The last page belongs to an index or the search, not to the flags.
    spoil(path, statSync(path).size - 4096);
    const result = await repair(fixture);
    expect(result.restored_state_count + result.defaulted_state_count).toBe(result.projection_count);
    const after = await viewOf(opener(fixture));
    const boxes = (lines: string[] | undefined) => lines?.map((line) => line.split(",")[0]);
    expect(boxes(after["bob"])).toEqual(boxes(before["bob"]));
  });

  test("makes links again where they are missing and removes those that lead nowhere", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    await viewOf(opener(fixture));
    const mailbox = fixture.scratch.path("mailbox/mailboxes/bob@svc.localhost");
    const archive = join(mailbox, "archive");
    const [name = ""] = readdirSync(archive);
    unlinkSync(join(archive, name));
    const stray = `msg-20200101T000000Z-${"0".repeat(32)}.md`;
    symlinkSync("/nowhere", join(mailbox, "inbox", stray));
    const { findings } = await repair(fixture);
    expect(lstatSync(join(archive, name)).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(mailbox, "inbox"))).not.toContain(stray);
    expect(findings).toHaveLength(1);
  });

  test("finds words again that the search has lost", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    await viewOf(opener(fixture));
    settle(fixture);
    const database = new Database(fixture.scratch.path(bobs));
    database.run("DELETE FROM message_text");
    database.close();
    const search = async () =>
      (await opener(fixture)("bob").list({ ...everything, query: "unread" })).messages.length;
    expect(await search()).toBe(0);
    await repair(fixture);
    expect(await search()).toBe(1);
  });
});

describe("a repair that fails while it swaps a database", () => {
  test.each([
    "mail.quarantine",
    "mail.index-kept",
    "mail.index-placed",
    "mail.index-dropped",
    "mail.state-kept",
    "mail.state-placed",
    "mail.state-dropped",
  ])("at %s leaves the old one or the new one, and the next repair finishes", async (label) => {
    let fails = false;
    using fixture = createMailRootFixture({
      steps: {
        before(step) {
          if (fails && step === label) throw new Error("the disk is gone");
        },
        after() {},
      },
    });
    await liveThroughADay(fixture);
    const before = await viewOf(opener(fixture));
    settle(fixture);
    const index = join(fixture.path, "index.sqlite");
    spoil(index, 8192);
    const state = fixture.scratch.path("mailbox/mailboxes/bob@svc.localhost/mailbox.sqlite");
    spoil(state, statSync(state).size - 4096);
    const bytes = readFileSync(index);
    fails = true;
    expect(await awaitOutcome(repair(fixture))).toThrow("the disk is gone");
    fails = false;
    // Each old one is where it was or is kept, whole.
    const kept = readdirSync(fixture.path, { recursive: true }).map(String);
    const olds = kept.filter((name) => name.endsWith("index.sqlite"));
    expect(olds.some((name) => readFileSync(join(fixture.path, name)).equals(bytes))).toBe(true);
    await repair(fixture);
    const after = await viewOf(opener(fixture));
    const boxes = (lines: string[] | undefined) => lines?.map((line) => line.split(",")[0]);
    expect(boxes(after["bob"])).toEqual(boxes(before["bob"]));
    expect({ ...after, bob: [] }).toEqual({ ...before, bob: [] });
    const left = readdirSync(fixture.path, { recursive: true }).map(String);
    expect(left.filter((name) => /sqlite\.(new|whole)/.test(name))).toEqual([]);
  });
});

describe("a repair of messages", () => {
  test("reports a damaged file, keeps its present state, and goes on with the others", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const before = await viewOf(opener(fixture));
    const path = canonicalOf(fixture, "archived");
    const whole = readFileSync(path, "utf8");
    writeFileSync(path, "---\nnonsense");
    const result = await repair(fixture);
    expect(result.findings).toEqual([
      {
        path: path.slice(fixture.path.length + 1),
        problem: "it cannot be read as a message: it has no front matter",
        moved_to: null,
      },
    ]);
    expect(await viewOf(opener(fixture))).toEqual(before);
    writeFileSync(path, whole);
    expect((await repair(fixture)).findings).toEqual([]);
  });

  test("reports a file that is missing and of one that hides behind a link", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const missing = canonicalOf(fixture, "read");
    rmSync(missing);
    const linked = canonicalOf(fixture, "moved");
    rmSync(linked);
    symlinkSync("/etc/hostname", linked);
    const { findings } = await repair(fixture);
    expect(findings.map((one) => one.problem).sort()).toEqual([
      "it is a symbolic link where a message should be",
      "the file of this message is missing",
    ]);
  });

  const leftovers: { id: string; options: { quarantineStaging: boolean }; kept: boolean }[] = [
    {
      id: "puts what an interrupted send left into the quarantine",
      options: { quarantineStaging: true },
      kept: true,
    },
    { id: "removes it when asked to", options: { quarantineStaging: false }, kept: false },
  ];
  test.each(leftovers)("$id", async ({ options, kept }) => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const staged = join(fixture.path, "staging", "left.md");
    writeFileSync(staged, "half a mess");
    const orphan = join(fixture.path, "messages", "2026-01-01");
    fixture.deps.files.ensureDirectory("test", orphan);
    const id = `msg-20260101T000000Z-${"a".repeat(32)}`;
    const text = readFileSync(canonicalOf(fixture, "unread"), "utf8")
      .replaceAll(/msg-\d{8}T\d{6}Z-[0-9a-f]{32}/g, id)
      .replace(/created_at_utc: .*/, 'created_at_utc: "2026-01-01T00:00:00.000Z"');
    writeFileSync(join(orphan, `${id}.md`), text);
    const old = new Date(Date.now() - 60_000);
    for (const path of [staged, join(orphan, `${id}.md`)]) utimesSync(path, old, old);
    const result = await repairMailRoot(fixture.deps, fixture.path, { ...asked, ...options });
    expect(result).toMatchObject({
      message_count: 8,
      staging_action: kept ? "quarantine" : "remove",
      staging_artifact_paths: ["staging/left.md"],
    });
    expect(existsSync(staged)).toBe(false);
    expect(result.findings).toHaveLength(1);
    const [finding] = result.findings;
    expect(finding?.problem).toBe("it was never delivered");
    expect(existsSync(join(fixture.path, finding?.moved_to ?? ""))).toBe(true);
    const quarantine = readdirSync(join(fixture.path, "staging", "quarantine"), { recursive: true }).map(
      String,
    );
    expect(quarantine.some((name) => name.endsWith("left.md"))).toBe(kept);
  });

  test("ends where it is asked to, and the root is as right as before", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const before = await viewOf(opener(fixture));
    const stop = new AbortController();
    const seen: string[] = [];
    const run = repairMailRoot(fixture.deps, fixture.path, {
      ...asked,
      signal: stop.signal,
      onProgress({ step }) {
        seen.push(step);
        if (step === "reading messages") stop.abort();
      },
    });
    expect(await awaitOutcome(run)).toThrow();
    expect(seen).toContain("reading messages");
    expect(await viewOf(opener(fixture))).toEqual(before);
    expect((await repair(fixture)).findings).toEqual([]);
  });
});
