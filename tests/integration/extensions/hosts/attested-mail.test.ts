import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { openAttestations } from "../../../../src/db/mailbox/attestations.ts";
import type { HostMail } from "../../../../src/protocol/hosts.ts";
import {
  createMailCarrier,
  type MailCarrier,
} from "../../../../src/services/extensions/hosts/mail-carrier.ts";
import { openMailRoot } from "../../../../src/services/mail/filesystem/root.ts";
import { clearMessages } from "../../../../src/services/mail/filesystem/upkeep/clear.ts";
import type { Mail, Mailbox } from "../../../../src/services/mail/mailbox.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { createMailRootFixture, type MailRootFixture } from "../../../support/mail-root.ts";
import { everything } from "../../../support/mail-story.ts";

// ann of build-1 writes to bob of build-2; the test carries the mail, and may change it on the way.

let one: MailRootFixture;
let two: MailRootFixture;
let carriers: MailCarrier[];
let onTheWay: HostMail[];
let receiver: MailCarrier;
let sender: MailCarrier;
/** Of the sender's loop. */
let clock: FakeClock;

function carrierOf(at: MailRootFixture, host: string): MailCarrier {
  const joined = new Set<string>();
  const carrier = createMailCarrier({
    clock: { ...clock, nowMs: at.deps.clock.nowMs },
    files: at.deps.files,
    host,
    mailboxes: () => [],
    log: () => {},
    joined: { has: (root) => joined.has(root), add: (root) => void joined.add(root) },
    roots: () => [at.path],
    openRoot: (root) => openMailRoot(at.deps, root),
    way: {
      async send(_to, _id, message) {
        if (message.kind === "mail") onTheWay.push(message);
      },
    },
  });
  carriers.push(carrier);
  return carrier;
}

beforeEach(() => {
  [one, two] = [createMailRootFixture(), createMailRootFixture()];
  [carriers, onTheWay] = [[], []];
  one.mailbox("ann");
  clock = createFakeClock();
  receiver = carrierOf(two, "build-2");
  sender = carrierOf(one, "build-1");
  sender.start();
});
afterEach(async () => {
  for (const carrier of carriers) await carrier.stop();
  one[Symbol.dispose]();
  two[Symbol.dispose]();
});

/** What the way was given of a message, which is confirmed at once. */
async function sent(subject: string, to = ["bob@build-2"]): Promise<HostMail> {
  const root = openMailRoot(one.deps, one.path);
  const ann = root.openMailbox({ address: "ann@svc.localhost", principalId: "SVC-ann" });
  const draft = { to, cc: [], subject, body: "text", attachments: [], notifyBlock: null, notifyAuth: null };
  // The host has joined the folder.
  await clock.atRest();
  await ann.send(draft);
  await clock.advance(500);
  await clock.atRest();
  const mail = onTheWay.find((one) => one.subject === subject) as HostMail;
  const receipt = { kind: "receipt", message_id: mail.message_id, refused: [] };
  await sender.receive("build-2", receipt);
  ann.close();
  root.close();
  return mail;
}

async function arrived(
  mailbox: Mailbox,
  subject: string,
): Promise<[Mail["attestation"], string | undefined]> {
  const { messages } = await mailbox.list({ ...everything, box: "inbox" });
  const found = messages.find((mail) => mail.subject === subject);
  return [found?.attestation, found?.attestation_detail];
}

test("mail from another host is verified with the first key that its sender used, which is kept", async () => {
  const bob = two.mailbox("bob");
  for (const subject of ["first", "second"]) {
    await receiver.receive("build-1", await sent(subject));
    expect(await arrived(bob, subject)).toEqual(["verified", undefined]);
  }
  const keys = openAttestations(two.root.catalog).keysOf("ann@build-1");
  const [own] = openAttestations(one.root.catalog).keysOf("ann@svc.localhost");
  expect(keys).toMatchObject([{ publicKey: own?.publicKey, registrationId: null }]);
});

