import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openAttestations } from "../../../src/db/mailbox/attestations.ts";
import { attestationHeader } from "../../../src/protocol/mail-file.ts";
import { verifyHistories } from "../../../src/services/mail/filesystem/delivery/history.ts";
import {
  parseMessageFile,
  renderMessageFile,
  type StoredMessage,
  toIndexed,
} from "../../../src/services/mail/filesystem/delivery/message-file.ts";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import { openMailRoot } from "../../../src/services/mail/filesystem/root.ts";
import { messageId } from "../../../src/services/mail/filesystem/root-paths.ts";
import { clearMessages } from "../../../src/services/mail/filesystem/upkeep/clear.ts";
import type { Mail, Mailbox } from "../../../src/services/mail/mailbox.ts";
import type { Files } from "../../../src/system/files.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createMailRootFixture, type MailRootFixture } from "../../support/mail-root.ts";
import { everything } from "../../support/mail-story.ts";

const plain = { attachments: [], notifyBlock: null, notifyAuth: null };
const ben = "ben@svc.localhost";
const repairing = { cleanupStaging: false, quarantineStaging: true };

const send = (from: Mailbox, subject: string, to: string[] = [ben]) =>
  from.send({ to, cc: [], subject, body: `text of ${subject}`, ...plain });
const inboxOf = async (mailbox: Mailbox) => (await mailbox.list({ ...everything, box: "inbox" })).messages;
const idOf = (mail: Mail | undefined) => mail?.message_ref.replace("filesystem:", "") ?? "";
const fileOf = ({ path }: MailRootFixture, mail: Mail) =>
  join(path, "messages", mail.created_at_utc.slice(0, 10), `${idOf(mail)}.md`);
const keyOf = ({ path }: MailRootFixture, name: string) =>
  join(path, "mailboxes", `${name}@svc.localhost`, "attestation.key");

async function verify(fixture: MailRootFixture, address = "ada@svc.localhost") {
  const root = openMailRoot(fixture.deps, fixture.path);
  try {
    const [history] = await verifyHistories(fixture.deps, root, { address });
    if (!history) throw new Error("no history");
    return history;
  } finally {
    root.close();
  }
}

function change(fixture: MailRootFixture, mail: Mail, edit: (message: StoredMessage) => StoredMessage): void {
  const path = fileOf(fixture, mail);
  const parsed = parseMessageFile(readFileSync(path, "utf8"));
  if (!parsed.ok) throw new Error(parsed.why);
  writeFileSync(path, renderMessageFile(edit(parsed.message)));
}

function statement(fixture: MailRootFixture, sql: string): void {
  using index = new Database(join(fixture.path, "index.sqlite"));
  index.run(sql);
}

