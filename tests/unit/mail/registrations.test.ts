import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { RegisterRequest } from "../../../src/services/mail/filesystem/registrations.ts";
import { createMailRootLab, type MailRootLab } from "../../support/mail-root.ts";

const ben = { address: "ben@svc.localhost", principalId: "SVC-ben" };
const eve = { ...ben, principalId: "SVC-eve" };
const plain = { attachments: [], notifyBlock: null, notifyAuth: null };

function register(lab: MailRootLab, request: Omit<RegisterRequest, "mode"> & Partial<RegisterRequest>) {
  return lab.root.registrations.register({ mode: "safe", ...request });
}

async function subjects(
  lab: MailRootLab,
  binding: { address: string; principalId: string },
): Promise<string[]> {
  const mailbox = lab.root.openMailbox(binding);
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
async function withMail(): Promise<MailRootLab> {
  const lab = createMailRootLab();
  const mailbox = lab.mailbox("ben");
  const { message_ref } = await lab
    .mailbox("ada")
    .send({ to: [ben.address], cc: [], subject: "Old", body: "", ...plain });
  await mailbox.read(message_ref);
  return lab;
}

const entries = (lab: MailRootLab) =>
  readdirSync(join(lab.path, "mailboxes")).map((name) => name.replace(/--[0-9a-f]{32}$/, "--#"));

describe("a registration", () => {
  test("is made once, with the boxes of a mailbox", () => {
    using lab = createMailRootLab();
    const first = register(lab, { ...ben, displayName: "Ben" });
    expect(first).toEqual({
      ok: true,
      mode: "safe",
      address: ben.address,
      active_registration_id: expect.stringMatching(/^reg-[0-9a-f]{32}$/),
      owner_principal_id: "SVC-ben",
      status: "active",
    });
    const again = register(lab, { ...ben, role: "writer" });
    expect(again).toEqual({ ...first, reused_existing: true });
    expect(lab.root.registrations.active(ben.address)).toMatchObject({
      display_name: "Ben",
      role: "writer",
      mailbox_kind: "in_root",
      mailbox_path: join(lab.path, "mailboxes", ben.address),
    });
    const made = readdirSync(join(lab.path, "mailboxes", ben.address)).filter(
      (name) => !name.startsWith("mailbox.sqlite"),
    );
    expect(made.sort()).toEqual(["archive", "drafts", "inbox", "sent"]);
  });

  test("of another owner is refused, and nothing changes", async () => {
    using lab = await withMail();
    expect(() => register(lab, eve)).toThrow("is registered to SVC-ben");
    expect(await subjects(lab, ben)).toEqual(["Old read"]);
    expect(() => lab.root.openMailbox(eve)).toThrow("belongs to another principal");
  });

  test("by force begins an empty mailbox; the old one and its mail are gone for good", async () => {
    using lab = await withMail();
    const old = lab.root.registrations.active(ben.address)?.registration_id;
    const taken = register(lab, { ...eve, mode: "force" });
    expect(taken).toMatchObject({ owner_principal_id: "SVC-eve", replaced_registration_id: old });
    expect(await subjects(lab, eve)).toEqual([]);
    expect(() => lab.root.openMailbox(ben)).toThrow("belongs to another principal");
    register(lab, { ...ben, mode: "force" });
    expect(await subjects(lab, ben)).toEqual([]);
    expect(lab.root.registrations.list({ status: "inactive" })).toHaveLength(2);
  });

  test("puts the old mailbox aside where it can be looked at, and where no address can reach it", async () => {
    using lab = await withMail();
    const taken = register(lab, { ...eve, mode: "stash" });
    expect(taken.stashed_mailbox_path).toMatch(/ben@svc\.localhost--[0-9a-f]{32}$/);
    expect(existsSync(join(taken.stashed_mailbox_path ?? "", "mailbox.sqlite"))).toBe(true);
    expect(entries(lab)).toContain("ben@svc.localhost--#");
    expect(lab.root.registrations.list({ status: "stashed" })).toMatchObject([
      { registration_id: taken.stashed_registration_id, mailbox_path: taken.stashed_mailbox_path },
    ]);
    const stashedName = (taken.stashed_mailbox_path ?? "").split("/").at(-1) ?? "";
    expect(() => register(lab, { address: stashedName, principalId: "SVC-x" })).toThrow(
      "not a mailbox address",
    );
    expect(await subjects(lab, eve)).toEqual([]);
  });

  test("that was ended is taken up again with its state by the same owner only", async () => {
    using lab = await withMail();
    const { registration_id } = lab.root.registrations.active(ben.address) ?? {};
    const ended = lab.root.registrations.deregister({ address: ben.address, mode: "deactivate" });
    expect(ended).toMatchObject({
      resulting_status: "inactive",
      deactivated_registration_id: registration_id,
    });
    expect(() => lab.root.openMailbox(ben)).toThrow("has no active registration");
    expect(() => register(lab, eve)).toThrow("something is kept under the name");
    const back = register(lab, ben);
    expect(back).toMatchObject({ reused_existing: true, active_registration_id: registration_id });
    expect(await subjects(lab, ben)).toEqual(["Old read"]);
  });

  test("that was purged leaves nothing but the message itself", async () => {
    using lab = await withMail();
    lab.root.registrations.deregister({ address: ben.address, mode: "purge" });
    expect(entries(lab)).not.toContain(ben.address);
    register(lab, ben);
    expect(await subjects(lab, ben)).toEqual([]);
    const [day = ""] = readdirSync(join(lab.path, "messages"));
    expect(readdirSync(join(lab.path, "messages", day))).toHaveLength(1);
  });

  test("cannot be ended twice", () => {
    using lab = createMailRootLab();
    register(lab, ben);
    lab.root.registrations.deregister({ address: ben.address, mode: "deactivate" });
    const again = () => lab.root.registrations.deregister({ address: ben.address, mode: "deactivate" });
    expect(again).toThrow("has no active registration");
  });

  test("takes over a folder that nobody registered only when asked to", () => {
    using lab = createMailRootLab();
    const folder = join(lab.path, "mailboxes", ben.address);
    mkdirSync(join(folder, "inbox"), { recursive: true });
    expect(() => register(lab, ben)).toThrow("something is kept under the name");
    expect(register(lab, { ...ben, mode: "stash" }).stashed_mailbox_path).toStartWith(`${folder}--`);
    expect(lstatSync(folder).isDirectory()).toBe(true);
  });

  test("of the system's names is the system's alone", () => {
    using lab = createMailRootLab();
    const operator = { address: "SVC-operator@svc.localhost", principalId: "SVC-operator" };
    expect(() => register(lab, { address: "SVC-x@svc.localhost", principalId: "SVC-x" })).toThrow(
      "of the system",
    );
    expect(() => register(lab, { ...operator, principalId: "SVC-ben", mode: "force" })).toThrow(
      "of the system",
    );
    expect(() => register(lab, { ...ben, principalId: "SVC-operator" })).toThrow("of the system");
    const end = (mode: "deactivate" | "purge") => () =>
      lab.root.registrations.deregister({ address: operator.address, mode });
    expect(end("deactivate")).toThrow("cannot be given up");
    expect(end("purge")).toThrow("cannot be given up");
    expect(lab.root.registrations.active(operator.address)?.role).toBe("system_operator");
  });
});

describe("a mailbox in a folder outside of the root", () => {
  test("is linked, and keeps its state over purge and registration", async () => {
    using lab = createMailRootLab();
    const mailboxPath = lab.scratch.path("private");
    register(lab, { ...ben, kind: "symlink", mailboxPath });
    const entry = join(lab.path, "mailboxes", ben.address);
    expect(readlinkSync(entry)).toBe(mailboxPath);
    await lab.mailbox("ada").send({ to: [ben.address], cc: [], subject: "Out", body: "", ...plain });
    expect(await subjects(lab, ben)).toEqual(["Out unread"]);
    expect(existsSync(join(mailboxPath, "mailbox.sqlite"))).toBe(true);
    const [link = ""] = readdirSync(join(mailboxPath, "inbox"));
    expect(existsSync(join(mailboxPath, "inbox", link))).toBe(true);
    lab.root.registrations.deregister({ address: ben.address, mode: "purge" });
    expect(existsSync(entry)).toBe(false);
    expect(existsSync(join(mailboxPath, "mailbox.sqlite"))).toBe(true);
    register(lab, { ...ben, kind: "symlink", mailboxPath });
    expect(await subjects(lab, ben)).toEqual(["Out unread"]);
  });

  test("lies nowhere inside of the root, also not by way of a link, and is nobody else's", () => {
    using lab = createMailRootLab();
    const link = lab.scratch.path("way-in");
    symlinkSync(join(lab.path, "mailboxes"), link);
    const bad = [
      join(lab.path, "x"),
      lab.path,
      join(link, "x"),
      "relative",
      undefined,
      `${lab.path}/../mailbox/y`,
    ];
    for (const mailboxPath of bad) {
      const request = {
        ...ben,
        kind: "symlink" as const,
        ...(mailboxPath === undefined ? {} : { mailboxPath }),
      };
      expect(() => register(lab, request)).toThrow("linked mailbox");
    }
    const mailboxPath = lab.scratch.path("shared");
    register(lab, { ...ben, kind: "symlink", mailboxPath });
    const other = {
      address: "cleo@svc.localhost",
      principalId: "SVC-cleo",
      kind: "symlink" as const,
      mailboxPath,
    };
    expect(() => register(lab, other)).toThrow("is the mailbox of ben@svc.localhost");
    expect(() => register(lab, { ...ben, address: "dora@svc.localhost", mailboxPath })).toThrow(
      "below mailboxes/",
    );
  });
});
