import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
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
import { join } from "node:path";
import {
  initMailRoot,
  mailRootStatus,
  openMailRoot,
  withExclusiveRoot,
} from "../../../src/services/mail/filesystem/root.ts";
import type { Mail, Mailbox, MailDraft } from "../../../src/services/mail/mailbox.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createMailRootFixture, mailRootDeps } from "../../support/mail-root.ts";
import { everything } from "../../support/mail-story.ts";

const plain = { attachments: [], notifyBlock: null, notifyAuth: null };

const at = (name: string) => `${name}@svc.localhost`;
const letter = (to: string, rest: Partial<MailDraft> = {}): MailDraft => ({
  to: [at(to)],
  cc: [],
  subject: "Hello",
  body: "text",
  ...plain,
  ...rest,
});

async function list(mailbox: Mailbox, box = "inbox"): Promise<Mail[]> {
  return (await mailbox.list({ ...everything, box })).messages;
}

/** Every path below a folder, with its size and target, but for what SQLite keeps beside its files. */
function snapshot(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => !/sqlite(-wal|-shm)?$/.test(one.name))
    .map((one) => join(one.parentPath, one.name))
    .map((path) => `${path} ${statSync(path, { throwIfNoEntry: false })?.size ?? "dangling"}`)
    .sort();
}

function rowsOf(path: string, table: string): number {
  const database = new Database(path, { readonly: true });
  try {
    return database.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? -1;
  } finally {
    database.close();
  }
}

describe("bad input", () => {
  test("leaves nothing behind, neither on disk nor in the index", async () => {
    using fixture = createMailRootFixture();
    const ada = fixture.mailbox("ada");
    fixture.mailbox("ben");
    fixture.mailbox("gone");
    fixture.root.registrations.deregister({ address: at("gone"), mode: "deactivate" });
    const file = fixture.scratch.path("ok.txt");
    writeFileSync(file, "fine");
    const large = fixture.scratch.path("large.bin");
    writeFileSync(large, "");
    truncateSync(large, 30 * 1024 * 1024);
    const link = fixture.scratch.path("link.txt");
    symlinkSync(file, link);
    const pipe = fixture.scratch.path("pipe");
    Bun.spawnSync(["mkfifo", pipe]);
    const attached = (path: string) => ({ attachments: [{ path: file }, { path }] });
    const before = snapshot(fixture.path);
    const bad: { draft: MailDraft; why: string }[] = [
      { draft: letter("ben", attached(large)), why: "larger than 25 MiB" },
      { draft: letter("ben", attached(link)), why: "not a regular file" },
      { draft: letter("ben", attached(pipe)), why: "not a regular file" },
      { draft: letter("ben", attached(fixture.scratch.folder)), why: "not a regular file" },
      { draft: letter("ben", attached("/dev/zero")), why: "lies in a file system of the kernel" },
      { draft: letter("ben", attached("ok.txt")), why: "not an absolute path" },
      { draft: letter("ben", attached(`${file}\0`)), why: "not an absolute path" },
      { draft: letter("ben", attached(fixture.scratch.path("absent"))), why: "does not exist" },
      { draft: letter("ben", { attachments: Array(51).fill({ path: file }) }), why: "at most 50" },
      { draft: letter("gone"), why: "is inactive" },
      { draft: letter("bem"), why: "did you mean ben@svc.localhost" },
      { draft: letter("ben", { to: ["ben"] }), why: "did you mean ben@svc.localhost" },
      { draft: letter("ben", { cc: [at("nobody")] }), why: "no mailbox has the address" },
      { draft: letter("ben", { body: "x".repeat(9 * 1024 * 1024) }), why: "larger than 8 MiB" },
      {
        draft: letter("ben", { notifyAuth: { scheme: "jws", iss: "" } }),
        why: "is empty or not of its kind",
      },
    ];
    for (const { draft, why } of bad) await expect(ada.send(draft)).rejects.toThrow(why);
    expect(snapshot(fixture.path)).toEqual(before);
    expect(rowsOf(join(fixture.path, "index.sqlite"), "messages")).toBe(0);
  });

  test("forges no sender: a mailbox is opened by its owner only", () => {
    using fixture = createMailRootFixture();
    fixture.mailbox("ada");
    expect(() => fixture.root.openMailbox({ address: at("ada"), principalId: "SVC-ben" })).toThrow(
      "another principal",
    );
    expect(() => fixture.root.openMailbox({ address: "../../etc", principalId: "SVC-ada" })).toThrow(
      "not a mailbox address",
    );
  });
});

