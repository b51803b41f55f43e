import { expect, test } from "bun:test";
import { awaitOutcome } from "../support/await-outcome.ts";
import { createFakeMail } from "../support/fake-mailbox.ts";
import { createMailRootFixture } from "../support/mail-root.ts";
import { everything } from "../support/mail-story.ts";
import { createScratch } from "../support/scratch.ts";
import { type MailFixture, mailboxConformance } from "./mailbox-suite.ts";

async function openFiles(): Promise<MailFixture> {
  const fixture = createMailRootFixture();
  return {
    ada: fixture.mailbox("ada"),
    ben: fixture.mailbox("ben"),
    cleo: fixture.mailbox("cleo"),
    folder: fixture.scratch.folder,
    [Symbol.asyncDispose]: async () => fixture[Symbol.dispose](),
  };
}

async function openFake(): Promise<MailFixture> {
  const mail = createFakeMail();
  const scratch = createScratch();
  return {
    ada: mail.open("ada@svc.localhost"),
    ben: mail.open("ben@svc.localhost"),
    cleo: mail.open("cleo@svc.localhost"),
    folder: scratch.folder,
    [Symbol.asyncDispose]: async () => scratch[Symbol.dispose](),
  };
}

mailboxConformance("the file system", openFiles);
mailboxConformance("the fake", openFake);

test.each([
  { id: "the file system", open: openFiles },
  { id: "the fake", open: openFake },
])("a message of $id keeps its number and is found by it", async ({ open }) => {
  await using fixture = await open();
  const { ada, ben } = fixture;
  const send = (subject: string) =>
    ada.send({
      to: [ben.address],
      cc: [],
      subject,
      body: "text",
      attachments: [],
      notifyBlock: null,
      notifyAuth: null,
    });
  const numbers = async (box = "inbox") =>
    new Map((await ben.list({ ...everything, box })).messages.map((one) => [one.subject, one.number]));
  for (const subject of ["first", "second"]) await send(subject);
  expect([...(await numbers())]).toEqual([
    ["second", 2],
    ["first", 1],
  ]);
  const reply = { body: "done", attachments: [], notifyBlock: null, notifyAuth: null };
  await ben.reply("1", reply);
  await send("third");
  expect(await ben.archive(["1"])).toMatchObject([{ subject: "first", number: 1, answered: true }]);
  // What it sent has a number too.
  expect([...(await numbers())]).toEqual([
    ["third", 4],
    ["second", 2],
  ]);
  expect(await ben.read("4")).toMatchObject({ subject: "third", read: true });
  expect(await ben.peek("1")).toMatchObject({ subject: "first", box: "archive" });
  for (const unknown of ["5", "0", "999999999999999"]) {
    const refused = "holds no such message";
    expect(await awaitOutcome(ben.read(unknown))).toThrow(refused);
    expect(await awaitOutcome(ben.archive(["2", unknown]))).toThrow(refused);
  }
  expect((await ben.peek("2")).box).toBe("inbox");
});
