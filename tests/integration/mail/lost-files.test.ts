import { expect, test } from "bun:test";
import { readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import { defaultNotifierConfig } from "../../../src/services/notifier/config.ts";
import { eligibleMail, runCycle } from "../../../src/services/notifier/cycle.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";

const noMemory = {
  lastPollAtUtc: null,
  lastNotificationAtUtc: null,
  lastError: null,
  notified: {},
};

/** Ben has two messages, and the file of one, `lost`, was taken away by somebody. */
async function setup() {
  const fixture = createMailRootFixture();
  const ada = fixture.mailbox("ada");
  const ben = fixture.mailbox("ben");
  const kept = await ada.send(draft("ben", "kept"));
  const lost = await ada.send(draft("ben", "lost"));
  await ben.list(everything);
  fixture.putOnDisk();
  const id = lost.message_ref.replace("filesystem:", "");
  const [day = ""] = readdirSync(join(fixture.path, "messages"));
  rmSync(join(fixture.path, "messages", day, `${id}.md`));
  return { fixture, ben, kept, lost, id, [Symbol.dispose]: () => fixture[Symbol.dispose]() };
}

test("a message whose file is lost can be put away and hides no other mail", async () => {
  using has = await setup();
  const page = await has.ben.list({ ...everything, includeBody: true });
  expect(page.messages.map((one) => [one.subject, one.body_text])).toEqual([
    ["lost", null],
    ["kept", has.kept.body_text],
  ]);
  const [archived] = await has.ben.archive([has.lost.message_ref]);
  expect([archived?.box, archived?.body_text]).toEqual(["archive", null]);
  const refused = await has.ben.read(has.lost.message_ref).catch((error) => error);
  expect(refused.reason).toBe("transport_failed");
});

const spoilt = [
  { id: "emptied", spoil: (path: string) => truncateSync(path, 0) },
  { id: "cut off", spoil: (path: string) => truncateSync(path, 200) },
  { id: "overwritten", spoil: (path: string) => writeFileSync(path, new Uint8Array(9000).fill(0xa5)) },
  { id: "another's", spoil: (path: string) => writeFileSync(path, "---\nmessage_id: another\n---\n\nbody") },
];

test.each(spoilt)(
  "a message whose file is $id is not shown with an empty or foreign body",
  async ({ spoil }) => {
    using has = await setup();
    const [day = ""] = readdirSync(join(has.fixture.path, "messages"));
    const id = has.kept.message_ref.replace("filesystem:", "");
    spoil(join(has.fixture.path, "messages", day, `${id}.md`));
    const page = await has.ben.list({ ...everything, includeBody: true });
    expect(page.messages.map((one) => [one.subject, one.body_text])).toEqual([
      ["lost", null],
      ["kept", null],
    ]);
    const refused = await has.ben.peek(has.kept.message_ref).catch((error) => error);
    expect([refused.reason, refused.data]).toEqual([
      "transport_failed",
      { remedy: { code: "repair_mailboxes" } },
    ]);
    expect(await eligibleMail(() => has.ben, defaultNotifierConfig)).toMatchObject({
      messages: [],
      unreadable: 2,
    });
  },
);

test("a message whose file is lost wakes nobody, and the poll says that it was left out", async () => {
  using has = await setup();
  const open = () => has.ben;
  const before = await eligibleMail(open, defaultNotifierConfig);
  expect(before).toMatchObject({ messages: [{ subject: "kept" }], unreadable: 1, more: false });
  await has.ben.archive([has.kept.message_ref]);
  const { row } = await runCycle(
    {
      agent: { tool: "demo" },
      queue: { acceptNotice: () => Promise.reject(new Error("nobody is to be woken")) },
      openMailbox: open,
      gate: () => ({
        admission: "open",
        execution: "idle",
        typist: null,
        queueDepth: 0,
        readiness: { ready: true },
      }),
      enabled: () => true,
      tend: async () => null,
      baseUrl: () => "http://127.0.0.1:1",
      skillInstalled: () => false,
      clock: createFakeClock(),
      newestWakes: () => [],
    },
    { trigger: "interval", config: { ...defaultNotifierConfig, enabled: true }, memory: noMemory },
  );
  expect(row).toMatchObject({
    outcome: "empty",
    unread_count: 0,
    detail: "1 message(s) left out, their files are missing: a repair of the mailboxes says which",
  });
});

test("a repair reports a message of which only the state of a mailbox is left", async () => {
  using has = await setup();
  for (const ending of ["", "-wal", "-shm"])
    rmSync(join(has.fixture.path, `index.sqlite${ending}`), { force: true });
  const options = { cleanupStaging: true, quarantineStaging: true };
  const report = await repairMailRoot(has.fixture.deps, has.fixture.path, options);
  const told = report.findings.filter(({ path }) => path.endsWith(`${has.id}.md`));
  expect(told.map(({ problem }) => problem)).toContain("the file of this message is missing");
});