test.each<{ id: string; change: Partial<HostMail>; why: string }>([
  { id: "its text", change: { body: "other" }, why: "its text is not the one that was signed" },
  {
    id: "its subject",
    change: { subject: "Changed" },
    why: "its subject, notice, attachments or headers differ from what was signed",
  },
  {
    id: "its sender",
    change: { from: { name: "eve" } },
    why: "no key of eve@build-1 is known here",
  },
  {
    id: "the name of its sender",
    change: { from: { name: "ann", display_name: "alice" } },
    why: "its names or references differ from what was signed",
  },
  {
    id: "its references",
    change: { references: [`msg-20261125T100000Z-${"a".repeat(32)}`] },
    why: "its names or references differ from what was signed",
  },
  {
    id: "its recipients",
    change: { to: [{ address: "bob@build-2" }, { address: "cleo@build-2" }] },
    why: "its recipients differ from what was signed",
  },
])("mail that was changed on the way is broken: $id", async ({ change, why }) => {
  const bob = two.mailbox("bob");
  await receiver.receive("build-1", await sent("known"));
  const mail = await sent("Plan");
  await receiver.receive("build-1", { ...mail, ...change });
  expect(await arrived(bob, change.subject ?? "Plan")).toEqual(["broken", why]);
});

test("mail that is carried to somebody else is broken there", async () => {
  const cleo = two.mailbox("cleo");
  two.mailbox("bob");
  await receiver.receive("build-1", { ...(await sent("Plan")), deliver_to: ["cleo"] });
  expect(await arrived(cleo, "Plan")).toEqual(["broken", "it was not written to cleo@svc.localhost"]);
});

test("mail that was written to another host is broken here, also with its recipient renamed", async () => {
  const bob = two.mailbox("bob");
  const mail = await sent("Plan", ["bob@build-3"]);
  await receiver.receive("build-1", { ...mail, to: [{ address: "bob@build-2" }], deliver_to: ["bob"] });
  expect((await arrived(bob, "Plan"))[0]).toBe("broken");
  expect(openAttestations(two.root.catalog).keysOf("ann@build-1")).toEqual([]);
});

test("a changed key is broken until a person forgets the first; then the next message brings it", async () => {
  const bob = two.mailbox("bob");
  await receiver.receive("build-1", await sent("first"));
  rmSync(`${one.path}/mailboxes/ann@svc.localhost/attestation.key`);
  await receiver.receive("build-1", await sent("second"));
  const why = "its key is not the one with which ann@build-1 signed at first";
  expect(await arrived(bob, "second")).toEqual(["broken", why]);
  expect(openAttestations(two.root.catalog).forgetForeign("ann@build-1")).toBe(1);
  await receiver.receive("build-1", await sent("third"));
  expect(await arrived(bob, "third")).toEqual(["verified", undefined]);
  // What was broken is judged again when it is opened; what was verified stays so.
  const { messages } = await bob.list({ ...everything, box: "inbox" });
  const opened = await Promise.all(messages.map(({ message_ref }) => bob.peek(message_ref)));
  expect(opened.map(({ subject, attestation }) => [subject, attestation])).toEqual([
    ["third", "verified"],
    ["second", "verified"],
    ["first", "verified"],
  ]);
});

test("mail of a host that does not sign is unsigned", async () => {
  const bob = two.mailbox("bob");
  const { attestation: _, ...mail } = await sent("Plan");
  await receiver.receive("build-1", mail);
  expect(await arrived(bob, "Plan")).toEqual(["unsigned", undefined]);
  expect(
    openAttestations(two.root.catalog)
      .keys()
      .every((key) => key.registrationId !== null),
  ).toBe(true);
});

test.each([
  { id: "one mailbox", address: "bob@svc.localhost" },
  { id: "all", address: null },
])("mail whose receipt was lost does not come again after a clear of $id", async ({ address }) => {
  const bob = two.mailbox("bob");
  const mail = await sent("Plan");
  await receiver.receive("build-1", mail);
  expect(await arrived(bob, "Plan")).toEqual(["verified", undefined]);
  const done = await clearMessages(two.deps, two.root, { address, dryRun: false });
  expect(done.blocked_actions).toEqual([]);
  await receiver.receive("build-1", mail);
  expect(await arrived(bob, "Plan")).toEqual([undefined, undefined]);
  await receiver.receive("build-1", await sent("Next plan"));
  expect((await arrived(bob, "Next plan"))[0]).toBe("verified");
});

test("a host that took the id of another one's mail does not keep that out when its own is cleared", async () => {
  const bob = two.mailbox("bob");
  const mail = await sent("Plan");
  await receiver.receive("build-9", { ...mail, subject: "Taken" });
  expect((await arrived(bob, "Taken"))[0]).toBe("broken");
  await clearMessages(two.deps, two.root, { address: null, dryRun: false });
  for (const _ of ["first", "again"]) await receiver.receive("build-1", mail);
  const { messages } = await bob.list(everything);
  expect(messages.map(({ subject }) => subject)).toEqual(["Plan"]);
});
