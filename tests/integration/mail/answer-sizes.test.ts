import { describe, expect, test } from "bun:test";
import { createJmapMailbox } from "../../../src/services/mail/jmap/mailbox.ts";
import type { Mail, Mailbox, MailQuery } from "../../../src/services/mail/mailbox.ts";
import { createSystem } from "../../../src/system/system.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";
import { startScriptedJmap } from "../../support/scripted-jmap.ts";
import * as recorded from "../../unit/mail/jmap/recorded.ts";

const mebibyte = 2 ** 20;

async function pagesOf(mailbox: Mailbox, query: Partial<MailQuery>): Promise<Mail[][]> {
  const pages: Mail[][] = [];
  let cursor: string | null = null;
  do {
    const page = await mailbox.list({ ...everything, ...query, cursor });
    pages.push(page.messages);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return pages;
}

const sizes = (pages: Mail[][]) => pages.map((page) => page.length);

describe("a mailbox on the file system", () => {
  test("with bodies: a page ends at 8 MiB, a longer message is one by itself, and none is left out", async () => {
    using fixture = createMailRootFixture();
    const ann = fixture.mailbox("ann");
    const bob = fixture.mailbox("bob");
    const bodies = [3, 3, 1, 8, 3, 4].map((size, nth) => String(nth).repeat(size * mebibyte));
    for (const body of bodies) await ann.send(draft("bob", "long", { body }));
    const pages = await pagesOf(bob, { includeBody: true });
    expect(sizes(pages)).toEqual([2, 1, 3]);
    expect(pages.flat().map(({ body_text }) => body_text?.length)).toEqual(
      bodies.map(({ length }) => length).toReversed(),
    );
    expect(sizes(await pagesOf(bob, { includeBody: true, limit: 1 }))).toEqual([1, 1, 1, 1, 1, 1]);
    expect(sizes(await pagesOf(bob, {}))).toEqual([6]);
  });

  test("characters that JSON escapes count as what they become", async () => {
    using fixture = createMailRootFixture();
    const ann = fixture.mailbox("ann");
    const bob = fixture.mailbox("bob");
    for (let nth = 0; nth < 3; nth++) await ann.send(draft("bob", "s", { body: "\u0001".repeat(mebibyte) }));
    expect(sizes(await pagesOf(bob, { includeBody: true }))).toEqual([1, 1, 1]);
  });

  test("a change of many long messages answers with all of them, and with 8 MiB of their texts", async () => {
    using fixture = createMailRootFixture();
    const ann = fixture.mailbox("ann");
    const bob = fixture.mailbox("bob");
    for (let nth = 0; nth < 4; nth++) await ann.send(draft("bob", "s", { body: "b".repeat(3 * mebibyte) }));
    const refs = (await bob.list(everything)).messages.map((one) => one.message_ref);
    const changed = await bob.mark(refs, { read: true });
    expect(changed.map(({ body_text }) => body_text?.length ?? null)).toEqual([
      3 * mebibyte,
      3 * mebibyte,
      null,
      null,
    ]);
    expect(changed.every(({ read }) => read)).toBe(true);
    expect((await bob.peek(refs[3] ?? "")).body_text).toHaveLength(3 * mebibyte);
  });
});

test("a mailbox on a JMAP server: 24 bodies of 1 MiB are four pages, none left out", async () => {
  await using fixture = startScriptedJmap();
  const value = `${"j".repeat(mebibyte)}\n`;
  const mails = Array.from({ length: 24 }, (_, nth) => ({
    ...recorded.email,
    id: `M${nth}`,
    receivedAt: `2026-11-21T08:53:${String(59 - nth).padStart(2, "0")}Z`,
    textBody: [{ partId: "1", type: "text/plain" }],
  }));
  const asked: string[][] = [];
  let queried: string[] = [];
  fixture.answers["Email/query"] = ({ filter, limit }) => {
    const conditions = (filter as { conditions: { before?: string }[] }).conditions;
    const before = conditions.find((one) => one.before !== undefined)?.before ?? "9";
    queried = mails.filter((one) => one.receivedAt.replace("Z", ".000Z") < before).map(({ id }) => id);
    queried = queried.slice(0, Number(limit));
    return { ids: queried };
  };
  fixture.answers["Email/get"] = ({ ids }) => {
    const wanted = (ids as string[] | undefined) ?? queried;
    asked.push(wanted);
    const whole = wanted.length === 1;
    const list = mails
      .filter(({ id }) => wanted.includes(id))
      .map((one) => ({
        ...one,
        bodyValues: { "1": { value: whole ? value : "cut", isTruncated: !whole } },
      }));
    return { state: "1", list };
  };
  fixture.answers["Mailbox/get"] = () => ({ list: recorded.boxes });
  const { clock, ids, files } = createSystem();
  const mailbox = createJmapMailbox({
    client: fixture.client,
    clock,
    ids,
    files,
    address: "ada@svc.localhost",
    principalId: "SVC-ada",
  });
  const pages = await pagesOf(mailbox, { includeBody: true });
  expect(sizes(pages)).toEqual([7, 7, 7, 3]);
  expect(pages.flat().map((one) => one.message_ref)).toEqual(mails.map(({ id }) => `jmap:${id}`));
  expect(pages.flat().every(({ body_text }) => body_text?.length === mebibyte)).toBe(true);
  // A page fetches one body more than it has a place for, and no further.
  expect(asked.filter((one) => one.length === 1)).toHaveLength(24 + 3);
});
