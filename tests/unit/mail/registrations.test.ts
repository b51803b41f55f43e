import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { RegisterRequest } from "../../../src/services/mail/filesystem/registration/registrations.ts";
import { createMailRootFixture, type MailRootFixture } from "../../support/mail-root.ts";

const ben = { address: "ben@svc.localhost", principalId: "SVC-ben" };
const eve = { ...ben, principalId: "SVC-eve" };
const plain = { attachments: [], notifyBlock: null, notifyAuth: null };

function register(
  fixture: MailRootFixture,
  request: Omit<RegisterRequest, "mode"> & Partial<RegisterRequest>,
) {
  return fixture.root.registrations.register({ mode: "safe", ...request });
}

async function subjects(
  fixture: MailRootFixture,
  binding: { address: string; principalId: string },
): Promise<string[]> {
  const mailbox = fixture.root.openMailbox(binding);
  try {
    const query = {
      box: "inbox",
      readState: "any",
      answeredState: "any",
      archived: null,
      limit: null,
    } as const;
    const page = await mailbox.list({ ...query, since: null, includeBody: false, cursor: null, query: null });
    return page.messages.map((mail) => `${mail.subject} ${mail.read ? "read" : "unread"}`);
  } finally {
    mailbox.close();
  }
}

/** ben with one message that he has read. */
async function withMail(): Promise<MailRootFixture> {
  const fixture = createMailRootFixture();
  const mailbox = fixture.mailbox("ben");
  const { message_ref } = await fixture
    .mailbox("ada")
    .send({ to: [ben.address], cc: [], subject: "Old", body: "", ...plain });
  await mailbox.read(message_ref);
  return fixture;
}

const entries = (fixture: MailRootFixture) =>
  readdirSync(join(fixture.path, "mailboxes")).map((name) => name.replace(/--[0-9a-f]{32}$/, "--#"));

