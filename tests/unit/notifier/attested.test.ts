import { expect, test } from "bun:test";
import { createNotifierFixture, type NotifierFixture } from "../../support/notifier-fixture.ts";

const sender = "sender@svc.localhost";
const why = "its text is not the one that was signed";
const newest = ({ notifier }: NotifierFixture) => notifier.audit({ limit: 1 }).rows[0];

test("only verified mail wakes the agent where it is required, and the audit names the rest", async () => {
  await using fixture = createNotifierFixture({ interval_seconds: 60, require_attestation: "verified" });
  await fixture.clock.advance(0);
  await fixture.arrive("forged");
  expect(fixture.prompts).toEqual([]);
  expect(newest(fixture)).toMatchObject({
    outcome: "wake_held",
    unread_count: 0,
    detail: expect.stringMatching(
      /^require_attestation=verified: 1 message\(s\) wake nobody: filesystem:msg-\S+ is unsigned$/,
    ),
  });
  expect(fixture.notifier.wakesHeld()).toMatchObject({ reason: "require_attestation" });
  fixture.mail.verdicts.set(sender, { state: "broken", why });
  await fixture.clock.advance(60_000);
  expect(newest(fixture)?.detail).toEndWith(` is broken (${why})`);
  expect(fixture.prompts).toEqual([]);

  fixture.mail.verdicts.set(sender, { state: "verified" });
  await fixture.clock.advance(60_000);
  expect(fixture.prompts).toHaveLength(1);
  expect(fixture.notifier.wakesHeld()).toBeNull();
});

test("mail that is not proved is held beside mail that wakes, and is not in its prompt", async () => {
  await using fixture = createNotifierFixture({ interval_seconds: 60, require_attestation: "verified" });
  await fixture.clock.advance(0);
  await fixture.arrive("forged");
  const other = fixture.mail.open("other@svc.localhost");
  fixture.mail.verdicts.set(other.address, { state: "verified" });
  const plain = { attachments: [], notifyBlock: null, notifyAuth: null };
  await other.send({ to: [fixture.inbox.address], cc: [], subject: "real", body: "", ...plain });
  await fixture.clock.advance(1000);
  expect(fixture.prompts).toHaveLength(1);
  expect(fixture.prompts[0]).toContain("real");
  expect(fixture.prompts[0]).not.toContain("forged");
  expect(newest(fixture)).toMatchObject({
    outcome: "enqueued",
    detail: expect.stringContaining("require_attestation=verified: 1 message(s)"),
  });
});

test("at most five are named, and ending the demand wakes for all of them", async () => {
  await using fixture = createNotifierFixture({ interval_seconds: 60, require_attestation: "verified" });
  await fixture.clock.advance(0);
  for (let nth = 0; nth < 7; nth++) await fixture.arrive(`mail ${nth}`);
  await fixture.clock.advance(2000);
  expect(newest(fixture)?.detail).toMatch(/^require_attestation=verified: 7 message.*; and 2 more$/);
  fixture.notifier.update({ require_attestation: "none" });
  await fixture.clock.advance(0);
  expect(fixture.prompts).toHaveLength(1);
  expect(fixture.prompts[0]).toContain("7 message(s) for");
});

test("it is not taken for a mailbox of a mail server, which proves no sender", async () => {
  await using fixture = createNotifierFixture();
  Object.assign(fixture.inbox, { transport: "jmap" });
  expect(() => fixture.notifier.update({ require_attestation: "verified" })).toThrow(
    "require_attestation=verified needs a mailbox of the filesystem transport: a mail server proves no sender",
  );
  expect(fixture.notifier.status().require_attestation).toBe("none");
});
