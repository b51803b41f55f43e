import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { openHostOutbox } from "../../../src/db/mailbox/host-outbox.ts";
import { removeFromCatalog } from "../../../src/db/mailbox/rebuild.ts";
import { openMailboxState } from "../../../src/db/mailbox/state.ts";
import { upkeepOfState } from "../../../src/db/mailbox/state-upkeep.ts";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import { clearMessages } from "../../../src/services/mail/filesystem/upkeep/clear.ts";
import { createSystem } from "../../../src/system/system.ts";
import { createMailRootFixture, type MailRootFixture } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";

const ada = "ada@svc.localhost";
const idOf = (ref: string) => ref.replace("filesystem:", "");

/** Of one mailbox, or of all. */
function clear(fixture: MailRootFixture, address: string | null, dryRun = false) {
  return clearMessages(fixture.deps, fixture.root, { address, dryRun });
}

/** The subjects in a mailbox, newest first. */
async function subjects(fixture: MailRootFixture, name: string, box = "inbox"): Promise<string[]> {
  const { messages } = await fixture.mailbox(name).list({ ...everything, box });
  return messages.map(({ subject }) => subject);
}

test.each([
  { id: "one mailbox", address: ada },
  { id: "all", address: null },
])("clearing $id keeps mail that waits for another host, and says so", async ({ address }) => {
  using fixture = createMailRootFixture();
  const outbox = openHostOutbox(fixture.root.catalog);
  outbox.joinAs("here");
  const sender = fixture.mailbox("ada");
  await sender.send({ ...draft("", "away"), to: ["ben@there", "cleo@yonder"] });
  await sender.send(draft("ada", "at home"));
  const entries = outbox.waiting({ after: 0, limit: 10 });
  expect(entries.map(({ host }) => host)).toEqual(["there", "yonder"]);
  await subjects(fixture, "ada", "sent");

  const planned = await clear(fixture, address, true);
  const done = await clear(fixture, address);
  for (const result of [planned, done]) {
    const kept = result.preserved_actions.filter((one) => one.artifact_kind === "canonical_message");
    expect(kept).toEqual([
      {
        artifact_kind: "canonical_message",
        proposed_action: "preserve",
        path: expect.stringContaining(entries[0]?.messageId ?? ""),
        reason: "it waits for host there, yonder",
        details: { message_id: entries[0]?.messageId },
      },
    ]);
    const counts = result.planned_actions.map((one) => [one.artifact_kind, one.details["count"]]);
    expect(counts).toContainEqual(["projection", 1]);
    expect(counts).toContainEqual(["mailbox_state", 1]);
  }
  expect(done.summary.applied_count).toBe(planned.summary.planned_count);
  expect(outbox.waiting({ after: 0, limit: 10 })).toEqual(entries);
  expect(await subjects(fixture, "ada", "sent")).toEqual(["away"]);
  expect(await subjects(fixture, "ada")).toEqual([]);
  expect((await clear(fixture, address)).summary.planned_count).toBe(0);

  for (const entry of entries) outbox.remove(entry);
  expect((await clear(fixture, address)).blocked_actions).toEqual([]);
  expect(await subjects(fixture, "ada", "sent")).toEqual([]);
});

test("a message that was committed after the clear was planned goes out nevertheless", async () => {
  using fixture = createMailRootFixture();
  const outbox = openHostOutbox(fixture.root.catalog);
  outbox.joinAs("here");
  const { message_ref } = await fixture.mailbox("ada").send({ ...draft("", "away"), to: ["ben@there"] });
  removeFromCatalog(fixture.root.catalog.store).remove(
    [{ messageId: idOf(message_ref), foreign: null }],
    null,
  );
  expect(outbox.size().count).toBe(1);
  expect(fixture.root.catalog.knows(idOf(message_ref))).toBe(true);
});

