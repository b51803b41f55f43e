import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { openHostOutbox } from "../../../src/db/mailbox/host-outbox.ts";
import { removeFromCatalog } from "../../../src/db/mailbox/rebuild.ts";
import { openMailboxState } from "../../../src/db/mailbox/state.ts";
import { upkeepOfState } from "../../../src/db/mailbox/state-upkeep.ts";
import { clearMessages } from "../../../src/services/mail/filesystem/clear.ts";
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
        ...{ artifact_kind: "canonical_message", proposed_action: "preserve" },
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
  removeFromCatalog(fixture.root.catalog.store).remove([idOf(message_ref)], null);
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
