import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Mail, Mailbox, MailDraft, MailQuery } from "../../src/services/mail/mailbox.ts";
import { ServiceError, type ServiceErrorCode } from "../../src/system/errors.ts";
import { everything } from "../support/mail-story.ts";
import { createTestSignal, until } from "../support/until.ts";

/** Three empty mailboxes that can write to one another, and a folder for files to attach. */
export interface MailFixture extends AsyncDisposable {
  ada: Mailbox;
  ben: Mailbox;
  cleo: Mailbox;
  folder: string;
  /** How far apart two messages must come for their order to be told; 0 where that is always so. */
  timeResolutionMs?: number;
}

const plain = { attachments: [], notifyBlock: null, notifyAuth: null };

function letter(to: Mailbox | readonly Mailbox[], rest: Partial<MailDraft> = {}): MailDraft {
  const receivers = Array.isArray(to) ? to : [to as Mailbox];
  return { to: receivers.map((one) => one.address), cc: [], subject: "Hello", body: "", ...plain, ...rest };
}

async function list(mailbox: Mailbox, query: Partial<MailQuery> = {}): Promise<Mail[]> {
  return (await mailbox.list({ ...everything, ...query })).messages;
}

/** The message of this subject, once it is there: a carrier may take its time. */
function arrived(mailbox: Mailbox, subject: string, box = "inbox"): Promise<Mail> {
  return until(`${subject} in ${box}`, async () =>
    (await list(mailbox, { box })).find((one) => one.subject === subject),
  );
}

/** Sends from ada to ben, one after the other, each with a later time than the one before; oldest first. */
async function correspondence(fixture: MailFixture, subjects: readonly string[]): Promise<Mail[]> {
  const found: Mail[] = [];
  for (const subject of subjects) {
    await later(fixture);
    await fixture.ada.send(letter(fixture.ben, { subject, body: `the body of ${subject}` }));
    found.push(await arrived(fixture.ben, subject));
  }
  return found;
}

/** Once mail to ben would have a later time than what he has. */
async function later({ ben, timeResolutionMs = 0 }: MailFixture): Promise<void> {
  if (timeResolutionMs === 0) return;
  const newest = (await ben.list({ ...everything, limit: 1 })).messages[0];
  const fromMs = newest ? Date.parse(newest.created_at_utc) + timeResolutionMs : 0;
  await until("a later time", () => Date.now() >= fromMs);
}

async function refusal(work: Promise<unknown>): Promise<ServiceErrorCode | string> {
  try {
    await work;
    return "nothing was refused";
  } catch (error) {
    return error instanceof ServiceError ? error.reason : String(error);
  }
}

const subjectsOf = (mails: readonly Mail[]) => mails.map((mail) => mail.subject);