describe("mail of a registered mailbox", () => {
  test("is verified where it is listed, peeked at and read, by its sender and its receivers", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben, cleo] = ["ada", "ben", "cleo"].map((name) => fixture.mailbox(name)) as [
      Mailbox,
      Mailbox,
      Mailbox,
    ];
    const sent = await send(ada, "first", [ben.address, cleo.address]);
    expect(sent.attestation).toBe("verified");
    for (const mailbox of [ben, cleo]) {
      const [listed] = await inboxOf(mailbox);
      expect(listed?.attestation).toBe("verified");
      expect((await mailbox.peek(sent.message_ref)).attestation).toBe("verified");
      expect((await mailbox.read(sent.message_ref)).attestation).toBe("verified");
    }
    const reply = await ben.reply(sent.message_ref, { body: "yes", ...plain });
    expect((await ada.read(reply.message_ref)).attestation).toBe("verified");
    expect((await ada.list({ ...everything, box: "sent" })).messages[0]?.attestation).toBe("verified");
    const note = await ben.post({ subject: "note", body: "", replyPolicy: "none", ...plain });
    expect((await ben.read(note.message_ref)).attestation).toBe("verified");
  });

  test("is signed with a key that only its user can read, and that stays", async () => {
    using fixture = createMailRootFixture();
    const ada = fixture.mailbox("ada");
    expect(statSync(keyOf(fixture, "ada")).mode & 0o777).toBe(0o600);
    const key = readFileSync(keyOf(fixture, "ada"), "utf8");
    fixture.mailbox("ben");
    await send(ada, "first");
    fixture.mailbox("ada");
    expect(readFileSync(keyOf(fixture, "ada"), "utf8")).toBe(key);
    expect((await verify(fixture)).keys).toHaveLength(1);
  });

  test.each([
    { id: "others can read the first", spoil: (path: string) => chmodSync(path, 0o644) },
    { id: "the first is damaged", spoil: (path: string) => writeFileSync(path, "no key", { mode: 0o600 }) },
  ])(
    "is signed with another key once $id: that is reported, and the earlier mail stays verified",
    async ({ spoil }) => {
      const faults: string[] = [];
      using fixture = createMailRootFixture({ onFault: (what) => faults.push(what) });
      const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
      await send(ada, "first");
      expect(faults).toEqual([]);
      spoil(keyOf(fixture, "ada"));
      fixture.root.registrations.register({
        address: ada.address,
        principalId: ada.principalId,
        mode: "safe",
      });
      const other = fixture.reopen().openMailbox(ada);
      await send(other, "second");
      expect(faults).toEqual([
        expect.stringContaining("the key of ada@svc.localhost was damaged, or others could read it"),
      ]);
      expect((await inboxOf(ben)).map(({ attestation }) => attestation)).toEqual(["verified", "verified"]);
      expect(await verify(fixture)).toMatchObject({ entry_count: 2, broken: null });
      expect((await verify(fixture)).keys).toHaveLength(2);
      other.close();
    },
  );

  test("is signed again with the next number when another process sends between its file and its commit", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    const other = fixture.reopen().openMailbox(ada);
    const between: Promise<Mail>[] = [];
    const files: Files = {
      ...fixture.deps.files,
      place(label, from, to) {
        fixture.deps.files.place(label, from, to);
        if (label === "mail.placed" && between.length < 2)
          between.push(send(other, `between ${between.length}`));
      },
    };
    const root = openMailRoot({ ...fixture.deps, files }, fixture.path);
    const slow = root.openMailbox(ada);
    // Only the file of a long message is written before the commit.
    const mail = await slow.send({
      to: [ben.address],
      cc: [],
      subject: "slow",
      body: "x".repeat(70_000),
      ...plain,
    });
    await Promise.all(between);
    expect((await ben.read(mail.message_ref)).attestation).toBe("verified");
    expect((await inboxOf(ben)).map(({ attestation }) => attestation)).toEqual(Array(3).fill("verified"));
    expect(await verify(fixture)).toMatchObject({ entry_count: 3, broken: null });
    const stored = readdirSync(join(fixture.path, "messages"), { recursive: true });
    expect(stored.filter((name) => String(name).endsWith(".md"))).toHaveLength(3);
    for (const mailbox of [slow, other]) mailbox.close();
    root.close();
  });

  test("is numbered without a gap by two processes that send at once", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    const again = fixture.reopen().openMailbox(ada);
    for (let nth = 0; nth < 6; nth++) await send(nth % 2 ? ada : again, `mail ${nth}`);
    expect(await inboxOf(ben)).toHaveLength(6);
    expect(await verify(fixture)).toMatchObject({ entry_count: 6, broken: null });
    again.close();
  });

  test("is sent all the same where the key cannot be had: unsigned, and the fault is reported", async () => {
    const faults: string[] = [];
    using fixture = createMailRootFixture({ onFault: (what) => faults.push(what) });
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    const files: Files = {
      ...fixture.deps.files,
      read: (path, policy) => (policy?.owner === "private" ? null : fixture.deps.files.read(path, policy)),
      write(label: string, ...rest: [string, string]) {
        if (label === "mail.key-written") throw new Error("no space");
        fixture.deps.files.write(label, ...rest);
      },
    };
    const root = openMailRoot({ ...fixture.deps, files }, fixture.path);
    const sick = root.openMailbox(ada);
    await send(sick, "first");
    await send(sick, "second");
    expect((await inboxOf(ben)).map(({ attestation }) => attestation)).toEqual(["unsigned", "unsigned"]);
    expect(faults).toEqual(["mail from ada@svc.localhost is not signed: no space"]);
    sick.close();
    root.close();
  });
});