/** A mailbox that catches up with two messages, while another process has its index forget the first. */
async function clearedWhileCatchingUp(forgetsAt: string) {
  const at: { forget: (() => void) | null } = { forget: null };
  const step = (moment: string) => (label: string) => {
    const { forget } = at;
    if (forget === null || `${moment} ${label}` !== forgetsAt) return;
    at.forget = null;
    forget();
  };
  const fixture = createMailRootFixture({ steps: { before: step("before"), after: step("after") } });
  const [sender, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  await ben.list(everything);
  const cleared = idOf((await sender.send(draft("ben", "cleared"))).message_ref);
  await sender.send(draft("ben", "kept"));
  fixture.putOnDisk();
  const link = fixture.scratch.path(`mailbox/mailboxes/ben@svc.localhost/inbox/${cleared}.md`);
  const theirs = removeFromCatalog(fixture.reopen().catalog.store);
  const registrationId = fixture.root.catalog.active("ben@svc.localhost")?.registrationId ?? "";
  at.forget = () => theirs.remove([], { registrationId, messageIds: [cleared] });
  const seen = (await ben.list(everything)).messages.map(({ subject }) => subject);
  expect(at).toEqual({ forget: null });
  return { fixture, seen, link };
}

test("a message that is cleared while its mailbox catches up does not come back", async () => {
  const { fixture, seen } = await clearedWhileCatchingUp("before sql:mail-seeded");
  using _ = fixture;
  expect(seen).toEqual(["kept"]);
  expect(await subjects(fixture, "ben")).toEqual(["kept"]);
});

test("a clear finds a message that was just added, with its link", async () => {
  const { fixture, link } = await clearedWhileCatchingUp("after sql:mail-seeded");
  using _ = fixture;
  expect(existsSync(link)).toBe(true);
  await clear(fixture, "ben@svc.localhost");
  expect(await subjects(fixture, "ben")).toEqual([]);
  expect(existsSync(link)).toBe(false);
});

test("two processes that add the same messages leave no gap in their numbers", () => {
  using fixture = createMailRootFixture();
  const state = openMailboxState({ path: fixture.scratch.path("mailbox.sqlite"), ...fixture.deps });
  const text = {
    threadId: "",
    createdAtUtc: "",
    subject: "",
    sender: "",
    envelopeJson: "{}",
    bodyPreview: "",
  };
  const flags = { isRead: false, isAnswered: false, boxName: "inbox", linkBox: null, attestation: null };
  const row = { messageId: "msg-1", ...text, ...flags, body: "", answers: null };
  const mark = { generation: "one", registrationId: "reg-1", seededSeq: 1 };
  for (const _ of ["ours", "theirs"]) state.seed("test", [row], mark);
  const upkeep = upkeepOfState(state.store);
  expect([upkeep.count(), upkeep.newestRemoved()]).toEqual([1, false]);
  upkeep.removeSurplus({ seq: 0, limit: 1 }, () => true);
  expect([upkeep.count(), upkeep.newestRemoved()]).toEqual([0, true]);
  state.close();
});

test("a clear does not pass by a mailbox that is just adding messages", async () => {
  using fixture = createMailRootFixture();
  const path = fixture.scratch.path("mailbox.sqlite");
  const open = () => openMailboxState({ path, ...fixture.deps });
  const [ours, theirs] = [open(), open()];
  theirs.store.client.prepare("PRAGMA busy_timeout=0").run();
  ours.store.write("test", () => {
    const look = () => upkeepOfState(theirs.store).removeSurplus({ seq: 0, limit: 1 }, () => true);
    expect(look).toThrow("database is locked");
  });
  ours.close();
  theirs.close();
});

/** Repairs a root whose index is gone without a trace. */
async function repairWithoutIndex(fixture: MailRootFixture): Promise<void> {
  fixture.putOnDisk();
  for (const ending of ["", "-wal", "-shm"]) {
    rmSync(fixture.scratch.path(`mailbox/index.sqlite${ending}`), { force: true });
  }
  const options = { cleanupStaging: false, quarantineStaging: false };
  await repairMailRoot(fixture.deps, fixture.path, options);
}

test("mail that was cleared from one mailbox stays away when the index is lost", async () => {
  using fixture = createMailRootFixture();
  const [sender] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  for (const subject of ["one", "two"]) await sender.send(draft("ben", subject));
  expect(await subjects(fixture, "ben")).toHaveLength(2);
  await clear(fixture, "ben@svc.localhost");
  expect(await subjects(fixture, "ben")).toEqual([]);
  await repairWithoutIndex(fixture);
  expect(await subjects(fixture, "ben")).toEqual([]);
  expect(await subjects(fixture, "ada", "sent")).toHaveLength(2);
});

test("mail that came after a clear, and was not looked at, is found when the index is lost", async () => {
  using fixture = createMailRootFixture();
  const [sender] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  await sender.send(draft("ben", "cleared"));
  await subjects(fixture, "ben");
  await clear(fixture, "ben@svc.localhost");
  for (const subject of ["new", "newer"]) await sender.send(draft("ben", subject));
  // Its sender looks, so that its links are there.
  await subjects(fixture, "ada", "sent");
  await repairWithoutIndex(fixture);
  expect(await subjects(fixture, "ben")).toEqual(["newer", "new"]);
});

test("what a clear kept brings back nothing that it took when the index is lost", async () => {
  const { clock } = createSystem();
  let aheadMs = 0;
  const ahead = { ...clock, nowMs: () => clock.nowMs() + aheadMs };
  using fixture = createMailRootFixture({ system: { clock: ahead } });
  openHostOutbox(fixture.root.catalog).joinAs("here");
  const [sender] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  await sender.send({ ...draft("", "away"), to: ["ben@there"] });
  aheadMs = 5000;
  await sender.send(draft("ben", "cleared"));
  expect(await subjects(fixture, "ada", "sent")).toHaveLength(2);
  await clear(fixture, ada);
  await repairWithoutIndex(fixture);
  expect(await subjects(fixture, "ada", "sent")).toEqual(["away"]);
  expect(await subjects(fixture, "ben")).toEqual(["cleared"]);
});