describe("a registration", () => {
  test("is made once, with the boxes of a mailbox", () => {
    using fixture = createMailRootFixture();
    const first = register(fixture, { ...ben, displayName: "Ben" });
    expect(first).toEqual({
      ok: true,
      mode: "safe",
      address: ben.address,
      active_registration_id: expect.stringMatching(/^reg-[0-9a-f]{32}$/),
      owner_principal_id: "SVC-ben",
      status: "active",
    });
    const again = register(fixture, { ...ben, role: "writer" });
    expect(again).toEqual({ ...first, reused_existing: true });
    expect(fixture.root.registrations.active(ben.address)).toMatchObject({
      display_name: "Ben",
      role: "writer",
      mailbox_kind: "in_root",
      mailbox_path: join(fixture.path, "mailboxes", ben.address),
    });
    const made = readdirSync(join(fixture.path, "mailboxes", ben.address)).filter(
      (name) => !name.startsWith("mailbox.sqlite"),
    );
    expect(made.sort()).toEqual(["archive", "attestation.key", "drafts", "inbox", "sent"]);
  });

  test("of another owner is refused, and nothing changes", async () => {
    using fixture = await withMail();
    expect(() => register(fixture, eve)).toThrow("is registered to SVC-ben");
    expect(await subjects(fixture, ben)).toEqual(["Old read"]);
    expect(() => fixture.root.openMailbox(eve)).toThrow("belongs to another principal");
  });

  test.each<{ id: string; first: object; second: object; want: string }>([
    {
      id: "a person is not taken over by an agent of the same name",
      first: { role: "person" },
      second: { manifestPathHint: "/home/user/session/manifest.json" },
      want: "ben@svc.localhost is the mailbox of a person",
    },
    {
      id: "an agent does not become a person's",
      first: { manifestPathHint: "/home/user/session/manifest.json" },
      second: { role: "person" },
      want: "ben@svc.localhost is the mailbox of an agent",
    },
  ])("of $id", async ({ first, second, want }) => {
    using fixture = createMailRootFixture();
    register(fixture, { ...ben, ...first });
    const before = fixture.root.registrations.active(ben.address);
    expect(() => register(fixture, { ...ben, ...second })).toThrow(want);
    expect(fixture.root.registrations.active(ben.address)).toEqual(before);
    fixture.root.registrations.deregister({ address: ben.address, mode: "deactivate" });
    expect(() => register(fixture, { ...ben, ...second })).toThrow("something is kept under the name");
  });

  test("by force begins an empty mailbox; the old one and its mail are gone for good", async () => {
    using fixture = await withMail();
    const old = fixture.root.registrations.active(ben.address)?.registration_id;
    const taken = register(fixture, { ...eve, mode: "force" });
    expect(taken).toMatchObject({ owner_principal_id: "SVC-eve", replaced_registration_id: old });
    expect(await subjects(fixture, eve)).toEqual([]);
    expect(() => fixture.root.openMailbox(ben)).toThrow("belongs to another principal");
    register(fixture, { ...ben, mode: "force" });
    expect(await subjects(fixture, ben)).toEqual([]);
    expect(fixture.root.registrations.list({ status: "inactive" })).toHaveLength(2);
  });

  test("puts the old mailbox aside where it can be looked at, and where no address can reach it", async () => {
    using fixture = await withMail();
    const taken = register(fixture, { ...eve, mode: "stash" });
    expect(taken.stashed_mailbox_path).toMatch(/ben@svc\.localhost--[0-9a-f]{32}$/);
    expect(existsSync(join(taken.stashed_mailbox_path ?? "", "mailbox.sqlite"))).toBe(true);
    expect(entries(fixture)).toContain("ben@svc.localhost--#");
    expect(fixture.root.registrations.list({ status: "stashed" })).toMatchObject([
      { registration_id: taken.stashed_registration_id, mailbox_path: taken.stashed_mailbox_path },
    ]);
    const stashedName = (taken.stashed_mailbox_path ?? "").split("/").at(-1) ?? "";
    expect(() => register(fixture, { address: stashedName, principalId: "SVC-x" })).toThrow(
      "not a mailbox address",
    );
    expect(await subjects(fixture, eve)).toEqual([]);
  });

  test("that was ended is taken up again with its state by the same owner only", async () => {
    using fixture = await withMail();
    const { registration_id } = fixture.root.registrations.active(ben.address) ?? {};
    const ended = fixture.root.registrations.deregister({ address: ben.address, mode: "deactivate" });
    expect(ended).toMatchObject({
      resulting_status: "inactive",
      deactivated_registration_id: registration_id,
    });
    expect(() => fixture.root.openMailbox(ben)).toThrow("has no active registration");
    expect(() => register(fixture, eve)).toThrow("something is kept under the name");
    const back = register(fixture, ben);
    expect(back).toMatchObject({ reused_existing: true, active_registration_id: registration_id });
    expect(await subjects(fixture, ben)).toEqual(["Old read"]);
  });

  test("that was purged leaves nothing but the message itself", async () => {
    using fixture = await withMail();
    fixture.root.registrations.deregister({ address: ben.address, mode: "purge" });
    expect(entries(fixture)).not.toContain(ben.address);
    register(fixture, ben);
    expect(await subjects(fixture, ben)).toEqual([]);
    const [day = ""] = readdirSync(join(fixture.path, "messages"));
    expect(readdirSync(join(fixture.path, "messages", day))).toHaveLength(1);
  });

  test("cannot be ended twice", () => {
    using fixture = createMailRootFixture();
    register(fixture, ben);
    fixture.root.registrations.deregister({ address: ben.address, mode: "deactivate" });
    const again = () => fixture.root.registrations.deregister({ address: ben.address, mode: "deactivate" });
    expect(again).toThrow("has no active registration");
  });

  test("takes over a folder that nobody registered only when asked to", () => {
    using fixture = createMailRootFixture();
    const folder = join(fixture.path, "mailboxes", ben.address);
    mkdirSync(join(folder, "inbox"), { recursive: true });
    expect(() => register(fixture, ben)).toThrow("something is kept under the name");
    expect(register(fixture, { ...ben, mode: "stash" }).stashed_mailbox_path).toStartWith(`${folder}--`);
    expect(lstatSync(folder).isDirectory()).toBe(true);
  });

  test("of the system's names is the system's alone", () => {
    using fixture = createMailRootFixture();
    const operator = { address: "SVC-operator@svc.localhost", principalId: "SVC-operator" };
    expect(() => register(fixture, { address: "SVC-x@svc.localhost", principalId: "SVC-x" })).toThrow(
      "of the system",
    );
    expect(() => register(fixture, { ...operator, principalId: "SVC-ben", mode: "force" })).toThrow(
      "of the system",
    );
    expect(() => register(fixture, { ...ben, principalId: "SVC-operator" })).toThrow("of the system");
    const end = (mode: "deactivate" | "purge") => () =>
      fixture.root.registrations.deregister({ address: operator.address, mode });
    expect(end("deactivate")).toThrow("cannot be given up");
    expect(end("purge")).toThrow("cannot be given up");
    expect(fixture.root.registrations.active(operator.address)?.role).toBe("system_operator");
  });
});