describe("mail that somebody wrote into the folder", () => {
  test("is unsigned when it carries nothing, and broken when it is signed with another key or copied", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben, eve] = ["ada", "ben", "eve"].map((name) => fixture.mailbox(name)) as [
      Mailbox,
      Mailbox,
      Mailbox,
    ];
    const [real, ofEve] = [await send(ada, "real"), await send(eve, "of eve")];
    fixture.putOnDisk();
    const read = (mail: Mail) => {
      const parsed = parseMessageFile(readFileSync(fileOf(fixture, mail), "utf8"));
      if (!parsed.ok) throw new Error(parsed.why);
      return parsed.message;
    };
    const row = fixture.root.catalog.active(ben.address);
    const plant = ({ envelope, body }: StoredMessage, nth: number) => {
      const id = messageId("20260101T000000Z", String(nth).repeat(32));
      const message = { envelope: { ...envelope, message_id: id, thread_id: id }, body };
      const path = join(fixture.path, "messages", envelope.created_at_utc.slice(0, 10), `${id}.md`);
      writeFileSync(path, renderMessageFile(message), { mode: 0o600 });
      const rows = toIndexed(
        message,
        [{ registrationId: row?.registrationId ?? "", folder: "inbox" }],
        () => null,
      );
      fixture.root.catalog.deliver("sql:planted", rows, () => {});
      return `filesystem:${id}`;
    };
    const { envelope, body } = read(real);
    const bare = plant({ envelope: { ...envelope, subject: "forged", headers: {} }, body }, 1);
    const otherKey = plant({ envelope: { ...envelope, headers: read(ofEve).envelope.headers }, body }, 2);
    const copied = plant({ envelope, body }, 3);
    const found = async (ref: string) => {
      const { attestation, attestation_detail: why } = await ben.peek(ref);
      const listed = (await inboxOf(ben)).find((one) => one.message_ref === ref);
      expect({ attestation: listed?.attestation, why: listed?.attestation_detail }).toEqual({
        attestation,
        why,
      });
      return why === undefined ? attestation : `${attestation}: ${why}`;
    };
    expect(await found(bare)).toBe("unsigned");
    expect(await found(otherKey)).toBe("broken: it is signed with a key that is not of ada@svc.localhost");
    expect(await found(copied)).toBe("broken: its id differs from what was signed");
    expect(await found(real.message_ref)).toBe("verified");
  });

  test("is broken as soon as it is read when its text is changed, and whole again when it is put back", async () => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    const mail = await send(ada, "first");
    expect((await inboxOf(ben))[0]?.attestation).toBe("verified");
    fixture.putOnDisk();
    const before = readFileSync(fileOf(fixture, mail));
    change(fixture, mail, (one) => ({ ...one, body: "something else" }));
    const why = "its text is not the one that was signed";
    const bodies = await ben.list({ ...everything, box: "inbox", includeBody: true });
    expect(bodies.messages[0]).toMatchObject({ attestation: "broken", attestation_detail: why });
    expect(await ben.read(mail.message_ref)).toMatchObject({
      attestation: "broken",
      attestation_detail: why,
    });
    expect((await inboxOf(ben))[0]).toMatchObject({ attestation: "broken", attestation_detail: why });
    writeFileSync(fileOf(fixture, mail), before);
    expect((await ben.peek(mail.message_ref)).attestation).toBe("verified");
    expect((await inboxOf(ben))[0]?.attestation).toBe("verified");
  });
});

