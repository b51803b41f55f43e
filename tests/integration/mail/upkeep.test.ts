import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { ExportManifest, ExportResult } from "../../../src/protocol/mailbox-admin.ts";
import {
  getAccount,
  getMessage,
  listAccounts,
  listMessages,
} from "../../../src/services/mail/filesystem/registration/accounts.ts";
import { cleanUpMailRoot } from "../../../src/services/mail/filesystem/upkeep/cleanup.ts";
import { clearMessages } from "../../../src/services/mail/filesystem/upkeep/clear.ts";
import { type ExportOptions, exportMailRoot } from "../../../src/services/mail/filesystem/upkeep/export.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createMailRootFixture, type MailRootFixture } from "../../support/mail-root.ts";
import { draft, everything, liveThroughADay, viewOf } from "../../support/mail-story.ts";

const bob = "bob@svc.localhost";
const anyAge = { inactiveOlderThanSeconds: 0, stashedOlderThanSeconds: 0 };

/** All files and links below a folder, relative to it. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => !name.startsWith("locks/") && !lstatSync(join(folder, name)).isDirectory())
    .sort();
}

function withAttachment(fixture: MailRootFixture): string {
  const path = fixture.scratch.path("plan.txt");
  writeFileSync(path, "the plan");
  return path;
}

describe("a cleanup", () => {
  test("says what it would do, then does it, and finds nothing the second time", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const { registrations } = fixture.root;
    registrations.register({ address: bob, principalId: "SVC-other", mode: "stash" });
    registrations.deregister({ address: "cleo@svc.localhost", mode: "deactivate" });
    const before = filesBelow(fixture.path);
    const planned = await cleanUpMailRoot(fixture.deps, fixture.root, { ...anyAge, dryRun: true });
    expect(planned.summary).toMatchObject({ planned_count: 4, applied_count: 0, blocked_count: 0 });
    expect(filesBelow(fixture.path)).toEqual(before);
    const done = await cleanUpMailRoot(fixture.deps, fixture.root, { ...anyAge, dryRun: false });
    expect(done.applied_actions).toEqual(planned.planned_actions);
    expect(registrations.list().map((one) => one.status)).toEqual(["active", "active", "active"]);
    expect(readdirSync(fixture.scratch.path("mailbox/mailboxes")).sort()).toEqual([
      "SVC-operator@svc.localhost",
      "ann@svc.localhost",
      bob,
    ]);
    expect(filesBelow(fixture.scratch.path("mailbox/messages"))).toHaveLength(8);
    const again = await cleanUpMailRoot(fixture.deps, fixture.root, { ...anyAge, dryRun: false });
    expect(again.summary.applied_count).toBe(0);
  });

  test("of a mailbox outside of the root takes the link and leaves the mail", async () => {
    using fixture = createMailRootFixture();
    const outside = fixture.scratch.path("private");
    mkdirSync(outside);
    const request = { address: "dora@svc.localhost", principalId: "SVC-dora", mode: "safe" } as const;
    fixture.root.registrations.register({ ...request, kind: "symlink", mailboxPath: outside });
    fixture.root.registrations.deregister({ address: request.address, mode: "deactivate" });
    const done = await cleanUpMailRoot(fixture.deps, fixture.root, { ...anyAge, dryRun: false });
    expect(done.applied_actions.map((one) => one.artifact_kind)).toEqual(["registration", "mailbox_entry"]);
    expect(existsSync(fixture.scratch.path("mailbox/mailboxes/dora@svc.localhost"))).toBe(false);
    expect(readdirSync(outside)).toContain("inbox");
  });

  test("does not follow a folder that was made a link to elsewhere", async () => {
    using fixture = createMailRootFixture();
    fixture.mailbox("ann");
    fixture.root.registrations.deregister({ address: "ann@svc.localhost", mode: "deactivate" });
    const elsewhere = fixture.scratch.path("elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "precious"), "");
    const folder = fixture.scratch.path("mailbox/mailboxes/ann@svc.localhost");
    rmSync(folder, { recursive: true });
    symlinkSync(elsewhere, folder);
    await cleanUpMailRoot(fixture.deps, fixture.root, { ...anyAge, dryRun: false });
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(elsewhere)).toEqual(["precious"]);
  });
});

describe("clearing", () => {
  test("all mail leaves who is registered, and nothing else", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const attachments = [{ path: withAttachment(fixture) }];
    await fixture.mailbox("ann").send(draft("bob", "attached", { attachments }));
    await viewOf(fixture.mailbox);
    const before = filesBelow(fixture.path);
    const planned = await clearMessages(fixture.deps, fixture.root, { address: null, dryRun: true });
    expect(planned.scope).toEqual({ kind: "mailbox_messages" });
    expect(filesBelow(fixture.path)).toEqual(before);
    const done = await clearMessages(fixture.deps, fixture.root, { address: null, dryRun: false });
    expect(done.applied_actions).toHaveLength(planned.summary.planned_count);
    expect(done.blocked_actions).toEqual([]);
    expect(await viewOf(fixture.mailbox)).toEqual({ ann: [], bob: [], cleo: [] });
    expect(filesBelow(fixture.path).filter((name) => /msg-|att-|plan\.txt/.test(name))).toEqual([]);
    expect(fixture.root.registrations.list()).toHaveLength(4);
    const again = await clearMessages(fixture.deps, fixture.root, { address: null, dryRun: false });
    expect(again.summary.planned_count).toBe(0);
    await fixture.mailbox("ann").send(draft("bob", "afterwards"));
    expect((await viewOf(fixture.mailbox))["bob"]).toEqual(["inbox: afterwards, unread"]);
  });

  test("one mailbox leaves the others what they hold", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    await fixture.mailbox("cleo").send(draft("cleo", "mine alone"));
    const before = await viewOf(fixture.mailbox);
    const done = await clearMessages(fixture.deps, fixture.root, {
      address: "cleo@svc.localhost",
      dryRun: false,
    });
    expect(done.scope).toEqual({ kind: "account_messages", address: "cleo@svc.localhost" });
    const canonical = (actions: typeof done.applied_actions) =>
      actions.filter((one) => one.artifact_kind === "canonical_message").length;
    expect([canonical(done.applied_actions), canonical(done.preserved_actions)]).toEqual([1, 1]);
    expect(await viewOf(fixture.mailbox)).toEqual({ ...before, cleo: [] });
  });

  test("never touches what lies outside of the root", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const messages = fixture.scratch.path("mailbox/messages");
    const [day = ""] = readdirSync(messages);
    const moved = fixture.scratch.path("moved");
    renameSync(join(messages, day), moved);
    symlinkSync(moved, join(messages, day));
    const done = await clearMessages(fixture.deps, fixture.root, { address: null, dryRun: false });
    expect(done.summary.blocked_count).toBe(8);
    expect(done.blocked_actions[0]?.reason).toContain("is a symbolic link");
    expect(readdirSync(moved)).toHaveLength(8);
  });

  test("an address that nobody has is refused", async () => {
    using fixture = createMailRootFixture();
    const request = { address: "nobody@svc.localhost", dryRun: false };
    expect(await awaitOutcome(clearMessages(fixture.deps, fixture.root, request))).toThrow(
      "no mailbox is or was registered",
    );
  });
});

describe("an export", () => {
  const run = (fixture: MailRootFixture, options: Partial<ExportOptions> = {}) =>
    exportMailRoot(fixture.deps, fixture.root, {
      outputDir: fixture.scratch.path("archive"),
      addresses: null,
      symlinkMode: "materialize",
      ...options,
    });

  test.each(["materialize", "preserve"] as const)(
    "that is to %s needs nothing of the root",
    async (symlinkMode) => {
      using fixture = createMailRootFixture();
      await liveThroughADay(fixture);
      const attachments = [{ path: withAttachment(fixture) }];
      await fixture.mailbox("ann").send(draft("bob", "attached", { attachments }));
      const result = await run(fixture, { symlinkMode });
      expect([...Value.Errors(ExportResult, result)]).toEqual([]);
      expect(result).toMatchObject({ account_count: 4, message_count: 9, attachment_count: 1 });
      const archive = fixture.scratch.path("archive");
      const manifest: ExportManifest = JSON.parse(readFileSync(join(archive, "manifest.json"), "utf8"));
      expect([...Value.Errors(ExportManifest, manifest)]).toEqual([]);
      renameSync(fixture.path, fixture.scratch.path("gone"));
      for (const one of manifest.projections) {
        const path = join(archive, one.archive_path);
        expect(lstatSync(path).isSymbolicLink()).toBe(symlinkMode === "preserve");
        expect(readFileSync(path, "utf8")).toContain(one.message_id);
      }
      const [attachment] = manifest.attachments;
      expect(readFileSync(join(archive, attachment?.archive_path ?? ""), "utf8")).toBe("the plan");
      expect(manifest.projections.filter((one) => one.folder === "archive")).toHaveLength(1);
      expect(filesBelow(archive).filter((name) => name.endsWith("mailbox.sqlite"))).toHaveLength(4);
    },
  );

  test("of one address holds its mail only", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const result = await run(fixture, { addresses: ["cleo@svc.localhost"] });
    expect(result).toMatchObject({
      selected_addresses: ["cleo@svc.localhost"],
      account_count: 1,
      message_count: 1,
    });
  });

  test("that is ended, or that meets a folder, leaves nothing behind", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const stop = new AbortController();
    const ended = run(fixture, { signal: stop.signal, onProgress: () => stop.abort() });
    expect(await awaitOutcome(ended)).toThrow();
    expect(readdirSync(fixture.scratch.folder)).toEqual(["mailbox"]);
    expect(await awaitOutcome(run(fixture, { outputDir: fixture.path }))).toThrow("is there already");
    expect(await awaitOutcome(run(fixture, { outputDir: join(fixture.path, "inside") }))).toThrow(
      "in the mailbox root itself",
    );
    expect(await awaitOutcome(run(fixture, { outputDir: fixture.scratch.path("no/parent") }))).toThrow(
      "there is no folder",
    );
  });

  test("does not take a file from outside for a message", async () => {
    using fixture = createMailRootFixture();
    await fixture.mailbox("ann").send(draft("ann", "note"));
    fixture.putOnDisk();
    const [path = ""] = filesBelow(fixture.path).filter((name) => name.startsWith("messages/"));
    rmSync(join(fixture.path, path));
    symlinkSync("/etc/hostname", join(fixture.path, path));
    const result = await run(fixture);
    expect(result.message_count).toBe(0);
    expect(result.blocked_artifacts.map((one) => one.reason)).toEqual([
      expect.stringContaining("is a symbolic link"),
    ]);
  });
});

describe("what is there", () => {
  test("accounts with their messages and boxes", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const counts = listAccounts(fixture.root).map((one) => [one.address, one.status, one.message_count]);
    expect(counts).toEqual([
      ["SVC-operator@svc.localhost", "active", 0],
      ["ann@svc.localhost", "active", 8],
      [bob, "active", 7],
      ["cleo@svc.localhost", "active", 1],
    ]);
    const { account, boxes } = getAccount(fixture.deps, fixture.root, bob);
    expect(account.owner_principal_id).toBe("SVC-bob");
    expect(boxes.map((one) => [one.box, one.message_count])).toEqual([
      ["archive", 1],
      ["inbox", 4],
      ["later", 1],
      ["sent", 1],
    ]);
    expect(() => getAccount(fixture.deps, fixture.root, "no@svc.localhost")).toThrow(
      "no mailbox is or was registered",
    );
  });

  test("messages by their place; looking at them does not read them", async () => {
    using fixture = createMailRootFixture();
    await liveThroughADay(fixture);
    const before = await viewOf(fixture.mailbox);
    const messages = listMessages(fixture.deps, fixture.root, bob);
    expect(messages).toHaveLength(7);
    for (const one of messages) {
      expect(lstatSync(one.projection_path).isSymbolicLink()).toBe(true);
      expect(readFileSync(one.canonical_path, "utf8")).toContain(one.message_id);
    }
    const unread = messages.find((one) => one.subject === "unread");
    const found = getMessage(fixture.deps, fixture.root, bob, `filesystem:${unread?.message_id}`);
    expect(found).toMatchObject({
      body: "body of unread",
      folder: "inbox",
      recipients: [{ kind: "to", address: bob, principal_id: "SVC-bob" }],
    });
    expect(await viewOf(fixture.mailbox)).toEqual(before);
    const others = (await fixture.mailbox("cleo").list(everything)).messages;
    expect(() => getMessage(fixture.deps, fixture.root, "ann@svc.localhost", "msg-unknown")).toThrow(
      "holds no such",
    );
    expect(others).toHaveLength(1);
  });
});
