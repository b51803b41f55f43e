import { expect, test } from "bun:test";
import { createJmapMailbox } from "../../../src/services/mail/jmap/mailbox.ts";
import { createSystem } from "../../../src/system/system.ts";
import { everything } from "../../support/mail-story.ts";
import { type ScriptedJmap, startScriptedJmap } from "../../support/scripted-jmap.ts";
import * as recorded from "../../unit/mail/jmap/recorded.ts";

const inboxId = "j11ylcs62n2iyc5fme2qmqg3";

/** `count` messages, many of one second, newest first; the server gives at most `most` at a time. */
function holding(fixture: ScriptedJmap, count: number, most: number): string[] {
  const mails = Array.from({ length: count }, (_, nth) => {
    const second = String(59 - Math.floor(nth / 290)).padStart(2, "0");
    return { ...recorded.email, id: `M${nth}`, receivedAt: `2026-11-21T08:53:${second}Z` };
  });
  let queried: string[] = [];
  fixture.answers["Email/query"] = ({ filter, limit, position }) => {
    const conditions = (filter as { conditions: { before?: string }[] }).conditions;
    const before = conditions.find((one) => one.before !== undefined)?.before ?? "9";
    const found = mails.filter((one) => one.receivedAt.replace("Z", ".000Z") < before);
    const from = Number(position ?? 0);
    queried = found.slice(from, from + Math.min(Number(limit), most)).map(({ id }) => id);
    return { ids: queried, ...(Number(limit) > most ? { limit: most } : {}) };
  };
  fixture.answers["Email/get"] = () => ({
    state: "1",
    // A server may tell them in any order.
    list: mails.filter(({ id }) => queried.includes(id)).reverse(),
  });
  fixture.answers["Mailbox/get"] = () => ({ list: recorded.boxes });
  return mails.map(({ id }) => `jmap:${id}`);
}

function open({ client }: ScriptedJmap) {
  const { clock, ids, files } = createSystem();
  return createJmapMailbox({
    client,
    clock,
    ids,
    files,
    address: "ada@svc.localhost",
    principalId: "SVC-ada",
  });
}

test("a box of many messages is listed whole, each once, in order", async () => {
  await using fixture = startScriptedJmap();
  const refs = holding(fixture, 1000, Number.POSITIVE_INFINITY);
  const { messages, nextCursor } = await open(fixture).list(everything);
  expect(messages.map((one) => one.message_ref)).toEqual(refs);
  expect(nextCursor).toBeNull();
});

test("a server that gives fewer at a time than it is asked for is asked on", async () => {
  await using fixture = startScriptedJmap();
  const refs = holding(fixture, 700, 50);
  const { messages } = await open(fixture).list(everything);
  expect(messages.map((one) => one.message_ref)).toEqual(refs);
});

test("pages of any size join without a gap, also within one second", async () => {
  await using fixture = startScriptedJmap();
  const refs = holding(fixture, 700, Number.POSITIVE_INFINITY);
  const mailbox = open(fixture);
  for (const limit of [1000, 300, 97]) {
    const told: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await mailbox.list({ ...everything, limit, cursor });
      expect(page.messages.length).toBe(Math.min(limit, refs.length - told.length));
      told.push(...page.messages.map((one) => one.message_ref));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(told).toEqual(refs);
  }
});

test("a list asks for the box by its role, and again when that is another box by now", async () => {
  await using fixture = startScriptedJmap();
  const refs = holding(fixture, 3, 10);
  const mailbox = open(fixture);
  expect((await mailbox.list(everything)).messages.map((one) => one.message_ref)).toEqual(refs);
  const boxes = recorded.boxes.map((one) => (one.id === inboxId ? { ...one, id: "new" } : one));
  fixture.answers["Mailbox/get"] = () => ({ list: boxes });
  fixture.calls.length = 0;
  await mailbox.list(everything);
  expect(fixture.calls.filter((name) => name === "Email/query")).toHaveLength(2);
});