describe("a history", () => {
  /** Five messages of ada to ben. */
  async function createHistory() {
    const fixture = createMailRootFixture();
    const ada = fixture.mailbox("ada");
    fixture.mailbox("ben");
    const attached = fixture.scratch.path("report.txt");
    writeFileSync(attached, "figures");
    const mails: Mail[] = [];
    for (const subject of ["1", "2", "3", "4"]) mails.push(await send(ada, subject));
    const last = { to: [ben], cc: [], subject: "5", body: "", ...plain, attachments: [{ path: attached }] };
    mails.push(await ada.send(last));
    fixture.putOnDisk();
    return { fixture, mails: mails as [Mail, Mail, Mail, Mail, Mail] };
  }

  test("holds from the first message on, for each mailbox that sent", async () => {
    const { fixture } = await createHistory();
    using _ = fixture;
    expect(await verify(fixture)).toMatchObject({ entry_count: 5, cleared_count: 0, broken: null });
    expect(await verify(fixture, ben)).toMatchObject({ entry_count: 0, head_hash: null, broken: null });
    expect(await awaitOutcome(verify(fixture, "nobody@svc.localhost"))).toThrow(
      "no mailbox has or had the address",
    );
  });

  test.each<{
    id: string;
    damage: (fixture: MailRootFixture, mails: Mail[]) => void;
    broken: { sequence: number | null; nth: number | null; why: string };
  }>([
    {
      id: "the file of a message was removed",
      damage: (fixture, [, , third]) => rmSync(fileOf(fixture, third as Mail)),
      broken: { sequence: 3, nth: 2, why: "the file of the message is missing" },
    },
    {
      id: "a message was removed from the index",
      damage: (fixture, [, second]) =>
        statement(fixture, `DELETE FROM messages WHERE message_id = '${idOf(second)}'`),
      broken: { sequence: 2, nth: 1, why: "the index does not have the message any more" },
    },
    {
      id: "an entry was removed",
      damage: (fixture) => statement(fixture, "DELETE FROM attested_mail WHERE sequence = 4"),
      broken: { sequence: 4, nth: null, why: "its entry is missing" },
    },
    {
      id: "the newest entry was removed",
      damage: (fixture) => statement(fixture, "DELETE FROM attested_mail WHERE sequence = 5"),
      broken: { sequence: null, nth: 4, why: "it was signed as number 5, and that entry is missing" },
    },
    {
      id: "a text was changed",
      damage: (fixture, [first]) => change(fixture, first as Mail, (one) => ({ ...one, body: "other" })),
      broken: { sequence: 1, nth: 0, why: "its text is not the one that was signed" },
    },
    {
      id: "a recipient was changed",
      damage: (fixture, [first]) =>
        change(fixture, first as Mail, ({ envelope, body }) => ({
          envelope: { ...envelope, to: [envelope.from] },
          body,
        })),
      broken: { sequence: 1, nth: 0, why: "its recipients differ from what was signed" },
    },
    {
      id: "an attestation was taken away",
      damage: (fixture, [, second]) =>
        change(fixture, second as Mail, ({ envelope, body }) => ({
          envelope: { ...envelope, headers: {} },
          body,
        })),
      broken: { sequence: 2, nth: 1, why: "the message carries no attestation" },
    },
    {
      id: "an attached file was changed",
      damage: (_, mails) => writeFileSync(mails[4]?.attachments[0]?.locator ?? "", "other"),
      broken: { sequence: 5, nth: 4, why: expect.stringMatching(/^its attachment att-.* was changed$/) },
    },
    {
      id: "two entries were swapped",
      damage: (fixture) => {
        statement(fixture, "UPDATE attested_mail SET sequence = -sequence WHERE sequence IN (2, 3)");
        statement(fixture, "UPDATE attested_mail SET sequence = 5 + sequence WHERE sequence < 0");
      },
      broken: {
        sequence: 2,
        nth: 2,
        why: "another message is in this place: this one was signed as number 3",
      },
    },
    {
      id: "the index was changed",
      damage: (fixture, [first]) =>
        statement(
          fixture,
          `UPDATE messages SET envelope_json = replace(envelope_json, 'ben@', 'eve@') WHERE message_id = '${idOf(first)}'`,
        ),
      broken: { sequence: 1, nth: 0, why: "the index has another message than its file" },
    },
    {
      id: "another hash was written into the index",
      damage: (fixture) => statement(fixture, "UPDATE attested_mail SET hash = 'x' WHERE sequence = 1"),
      broken: { sequence: 1, nth: 0, why: "the index has another hash of it" },
    },
    {
      id: "the keys were taken away",
      damage: (fixture) => statement(fixture, "DELETE FROM attestation_keys"),
      broken: { sequence: 1, nth: 0, why: "no key of ada@svc.localhost is known here" },
    },
  ])("does not hold when $id, and its first broken place is named", async ({ damage, broken }) => {
    const { fixture, mails } = await createHistory();
    using _ = fixture;
    damage(fixture, mails);
    const { sequence, nth, why } = broken;
    const message_id = nth === null ? null : idOf(mails[nth]);
    expect((await verify(fixture)).broken).toEqual({ sequence, message_id, why });
  });

  test("holds when a person cleared mail, and goes on after it", async () => {
    const { fixture, mails } = await createHistory();
    using _ = fixture;
    const root = fixture.reopen();
    await clearMessages(fixture.deps, root, { address: null, dryRun: false });
    expect(await verify(fixture)).toMatchObject({ entry_count: 5, cleared_count: 5, broken: null });
    await send(root.openMailbox({ address: "ada@svc.localhost", principalId: "SVC-ada" }), "6");
    expect(await verify(fixture)).toMatchObject({ entry_count: 6, cleared_count: 5, broken: null });
    statement(fixture, "UPDATE attested_mail SET hash = 'x' WHERE sequence = 5");
    expect((await verify(fixture)).broken).toMatchObject({
      sequence: 6,
      why: "it names another entry as the one before it",
    });
    expect(mails).toHaveLength(5);
  });

  test("is rebuilt with the index, and goes on after it", async () => {
    const { fixture } = await createHistory();
    using _ = fixture;
    const keys = (await verify(fixture)).keys;
    fixture.root.close();
    for (const ending of ["", "-wal", "-shm"])
      rmSync(join(fixture.path, `index.sqlite${ending}`), { force: true });
    await repairMailRoot(fixture.deps, fixture.path, repairing);
    expect(await verify(fixture)).toMatchObject({ keys, entry_count: 5, broken: null });
    const root = fixture.reopen();
    const ada = root.openMailbox({ address: "ada@svc.localhost", principalId: "SVC-ada" });
    await send(ada, "6");
    expect(await verify(fixture)).toMatchObject({ entry_count: 6, broken: null });
    const again = root.openMailbox({ address: ben, principalId: "SVC-ben" });
    expect(new Set((await inboxOf(again)).map(({ attestation }) => attestation))).toEqual(
      new Set(["verified"]),
    );
    ada.close();
    again.close();
  });
});

