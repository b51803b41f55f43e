import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { defaultMailbox } from "../../../src/services/mail/address.ts";
import { openMailRoot } from "../../../src/services/mail/filesystem/root.ts";
import { makeCorpus } from "../../bench/mail-corpus.ts";
import { mailRootDeps } from "../../support/mail-root.ts";
import { everything } from "../../support/mail-story.ts";
import { createScratch } from "../../support/scratch.ts";

const unseen = 600;
function setup() {
  const scratch = createScratch();
  makeCorpus(scratch.path("mailbox"), unseen);
  const root = openMailRoot(mailRootDeps(), scratch.path("mailbox"));
  return {
    worker: root.openMailbox(defaultMailbox("worker")),
    other: root.openMailbox(defaultMailbox("other")),
    registrations: root.registrations,
    statePath: scratch.path("mailbox/mailboxes/worker@svc.localhost/mailbox.sqlite"),
    [Symbol.dispose]() {
      root.close();
      scratch[Symbol.dispose]();
    },
  };
}

/** How often the process could do something else until `work` was done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let done = false;
  const ended = work.finally(() => (done = true));
  let turns = 0;
  for (; !done; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
  await ended;
  return turns;
}

test("a mailbox that catches up with much mail lets other work of its process happen meanwhile", async () => {
  using fixture = setup();
  expect(await turnsDuring(fixture.worker.list(everything))).toBeGreaterThan(5);
  // What is caught up with waits for nothing.
  expect(await turnsDuring(fixture.worker.list(everything))).toBeLessThan(3);
});

test("nobody sees a part of the mail for the whole, and another mailbox answers first", async () => {
  using fixture = setup();
  const order: string[] = [];
  const told = (name: string) => () => void order.push(name);
  const lists = [1, 2, 3].map(() => fixture.worker.list(everything));
  const newest = fixture.worker.list({ ...everything, limit: 1 });
  const counted = Promise.all(lists).then((pages) => {
    told("worker")();
    return pages.map(({ messages }) => messages.length);
  });
  await fixture.other.list(everything).then(told("other"));
  expect(order).toEqual(["other"]);
  expect(await counted).toEqual([unseen, unseen, unseen]);
  expect((await newest).messages[0]?.subject).toBe(`message ${unseen - 1}`);
});

test("a mailbox that is closed while it catches up says so and opens nothing again", async () => {
  using fixture = setup();
  const list = fixture.worker.list(everything);
  fixture.worker.close();
  expect(await list.catch((error) => error.reason)).toBe("transport_failed");
});

test("a mailbox whose registration is replaced while it catches up does not show its mail to the next", async () => {
  using fixture = setup();
  const list = fixture.worker.list(everything);
  fixture.registrations.register({
    address: fixture.worker.address,
    principalId: "SVC-next",
    mode: "force",
  });
  expect(await list.catch((error) => error.reason)).toBe("invalid_request");
});

test("a mailbox that another process set back is caught up with again", async () => {
  using fixture = setup();
  expect((await fixture.worker.list(everything)).messages).toHaveLength(unseen);
  expect((await fixture.worker.list(everything)).messages).toHaveLength(unseen);
  using theirs = new Database(fixture.statePath);
  theirs.run("DELETE FROM message_state");
  theirs.run("DELETE FROM message_text");
  theirs.run("UPDATE seeded SET seeded_seq = 0");
  expect((await fixture.worker.list(everything)).messages).toHaveLength(unseen);
});