/** What every `Mailbox` promises, whatever carries the mail; what `capabilities` excludes is refused. */
export function mailboxConformance(name: string, open: () => Promise<MailFixture>): void {
  describe(`a mailbox of ${name}`, () => {
    test("holds what it was sent as unread, and what it sent as read in sent", async () => {
      await using fixture = await open();
      const own = await fixture.ada.send(
        letter(fixture.ben, { subject: "Plan", body: "First line.\n\nSecond." }),
      );
      expect(own).toMatchObject({ box: "sent", read: true, unread: false, answered: false, archived: false });
      expect(own.body_text).toBe("First line.\n\nSecond.");
      const mail = await arrived(fixture.ben, "Plan");
      expect(mail).toMatchObject({
        box: "inbox",
        read: false,
        unread: true,
        answered: false,
        archived: false,
      });
      expect(mail.body_preview).toBe("First line. Second.");
      expect(mail.body_text).toBeNull();
      expect(mail.sender.address).toBe(fixture.ada.address);
      expect(mail.to.map((one) => one.address)).toEqual([fixture.ben.address]);
      expect(mail.created_at_utc).toMatch(/\+00:00$/);
      expect(subjectsOf(await list(fixture.ada, { box: "sent" }))).toEqual(["Plan"]);
      expect(await list(fixture.ada)).toEqual([]);
      expect(await list(fixture.cleo)).toEqual([]);
    });

    test("gets one copy however often it is named", async () => {
      await using fixture = await open();
      const { address } = fixture.ben;
      await fixture.ada.send(
        letter([fixture.ben, fixture.ben], { cc: [address, fixture.cleo.address], subject: "Twice" }),
      );
      const mail = await arrived(fixture.ben, "Twice");
      expect(mail.to.map((one) => one.address)).toEqual([address]);
      expect(mail.cc.map((one) => one.address)).toEqual([fixture.cleo.address]);
      await arrived(fixture.cleo, "Twice");
      expect(await list(fixture.ben)).toHaveLength(1);
    });

    test("keeps a body to the character", async () => {
      await using fixture = await open();
      const body = '---\nkey: value\n---\n\n\tTabs, "quotes", `ticks`, ünïcödé 🙂 \u2028 and a last line\n\n';
      await fixture.ada.send(letter(fixture.ben, { subject: "Exact", body }));
      const { message_ref } = await arrived(fixture.ben, "Exact");
      expect((await fixture.ben.peek(message_ref)).body_text).toBe(body);
      expect((await list(fixture.ben, { includeBody: true }))[0]?.body_text).toBe(body);
    });

    test("keeps a long body whole, however it is read", async () => {
      await using fixture = await open();
      const body = `${"One long line. ".repeat(20_000)}\n${"line\n.\n".repeat(40_000)}the end`;
      await fixture.ada.send(letter(fixture.ben, { subject: "Long", body }));
      const { message_ref } = await arrived(fixture.ben, "Long");
      const read = [
        (await fixture.ben.peek(message_ref)).body_text,
        (await list(fixture.ben, { includeBody: true }))[0]?.body_text,
        (await fixture.ben.archive([message_ref]))[0]?.body_text,
      ];
      expect(read.map((text) => text === body)).toEqual([true, true, true]);
    });

    test("peeks without a trace and reads for good", async () => {
      await using fixture = await open();
      const [mail] = await correspondence(fixture, ["Look"]);
      const ref = mail?.message_ref ?? "";
      expect((await fixture.ben.peek(ref)).unread).toBe(true);
      expect((await fixture.ben.peek(ref, { box: "inbox" })).body_text).toBe("the body of Look");
      expect((await list(fixture.ben, { readState: "unread" })).length).toBe(1);
      expect(await fixture.ben.read(ref)).toMatchObject({
        read: true,
        unread: false,
        answered: false,
        box: "inbox",
      });
      expect(await list(fixture.ben, { readState: "unread" })).toEqual([]);
      expect((await fixture.ben.peek(ref)).read).toBe(true);
    });

    test("looks at the box before it marks as read", async () => {
      await using fixture = await open();
      const [mail] = await correspondence(fixture, ["Where"]);
      const ref = mail?.message_ref ?? "";
      expect(await refusal(fixture.ben.peek(ref, { box: "archive" }))).toBe("invalid_request");
      expect(await refusal(fixture.ben.read(ref, { box: "archive" }))).toBe("invalid_request");
      expect((await fixture.ben.peek(ref)).unread).toBe(true);
    });

    test("lists the newest first and filters before it counts to the limit", async () => {
      await using fixture = await open();
      const mails = await correspondence(fixture, ["One", "Two", "Three", "Four"]);
      expect(subjectsOf(await list(fixture.ben))).toEqual(["Four", "Three", "Two", "One"]);
      await fixture.ben.mark([mails[3]?.message_ref ?? "", mails[2]?.message_ref ?? ""], { read: true });
      await fixture.ben.mark([mails[1]?.message_ref ?? ""], { answered: true });
      expect(subjectsOf(await list(fixture.ben, { limit: 1, readState: "unread" }))).toEqual(["Two"]);
      expect(subjectsOf(await list(fixture.ben, { limit: 9, readState: "read" }))).toEqual(["Four", "Three"]);
      expect(subjectsOf(await list(fixture.ben, { answeredState: "answered" }))).toEqual(["Two"]);
      const owed = { answeredState: "unanswered", readState: "unread", limit: 1 } as const;
      expect(subjectsOf(await list(fixture.ben, owed))).toEqual(["One"]);
      expect(await list(fixture.ben, { archived: true })).toEqual([]);
      expect(await list(fixture.ben, { archived: false })).toHaveLength(4);
    });

    test("begins a list at a time, that time included", async () => {
      await using fixture = await open();
      await correspondence(fixture, ["Before"]);
      const [mail] = await correspondence(fixture, ["Then"]);
      const since = mail?.created_at_utc ?? "";
      expect(subjectsOf(await list(fixture.ben, { since }))).toContain("Then");
      expect(await list(fixture.ben, { since: since.replace("+00:00", "Z") })).not.toEqual([]);
      expect(await list(fixture.ben, { since: "2199-01-01T00:00:00Z" })).toEqual([]);
      expect(await refusal(list(fixture.ben, { since: "yesterday" }))).toBe("invalid_request");
    });

    test("turns page after page without a gap or a repeat, also while mail comes in", async () => {
      await using fixture = await open();
      await correspondence(fixture, ["1", "2", "3", "4", "5"]);
      const first = await fixture.ben.list({ ...everything, limit: 2 });
      expect(subjectsOf(first.messages)).toEqual(["5", "4"]);
      await correspondence(fixture, ["6"]);
      const second = await fixture.ben.list({ ...everything, limit: 2, cursor: first.nextCursor });
      expect(subjectsOf(second.messages)).toEqual(["3", "2"]);
      const third = await fixture.ben.list({ ...everything, limit: 2, cursor: second.nextCursor });
      expect(subjectsOf(third.messages)).toEqual(["1"]);
      expect(third.nextCursor).toBeNull();
      expect(await refusal(fixture.ben.list({ ...everything, cursor: "no cursor" }))).toBe("invalid_request");
    });

    test("marks all of a batch or nothing", async () => {
      await using fixture = await open();
      const mails = await correspondence(fixture, ["One", "Two"]);
      const refs = mails.map((mail) => mail.message_ref);
      const marked = await fixture.ben.mark(refs.toReversed(), { read: true, answered: true });
      expect(marked.map((mail) => mail.message_ref)).toEqual(refs.toReversed());
      expect(marked.every((mail) => mail.read && mail.answered)).toBe(true);
      const own = await fixture.cleo.send(letter(fixture.ada));
      for (const bad of [own.message_ref, "no-such-message"]) {
        expect(await refusal(fixture.ben.mark([...refs, bad], { read: false }))).toBe("not_found");
        expect(await refusal(fixture.ben.archive([...refs, bad]))).toBe("not_found");
      }
      expect(await list(fixture.ben, { readState: "read" })).toHaveLength(2);
      expect(await refusal(fixture.ben.mark(refs, {}))).toBe("invalid_request");
      expect(await refusal(fixture.ben.mark([], { read: true }))).toBe("invalid_request");
    });

    test("archives as read, and takes back out as it was read", async () => {
      await using fixture = await open();
      const [one, two] = await correspondence(fixture, ["One", "Two"]);
      const refs = [one?.message_ref ?? "", two?.message_ref ?? ""];
      const archived = { box: "archive", archived: true, read: true };
      expect(await fixture.ben.archive(refs.slice(0, 1))).toMatchObject([archived]);
      expect(await fixture.ben.mark(refs.slice(1), { archived: true })).toMatchObject([archived]);
      expect(await list(fixture.ben)).toEqual([]);
      expect(await list(fixture.ben, { box: "archive", archived: true })).toHaveLength(2);
      expect(await list(fixture.ben, { box: "archive", archived: false })).toEqual([]);
      expect(await refusal(fixture.ben.mark(refs, { read: false }))).toBe("invalid_request");
      expect(await refusal(fixture.ben.mark(refs, { archived: true, read: false }))).toBe("invalid_request");
      const back = await fixture.ben.mark(refs, { archived: false });
      expect(back).toMatchObject([
        { box: "inbox", archived: false, read: true },
        { box: "inbox", archived: false, read: true },
      ]);
      expect(await list(fixture.ben, { box: "archive" })).toEqual([]);
    });

    test("moves between boxes, a message being in one at a time", async () => {
      await using fixture = await open();
      const [mail] = await correspondence(fixture, ["Move"]);
      const ref = mail?.message_ref ?? "";
      expect(await fixture.ben.move([ref], "archive")).toMatchObject([
        { box: "archive", archived: true, read: true },
      ]);
      expect(await fixture.ben.move([ref], "inbox")).toMatchObject([
        { box: "inbox", archived: false, read: true },
      ]);
      for (const box of ["", " ", ".", "..", "a/b", "../x", "nul\0"]) {
        expect(await refusal(fixture.ben.move([ref], box))).toBe("invalid_request");
      }
      expect((await fixture.ben.peek(ref)).box).toBe("inbox");
    });

    test("counts the replies that led to it", async () => {
      await using fixture = await open();
      const [first] = await correspondence(fixture, ["Hops"]);
      expect(first).not.toHaveProperty("hops");
      await fixture.ben.reply(first?.message_ref ?? "", { body: "Again.", ...plain });
      const second = await arrived(fixture.ada, "Re: Hops");
      expect((await fixture.ada.peek(second.message_ref)).hops).toBe(1);
      await fixture.ada.reply(second.message_ref, { body: "Again.", ...plain });
      expect((await arrived(fixture.ben, "Re: Hops")).hops).toBe(2);
    });

    test("replies to its sender, in the same thread, and counts as answered", async () => {
      await using fixture = await open();
      const [mail] = await correspondence(fixture, ["Question"]);
      const reply = await fixture.ben.reply(mail?.message_ref ?? "", { body: "Answer.", ...plain });
      expect(reply).toMatchObject({ subject: "Re: Question", box: "sent", read: true });
      expect(reply.to.map((one) => one.address)).toEqual([fixture.ada.address]);
      const answered = await fixture.ben.peek(mail?.message_ref ?? "");
      expect(answered).toMatchObject({ read: true, answered: true, box: "inbox" });
      const got = await arrived(fixture.ada, "Re: Question");
      expect(got).toMatchObject({ unread: true, answered: false });
      const [sent] = await list(fixture.ada, { box: "sent" });
      expect(got.thread_ref).toBe(sent?.thread_ref ?? "");
      const again = await fixture.ada.reply(got.message_ref, { body: "Thanks.", ...plain });
      expect(again.subject).toBe("Re: Question");
      expect(again.thread_ref).toBe(got.thread_ref);
    });

    test("knows only its own messages", async () => {
      await using fixture = await open();
      const own = await fixture.ada.send(letter(fixture.ben, { subject: "Private" }));
      const { message_ref } = await arrived(fixture.ben, "Private");
      expect((await fixture.ben.peek(message_ref)).subject).toBe("Private");
      for (const ref of [own.message_ref, `${own.message_ref}x`, "x"]) {
        const work = [
          fixture.cleo.peek(ref),
          fixture.cleo.read(ref),
          fixture.cleo.reply(ref, { body: "", ...plain }),
          fixture.cleo.mark([ref], { read: true }),
          fixture.cleo.move([ref], "archive"),
          fixture.cleo.archive([ref]),
        ];
        expect(await Promise.all(work.map(refusal))).toEqual(work.map(() => "not_found"));
      }
      expect(await refusal(fixture.ben.peek("carrier-pigeon:1"))).toBe("invalid_request");
    });

    test("carries attachments whole", async () => {
      await using fixture = await open();
      const path = join(fixture.folder, "report.md");
      writeFileSync(path, "# Report\n");
      const attachments = [{ path }, { path, label: "Again" }];
      await fixture.ada.send(letter(fixture.ben, { subject: "Files", attachments }));
      const mail = await arrived(fixture.ben, "Files");
      expect(mail.attachments.map(({ size_bytes, media_type }) => ({ size_bytes, media_type }))).toEqual([
        { size_bytes: 9, media_type: "text/markdown" },
        { size_bytes: 9, media_type: "text/markdown" },
      ]);
      expect(mail.attachments.map((one) => one.label)).toEqual(["report.md", "Again"]);
      for (const bad of [join(fixture.folder, "absent.txt"), fixture.folder]) {
        const work = fixture.ada.send(
          letter(fixture.ben, { subject: "Bad", attachments: [{ path }, { path: bad }] }),
        );
        expect(await refusal(work)).toBe("invalid_request");
      }
      expect(subjectsOf(await list(fixture.ben))).toEqual(["Files"]);
    });

    test("refuses what is no letter, and nobody gets it", async () => {
      await using fixture = await open();
      const ben = fixture.ben.address;
      const bad: Partial<MailDraft>[] = [
        { to: [] },
        { to: ["ben"] },
        { to: [`../${ben}`] },
        { to: [`${ben}\0`] },
        { to: [`${ben}\r\nBcc: x@y`] },
        { to: [ben, "no address"] },
        { cc: ["@"] },
        { to: Array.from({ length: 10_000 }, (_, index) => `x${index}@${ben.split("@")[1]}`) },
        { subject: " " },
        { subject: "Two\r\nlines" },
        { subject: "nul\0" },
        { body: "nul\0" },
      ];
      const answers = await Promise.all(
        bad.map((rest) => refusal(fixture.ada.send(letter(fixture.ben, rest)))),
      );
      expect(answers).toEqual(bad.map(() => "invalid_request"));
      expect(await list(fixture.ben)).toEqual([]);
      expect(await list(fixture.ada, { box: "sent" })).toEqual([]);
    });

    test("refuses a recipient that does not exist, where the carrier can know", async () => {
      await using fixture = await open();
      const nobody = `nobody@${fixture.ben.address.split("@")[1]}`;
      const work = fixture.ada.send(
        letter(fixture.ben, { to: [fixture.ben.address, nobody], subject: "Nobody" }),
      );
      const answer = await refusal(work);
      if (!fixture.ada.capabilities.refusesUnknownRecipients) {
        expect(answer).toBe("nothing was refused");
        await arrived(fixture.ben, "Nobody");
        return;
      }
      expect(answer).toBe("invalid_request");
      expect(await list(fixture.ben)).toEqual([]);
    });

    test("has mail to itself once, unread in the inbox", async () => {
      await using fixture = await open();
      await fixture.ada.send(letter([fixture.ada, fixture.ben], { subject: "To me" }));
      expect(await arrived(fixture.ada, "To me")).toMatchObject({ unread: true, box: "inbox" });
      await arrived(fixture.ben, "To me");
      if (fixture.ada.transport === "filesystem")
        expect(await list(fixture.ada, { box: "sent" })).toEqual([]);
      expect(await list(fixture.ada)).toHaveLength(1);
    });

    test("takes notes of the operator, or says that it cannot", async () => {
      await using fixture = await open();
      const note = { subject: "Note", body: "Do it.", ...plain };
      if (!fixture.ada.capabilities.post) {
        expect(await refusal(fixture.ada.post({ ...note, replyPolicy: "none" }))).toBe("unsupported");
        return;
      }
      const oneWay = await fixture.ada.post({ ...note, replyPolicy: "none" });
      expect(oneWay).toMatchObject({ unread: true, box: "inbox", subject: "Note" });
      expect(oneWay.sender.principal_id).toBe("SVC-operator");
      expect(oneWay.reply_to).toEqual([]);
      expect(await refusal(fixture.ada.reply(oneWay.message_ref, { body: "", ...plain }))).toBe(
        "invalid_request",
      );
      expect(await fixture.ada.peek(oneWay.message_ref)).toMatchObject({ unread: true, answered: false });
      const answerable = await fixture.ada.post({ ...note, replyPolicy: "operator_mailbox" });
      const reply = await fixture.ada.reply(answerable.message_ref, { body: "Done.", ...plain });
      expect(reply.to).toEqual(oneWay.sender ? [oneWay.sender] : []);
      expect(await fixture.ada.peek(answerable.message_ref)).toMatchObject({ read: true, answered: true });
    });

    test("keeps the notice and its authentication", async () => {
      await using fixture = await open();
      const block = { text: "Look", placement: "append" } as const;
      if (!fixture.ada.capabilities.notify) {
        expect(await refusal(fixture.ada.send(letter(fixture.ben, { notifyBlock: block })))).toBe(
          "unsupported",
        );
        expect(await refusal(fixture.ada.send(letter(fixture.ben, { notifyAuth: { scheme: "none" } })))).toBe(
          "unsupported",
        );
        return;
      }
      const notifyBlock = { text: "Look at once", placement: "prepend" } as const;
      const notifyAuth = { scheme: "shared-token", token: "a-secret" } as const;
      await fixture.ada.send(letter(fixture.ben, { subject: "Notice", notifyBlock, notifyAuth }));
      const mail = await arrived(fixture.ben, "Notice");
      expect(mail).toMatchObject({ notify_block: notifyBlock, notify_auth: notifyAuth });
    });

    test("finds words in subject, sender and body, whatever they look like", async () => {
      await using fixture = await open();
      if (!fixture.ben.capabilities.search) {
        expect(await refusal(list(fixture.ben, { query: "lunch" }))).toBe("unsupported");
        return;
      }
      await fixture.ada.send(letter(fixture.ben, { subject: "Quarterly report", body: "Numbers of Köln" }));
      await fixture.cleo.send(letter(fixture.ben, { subject: "Lunch", body: "At noon?" }));
      await arrived(fixture.ben, "Quarterly report");
      await arrived(fixture.ben, "Lunch");
      const found = async (query: string) => subjectsOf(await list(fixture.ben, { query }));
      expect(await found("REPORT quarter")).toEqual(["Quarterly report"]);
      expect(await found("köln")).toEqual(["Quarterly report"]);
      expect(await found("cleo")).toEqual(["Lunch"]);
      expect(await found("lunch report")).toEqual([]);
      for (const hostile of [
        '"',
        "lunch OR report",
        "subject:lunch",
        "*",
        "NEAR(",
        "^",
        "a'b",
        "(",
        "-noon",
      ]) {
        expect(await refusal(found(hostile))).toBe("nothing was refused");
      }
    });

    test("notifies when mail has come", async () => {
      await using fixture = await open();
      const rings = createTestSignal<void>();
      const end = fixture.ben.onArrival(rings.emit);
      await fixture.ada.send(letter(fixture.ben, { subject: "Ring" }));
      await rings.first("a ring", () => true);
      end();
      end();
      expect(subjectsOf(await list(fixture.ben))).toEqual(["Ring"]);
    });

    test("keeps every reply in the thread of what it answers", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(), { minLength: 1, maxLength: 8 }), async (choices) => {
          await using fixture = await open();
          await fixture.ada.send(letter(fixture.ben, { subject: "Root" }));
          await arrived(fixture.ben, "Root");
          for (const choice of choices) {
            const author = choice % 2 === 0 ? fixture.ben : fixture.ada;
            const inbox = await list(author);
            const parent = inbox[choice % Math.max(1, inbox.length)];
            if (!parent) continue;
            const reply = await author.reply(parent.message_ref, { body: String(choice), ...plain });
            expect(reply.thread_ref).toBe(parent.thread_ref);
            const other = author === fixture.ben ? fixture.ada : fixture.ben;
            const count = (await list(author, { box: "sent" })).length;
            await until("the reply", async () => (await list(other)).length >= count);
          }
          const [adas, bens] = [await list(fixture.ada), await list(fixture.ben)];
          // A mail server numbers the threads of each account by itself.
          const told = fixture.ada.transport === "jmap" ? [adas, bens] : [[...adas, ...bens]];
          for (const mails of told) {
            expect(new Set(mails.map((mail) => mail.thread_ref)).size).toBeLessThanOrEqual(1);
          }
          expect(bens).not.toEqual([]);
        }),
        { numRuns: 8 },
      );
    });
  });
}