describe("mail on disk", () => {
  test("is readable for people, and for their owner alone", async () => {
    using fixture = createMailRootFixture();
    const file = fixture.scratch.path("report.txt");
    writeFileSync(file, "numbers");
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(letter("ben", { attachments: [{ path: file }] }));
    const [mail] = await list(ben);
    const name = `${mail?.message_ref.replace("filesystem:", "")}.md`;
    const linked = join(fixture.path, "mailboxes", at("ben"), "inbox", name);
    expect(readFileSync(linked, "utf8")).toEndWith("---\n\ntext");
    rmSync(file);
    const [attachment] = (await ben.peek(mail?.message_ref ?? "")).attachments;
    expect(readFileSync(attachment?.locator ?? "", "utf8")).toBe("numbers");
    expect(attachment?.locator).toStartWith(
      join(fixture.path, "attachments", "managed", attachment?.attachment_id ?? ""),
    );
    const open = readdirSync(fixture.path, { recursive: true, withFileTypes: true })
      .map((one) => join(one.parentPath, one.name))
      .filter((path) => (statSync(path).mode & 0o077) !== 0);
    expect(open).toEqual([]);
  });

  test("may move elsewhere with its root", async () => {
    using fixture = createMailRootFixture();
    const file = fixture.scratch.path("report.txt");
    writeFileSync(file, "numbers");
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(letter("ben", { attachments: [{ path: file }] }));
    await list(ben);
    ada.close();
    ben.close();
    fixture.root.close();
    const moved = fixture.scratch.path("moved");
    renameSync(fixture.path, moved);
    const root = openMailRoot(fixture.deps, moved);
    const again = root.openMailbox({ address: at("ben"), principalId: "SVC-ben" });
    const [mail] = (await again.list({ ...everything, includeBody: true })).messages;
    expect(mail?.body_text).toBe("text");
    expect(existsSync(mail?.attachments[0]?.locator ?? "")).toBe(true);
    const links = readdirSync(join(moved, "mailboxes", at("ben"), "inbox"));
    expect(existsSync(join(moved, "mailboxes", at("ben"), "inbox", links[0] ?? ""))).toBe(true);
    again.close();
    root.close();
  });

  test("loses a link or a box and gets it back", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    const folder = join(fixture.path, "mailboxes", at("ben"));
    await ada.send(letter("ben"));
    rmSync(join(folder, "inbox"), { recursive: true });
    const [mail] = await list(ben);
    expect(mail?.unread).toBe(true);
    rmSync(join(folder, "archive"), { recursive: true });
    await ben.archive([mail?.message_ref ?? ""]);
    expect(readdirSync(join(folder, "archive"))).toHaveLength(1);
    // A file where the folder of a box should be: the mail is there, the link has to wait.
    writeFileSync(join(folder, "later"), "");
    expect(await ben.move([mail?.message_ref ?? ""], "later")).toMatchObject([{ box: "later" }]);
    expect(await list(ben, "later")).toHaveLength(1);
    rmSync(join(folder, "later"));
    await list(ben);
    expect(readdirSync(join(folder, "later"))).toHaveLength(1);
    expect(readdirSync(join(folder, "archive"))).toEqual([]);
  });

  test("is found again by a mailbox that has lost its state, mail to oneself once", async () => {
    using fixture = createMailRootFixture();
    const ada = fixture.mailbox("ada");
    await ada.send(letter("ada", { subject: "Self" }));
    const reply = await ada.reply((await list(ada))[0]?.message_ref ?? "", { body: "r", ...plain });
    expect(reply.box).toBe("inbox");
    const before = await list(ada);
    ada.close();
    for (const name of ["mailbox.sqlite", "mailbox.sqlite-wal", "mailbox.sqlite-shm"]) {
      rmSync(join(fixture.path, "mailboxes", at("ada"), name), { force: true });
    }
    // What was answered still is: the answer says so.
    expect(await list(fixture.mailbox("ada"))).toEqual(before);
    expect(before.map((mail) => `${mail.subject} ${mail.read} ${mail.answered}`)).toEqual([
      "Re: Self false false",
      "Self true true",
    ]);
  });

  test("does not come back unread when the index begins again", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(letter("ben", { subject: "One" }));
    await ada.send(letter("ben", { subject: "Two" }));
    const [two, one] = await list(ben);
    await ben.read(two?.message_ref ?? "");
    await ben.archive([one?.message_ref ?? ""]);
    const index = new Database(join(fixture.path, "index.sqlite"));
    index.run("UPDATE catalog SET generation = 'another'");
    index.run("UPDATE projections SET seq = seq + 100");
    index.close();
    await ada.send(letter("ben", { subject: "Three" }));
    const shown = (mails: Mail[]) =>
      mails.map((mail) => `${mail.subject} ${mail.unread ? "unread" : "read"}`);
    expect(shown(await list(ben))).toEqual(["Three unread", "Two read"]);
    expect(shown(await list(ben, "archive"))).toEqual(["One read"]);
  });

  test("goes to twelve mailboxes at once, each of which sees who else has it", async () => {
    using fixture = createMailRootFixture();
    const names = Array.from({ length: 12 }, (_, index) => `agent${index}`);
    const mailboxes = names.map((name) => fixture.mailbox(name));
    await mailboxes[0]?.send(letter("agent0", { to: names.map(at) }));
    for (const mailbox of mailboxes) {
      const mails = await list(mailbox);
      expect(mails).toHaveLength(1);
      expect(mails[0]?.to.map((one) => one.address)).toEqual(names.map(at));
      expect(mails[0]?.unread).toBe(true);
    }
  });
});