describe("a mailbox in a folder outside of the root", () => {
  test("is linked, and keeps its state over purge and registration", async () => {
    using fixture = createMailRootFixture();
    const mailboxPath = fixture.scratch.path("private");
    register(fixture, { ...ben, kind: "symlink", mailboxPath });
    const entry = join(fixture.path, "mailboxes", ben.address);
    expect(readlinkSync(entry)).toBe(mailboxPath);
    await fixture.mailbox("ada").send({ to: [ben.address], cc: [], subject: "Out", body: "", ...plain });
    expect(await subjects(fixture, ben)).toEqual(["Out unread"]);
    expect(existsSync(join(mailboxPath, "mailbox.sqlite"))).toBe(true);
    const [link = ""] = readdirSync(join(mailboxPath, "inbox"));
    expect(existsSync(join(mailboxPath, "inbox", link))).toBe(true);
    fixture.root.registrations.deregister({ address: ben.address, mode: "purge" });
    expect(existsSync(entry)).toBe(false);
    expect(existsSync(join(mailboxPath, "mailbox.sqlite"))).toBe(true);
    register(fixture, { ...ben, kind: "symlink", mailboxPath });
    expect(await subjects(fixture, ben)).toEqual(["Out unread"]);
  });

  test("lies nowhere inside of the root, also not by way of a link, and is nobody else's", () => {
    using fixture = createMailRootFixture();
    const link = fixture.scratch.path("way-in");
    symlinkSync(join(fixture.path, "mailboxes"), link);
    const bad = [
      join(fixture.path, "x"),
      fixture.path,
      join(link, "x"),
      "relative",
      undefined,
      `${fixture.path}/../mailbox/y`,
    ];
    for (const mailboxPath of bad) {
      const request = {
        ...ben,
        kind: "symlink" as const,
        ...(mailboxPath === undefined ? {} : { mailboxPath }),
      };
      expect(() => register(fixture, request)).toThrow("linked mailbox");
    }
    const mailboxPath = fixture.scratch.path("shared");
    register(fixture, { ...ben, kind: "symlink", mailboxPath });
    const other = {
      address: "cleo@svc.localhost",
      principalId: "SVC-cleo",
      kind: "symlink" as const,
      mailboxPath,
    };
    expect(() => register(fixture, other)).toThrow("is the mailbox of ben@svc.localhost");
    expect(() => register(fixture, { ...ben, address: "dora@svc.localhost", mailboxPath })).toThrow(
      "below mailboxes/",
    );
  });
});