test("a linked mailbox that is registered again signs with a key of the new registration", async () => {
  using fixture = createMailRootFixture();
  const ben = fixture.mailbox("ben");
  const ada = { address: "ada@svc.localhost", principalId: "SVC-ada" };
  const { registrations } = fixture.root;
  const register = () =>
    registrations.register({
      ...ada,
      mode: "safe",
      kind: "symlink",
      mailboxPath: fixture.scratch.path("outside"),
    });
  for (const mode of ["deactivate", "purge"] as const) {
    register();
    await send(fixture.root.openMailbox(ada), mode);
    registrations.deregister({ address: ada.address, mode });
  }
  register();
  await send(fixture.root.openMailbox(ada), "again");
  expect(await verify(fixture)).toMatchObject({ entry_count: 1, broken: null });
  expect(openAttestations(fixture.root.catalog).keysOf(ada.address)).toHaveLength(2);
  const states = (await inboxOf(ben)).map(({ subject, attestation }) => [subject, attestation]);
  expect(states.sort()).toEqual(["again", "deactivate", "purge"].map((subject) => [subject, "verified"]));
});

test("a mailbox from before keys gets one with its first message, and its earlier mail stays unsigned", async () => {
  using fixture = createMailRootFixture();
  const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  rmSync(keyOf(fixture, "ada"));
  statement(fixture, "DELETE FROM attestation_keys");
  const other = fixture.reopen().openMailbox(ada);
  await send(other, "first");
  expect((await inboxOf(ben))[0]?.attestation).toBe("verified");
  expect(openAttestations(fixture.root.catalog).keysOf(ada.address)).toHaveLength(1);
  expect(readFileSync(keyOf(fixture, "ada"), "utf8")).toStartWith("-----BEGIN PRIVATE KEY-----");
  other.close();
});

test("the header of an attestation is the one in the documents", () => {
  expect(attestationHeader).toBe("x-svc-attestation");
});