describe("another process", () => {
  test("that puts a new index in place of the old loses no mail of those who have the old one open", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(letter("ben", { subject: "Before" }));
    const path = join(fixture.path, "index.sqlite");
    await withExclusiveRoot(fixture.deps, fixture.path, () => {
      const old = new Database(path);
      old.run(`VACUUM INTO '${path}.new'`);
      old.close();
      chmodSync(`${path}.new`, 0o600);
      for (const ending of ["-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
      renameSync(`${path}.new`, path);
    });
    await ada.send(letter("ben", { subject: "After" }));
    expect((await list(ben)).map((mail) => mail.subject)).toEqual(["After", "Before"]);
    expect(rowsOf(path, "messages")).toBe(2);
  });

  test("that swaps the index in the very moment of a delivery makes it be delivered again", async () => {
    let onDelivery: () => void = () => {};
    using fixture = createMailRootFixture({
      steps: { before() {}, after: (label) => (label === "sql:mail-delivered" ? onDelivery() : undefined) },
    });
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await list(ben);
    const path = join(fixture.path, "index.sqlite");
    const copy = fixture.scratch.path("index-before.sqlite");
    const source = new Database(path);
    source.run(`VACUUM INTO '${copy}'`);
    source.close();
    onDelivery = () => {
      onDelivery = () => {};
      for (const ending of ["-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
      copyFileSync(copy, `${path}.new`);
      renameSync(`${path}.new`, path);
    };
    await ada.send(letter("ben", { subject: "In between" }));
    expect(rowsOf(path, "messages")).toBe(1);
    expect((await list(ben)).map((mail) => mail.subject)).toEqual(["In between"]);
  });

  test("that archives a message before its sender has linked it leaves one link, in the archive", async () => {
    let onDelivery: () => void = () => {};
    using fixture = createMailRootFixture({
      steps: { before() {}, after: (label) => (label === "sql:mail-delivered" ? onDelivery() : undefined) },
    });
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    const archived: Promise<unknown>[] = [];
    onDelivery = () => {
      const row = fixture.root.catalog.active(ben.address);
      const [message] = row ? fixture.root.catalog.projectionsAfter(row.registrationId, 0, 1) : [];
      archived.push(ben.archive([message?.messageId ?? ""]));
    };
    await ada.send(letter("ben"));
    await Promise.all(archived);
    const folder = join(fixture.path, "mailboxes", at("ben"));
    expect(readdirSync(join(folder, "archive"))).toHaveLength(1);
    expect(readdirSync(join(folder, "inbox"))).toEqual([]);
    expect(await list(ben, "archive")).toHaveLength(1);
  });

  test("that takes an address over while its mailbox is being opened gets no mail of the former owner", async () => {
    let onClaim: () => void = () => {};
    using fixture = createMailRootFixture({
      steps: { before: (label) => (label === "sql:mail-claimed" ? onClaim() : undefined), after() {} },
    });
    const ada = fixture.mailbox("ada");
    const ben = { address: at("ben"), principalId: "SVC-ben" };
    const eve = { ...ben, principalId: "SVC-eve" };
    fixture.root.registrations.register({ ...ben, mode: "safe" });
    await ada.send(letter("ben", { subject: "Secret" }));
    const elsewhere = fixture.reopen().registrations;
    onClaim = () => {
      onClaim = () => {};
      elsewhere.register({ ...eve, mode: "force" });
    };
    expect(() => fixture.root.openMailbox(ben)).toThrow("another principal");
    const mailbox = fixture.root.openMailbox(eve);
    expect(await list(mailbox)).toEqual([]);
    mailbox.close();
  });

  test("may take a mailbox away and make another; its open handles notice", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(letter("ben", { subject: "Old" }));
    expect(await list(ben)).toHaveLength(1);
    const other = fixture.reopen().registrations;
    other.deregister({ address: at("ben"), mode: "purge" });
    await expect(list(ben)).rejects.toThrow("has no active registration");
    await expect(ada.send(letter("ben"))).rejects.toThrow("no mailbox has the address");
    other.register({ address: at("ben"), principalId: "SVC-ben", mode: "safe" });
    await ada.send(letter("ben", { subject: "New" }));
    expect((await list(ben)).map((mail) => mail.subject)).toEqual(["New"]);
  });

  test("notifies, and the mail is there by then or soon after", async () => {
    using fixture = createMailRootFixture();
    const ben = fixture.mailbox("ben");
    fixture.mailbox("ada");
    const rang = new Promise<void>((resolve) => ben.onArrival(resolve));
    const elsewhere = fixture.reopen().openMailbox({ address: at("ada"), principalId: "SVC-ada" });
    await elsewhere.send(letter("ben"));
    await rang;
    expect(await list(ben)).toHaveLength(1);
    elsewhere.close();
  });
});

describe("a carrier that fails", () => {
  test("says so, whatever it is that failed", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(letter("ben"));
    const [mail] = await list(ben);
    const ref = mail?.message_ref ?? "";
    fixture.putOnDisk();
    rmSync(join(fixture.path, "messages"), { recursive: true });
    const failed = { reason: "transport_failed" };
    await expect(ben.peek(ref)).rejects.toMatchObject(failed);
    await expect(ben.read(ref)).rejects.toMatchObject(failed);
    expect((await list(ben))[0]?.unread).toBe(true);
    rmSync(join(fixture.path, "index.sqlite"));
    await expect(list(ben)).rejects.toMatchObject(failed);
    expect(existsSync(join(fixture.path, "index.sqlite"))).toBe(false);
  });

  test("withdraws what it could not deliver", async () => {
    let failing = false;
    using fixture = createMailRootFixture({
      steps: {
        before(label) {
          if (failing && label === "sql:mail-delivered")
            throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
        },
        after() {},
      },
    });
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(letter("ben"));
    const before = snapshot(fixture.path);
    failing = true;
    const work = ada.send(
      letter("ben", { attachments: [{ path: join(fixture.path, "protocol-version.txt") }] }),
    );
    await expect(work).rejects.toMatchObject({ reason: "transport_failed" });
    expect(snapshot(fixture.path)).toEqual(before);
    failing = false;
    expect(await list(ben)).toHaveLength(1);
  });
});

describe("a root", () => {
  test("is refused where there is none, another version or something else", () => {
    using fixture = createMailRootFixture();
    expect(() => openMailRoot(fixture.deps, fixture.scratch.path("absent"))).toThrow(
      expect.objectContaining({ data: { remedy: { code: "init_mailboxes" } } }),
    );
    expect(mailRootStatus(fixture.deps, fixture.scratch.path("absent"))).toMatchObject({
      exists: false,
      bootstrapped: false,
      remedy: { code: "init_mailboxes" },
    });
    const foreign = fixture.scratch.path("foreign");
    mkdirSync(foreign);
    writeFileSync(join(foreign, "thesis.tex"), "");
    expect(() => initMailRoot(fixture.deps, foreign)).toThrow("thesis.tex");
    expect(readdirSync(foreign)).toEqual(["thesis.tex"]);
    writeFileSync(join(fixture.path, "protocol-version.txt"), "4\n");
    expect(() => openMailRoot(fixture.deps, fixture.path)).toThrow("protocol version 4");
    expect(() => initMailRoot(fixture.deps, fixture.path)).toThrow("protocol version 4");
    expect(mailRootStatus(fixture.deps, fixture.path)).toMatchObject({
      supported: false,
      protocol_version: "4",
    });
    for (const damaged of ["", "\ufffd".repeat(9000), '{"schema_version": 1,\n']) {
      writeFileSync(join(fixture.path, "protocol-version.txt"), damaged);
      expect(initMailRoot(fixture.deps, fixture.path)).toMatchObject({ supported: true });
      writeFileSync(join(fixture.path, "protocol-version.txt"), damaged);
      const mended: string[] = [];
      const onMended = (what: string) => void mended.push(what);
      for (let nth = 1; nth <= 2; nth++) openMailRoot({ ...fixture.deps, onMended }, fixture.path).close();
      expect(mended).toEqual([expect.stringContaining("was missing or damaged and is written again")]);
      expect(mailRootStatus(fixture.deps, fixture.path)).toMatchObject({
        supported: true,
        protocol_version: "3",
      });
    }
  });

  test("puts aside what a delivery that died has staged, once it is certainly dead", async () => {
    using fixture = createMailRootFixture();
    const clock = createFakeClock(Date.now());
    const deps = mailRootDeps({ system: { clock } });
    const left = join(fixture.path, "staging", "msg-left.md");
    writeFileSync(left, "half");
    openMailRoot(deps, fixture.path).close();
    expect(existsSync(left)).toBe(true);
    await clock.advance(2 * 60 * 60 * 1000);
    openMailRoot(deps, fixture.path).close();
    expect(existsSync(left)).toBe(false);
    const [stamp = ""] = readdirSync(join(fixture.path, "staging", "quarantine"));
    expect(readdirSync(join(fixture.path, "staging", "quarantine", stamp))).toEqual(["msg-left.md"]);
  });

  test("lets one maintenance in at a time", async () => {
    using fixture = createMailRootFixture();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const one = withExclusiveRoot(fixture.deps, fixture.path, async () => {
      order.push("one begins");
      await first.promise;
      order.push("one ends");
    });
    const two = withExclusiveRoot(fixture.deps, fixture.path, () => order.push("two"));
    first.resolve();
    await Promise.all([one, two]);
    expect(order).toEqual(["one begins", "one ends", "two"]);
  });
});

test("a list of 50 reads its own rows only", async () => {
  using fixture = createMailRootFixture();
  const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  await ada.send(letter("ben"));
  await list(ben);
  const state = new Database(join(fixture.path, "mailboxes", at("ben"), "mailbox.sqlite"));
  const filters = ["", "AND is_read = 0", "AND is_answered = 0", "AND is_read = 0 AND is_answered = 0"];
  for (const filter of filters) {
    const plan = state
      .query<{ detail: string }, []>(
        `EXPLAIN QUERY PLAN SELECT * FROM message_state WHERE box_name = 'inbox' ${filter}
         AND created_at_utc >= '' AND (created_at_utc, message_id) < ('9', '')
         ORDER BY created_at_utc DESC, message_id DESC LIMIT 50`,
      )
      .all()
      .map((step) => step.detail);
    expect(plan).toHaveLength(1);
    expect(plan[0]).toContain("USING INDEX in_box");
  }
  const links = state.query<{ detail: string }, []>(
    "EXPLAIN QUERY PLAN SELECT * FROM message_state WHERE link_box IS NOT box_name ORDER BY seq",
  );
  expect(links.all().map((step) => step.detail)).toEqual([
    expect.stringContaining("USING INDEX link_to_move"),
  ]);
  state.close();
});
