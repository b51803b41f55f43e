import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import * as wire from "../../src/protocol/mailbox-admin.ts";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import { type CliFixture, type CliRun, createCliFixture } from "../support/cli-fixture.ts";
import { faultEnvironment } from "../support/fault-steps.ts";
import { mailRootDeps } from "../support/mail-root.ts";
import { draft, everything } from "../support/mail-story.ts";

const ada = ["--address", "ada@svc.localhost"];
const ben = ["--address", "ben@svc.localhost"];

interface MailboxFixture extends AsyncDisposable {
  fixture: CliFixture;
  root: string;
  /** `svc-mgr` with words and `--json`; the document is held to its declared shape. */
  asked<T>(schema: TSchema, ...words: string[]): Promise<T>;
  /** Works in a mailbox as an agent would. */
  as<T>(name: string, work: (mailbox: Mailbox) => Promise<T>): Promise<T>;
}

async function twoMailboxes(): Promise<MailboxFixture> {
  const fixture = createCliFixture();
  const root = join(fixture.workdir, ".svc", "mailbox");
  const made: MailboxFixture = {
    fixture,
    root,
    async asked<T>(schema: TSchema, ...words: string[]) {
      const run = await fixture.mgr(...words, "--json");
      if (run.exitCode !== 0) throw new Error(`${words.join(" ")}: ${run.stderr}${run.stdout}`);
      expect([...Value.Errors(schema, run.json())]).toEqual([]);
      return run.json() as T;
    },
    async as(name, work) {
      const open = openMailRoot(mailRootDeps(), root);
      const mailbox = open.openMailbox(defaultMailbox(name));
      try {
        return await work(mailbox);
      } finally {
        mailbox.close();
        open.close();
      }
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
  await made.asked(wire.MailboxInitAnswer, "mailbox", "init");
  for (const who of [ada, ben]) {
    const principal = who === ada ? "SVC-ada" : "SVC-ben";
    await made.asked(wire.MailboxRegisterAnswer, "mailbox", "register", ...who, "--principal-id", principal);
  }
  return made;
}

function refused(run: CliRun, exitCode: number, words: string): void {
  expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({
    exitCode,
    stderr: expect.stringContaining(words),
  });
}

const subjects = async (mailbox: Mailbox) =>
  (await mailbox.list(everything)).messages.map((one) => `${one.subject} ${one.unread ? "unread" : "read"}`);

test("a mailbox root that is a file, or below one, is bad input, whatever names it", async () => {
  await using fixture = createCliFixture();
  const file = join(fixture.workdir, "notes");
  writeFileSync(file, "mine");
  const says = `${file} is a file. Name another one with --mailbox-root`;
  const register = ["register", ...ada, "--principal-id", "SVC-ada"];
  for (const words of [["init"], ["status"], register]) {
    refused(await fixture.mgr("mailbox", ...words, "--mailbox-root", "notes"), 2, says);
  }
  refused(await fixture.mgr("mailbox", "init", "--mailbox-root", "notes/mail"), 2, says);
  const env = { ...fixture.env, SVC_GLOBAL_MAILBOX_DIR: file };
  refused(await fixture.run("svc-mgr", ["mailbox", "init"], { env }), 2, `(named by SVC_GLOBAL_MAILBOX_DIR)`);
  refused(await fixture.mgr("mail", ...ada, "--mailbox-root", "notes", "list"), 2, says);
  expect(readFileSync(file, "utf8")).toBe("mine");
}, 120_000);

describe("mailboxes of a project", () => {
  test("a root is made, used, and reported", async () => {
    await using story = await twoMailboxes();
    const { fixture, root } = story;
    expect(readFileSync(join(fixture.workdir, ".svc", ".gitignore"), "utf8")).toBe("*\n");
    const status = await story.asked<wire.MailboxStatusAnswer>(wire.MailboxStatusAnswer, "mailbox", "status");
    expect(status).toMatchObject({
      mailbox_root: root,
      bootstrapped: true,
      protocol_version: 3,
      registration_counts: { active: 3, inactive: 0, stashed: 0 },
      error: null,
    });
    const { message_ref } = await story.as("ada", (mailbox) => mailbox.send(draft("ben", "hello")));
    const listed = await story.asked<wire.AccountsListAnswer>(
      wire.AccountsListAnswer,
      "mailbox",
      "accounts",
      "list",
    );
    expect(listed.accounts.map((one) => one.message_count)).toEqual([0, 1, 1]);
    const account = await story.asked<wire.AccountsGetAnswer>(
      wire.AccountsGetAnswer,
      "mailbox",
      "accounts",
      "get",
      ...ben,
    );
    expect(account.boxes).toEqual([{ box: "inbox", message_count: 1 }]);
    const held = await story.asked<wire.MessagesListAnswer>(
      wire.MessagesListAnswer,
      "mailbox",
      "messages",
      "list",
      ...ben,
    );
    expect(held.messages.map((one) => one.subject)).toEqual(["hello"]);
    const got = await story.asked<wire.MessagesGetAnswer>(
      wire.MessagesGetAnswer,
      "mailbox",
      "messages",
      "get",
      ...ben,
      "--message-id",
      message_ref,
    );
    expect(got.message.body).toBe("body of hello");
    expect(await story.as("ben", subjects)).toEqual(["hello unread"]);
    const table = await fixture.mgr("mailbox", "messages", "list", ...ben);
    expect(table.stdout).toContain("hello");
  });

  test("a mailbox is given up, taken over with consent, put aside and cleaned away", async () => {
    await using story = await twoMailboxes();
    const { fixture, root } = story;
    await story.as("ada", (mailbox) => mailbox.send(draft("ben", "hello")));
    const unregistered = await story.asked<wire.MailboxUnregisterAnswer>(
      wire.MailboxUnregisterAnswer,
      "mailbox",
      "unregister",
      ...ben,
    );
    expect(unregistered.resulting_status).toBe("inactive");
    const take = ["mailbox", "register", ...ben, "--principal-id", "SVC-eve"];
    refused(await fixture.mgr(...take), 1, "something is kept under the name ben@svc.localhost");
    const stashed = await story.asked<wire.MailboxRegisterAnswer>(
      wire.MailboxRegisterAnswer,
      ...take,
      "--mode",
      "stash",
    );
    expect(existsSync(stashed.stashed_mailbox_path ?? "-")).toBe(true);
    const back = ["mailbox", "register", ...ben, "--principal-id", "SVC-ben"];
    refused(await fixture.mgr(...back), 1, "--mode force replaces it");
    const forced = await story.asked<wire.MailboxRegisterAnswer>(
      wire.MailboxRegisterAnswer,
      ...back,
      "--yes",
    );
    expect(forced).toMatchObject({ mode: "force", replaced_registration_id: stashed.active_registration_id });
    const cleaning = ["mailbox", "cleanup"];
    const planned = await story.asked<wire.MailboxMaintenanceAnswer>(
      wire.MailboxMaintenanceAnswer,
      ...cleaning,
      "--dry-run",
    );
    expect(planned).toMatchObject({ dry_run: true, summary: { applied_count: 0, blocked_count: 0 } });
    const young = await story.asked<wire.MailboxMaintenanceAnswer>(
      wire.MailboxMaintenanceAnswer,
      ...cleaning,
      "--stashed-older-than-seconds",
      "9999",
      "--inactive-older-than-seconds",
      "9999",
    );
    expect(young.summary.planned_count).toBe(0);
    const done = await story.asked<wire.MailboxMaintenanceAnswer>(wire.MailboxMaintenanceAnswer, ...cleaning);
    expect(done.summary.applied_count).toBe(planned.summary.planned_count);
    expect(readdirSync(join(root, "mailboxes")).sort()).toEqual([
      "SVC-operator@svc.localhost",
      "ada@svc.localhost",
      "ben@svc.localhost",
    ]);
    expect(await story.as("ada", (mailbox) => mailbox.list({ ...everything, box: "sent" }))).toMatchObject({
      messages: [{ subject: "hello" }],
    });
  });

  test("mail is exported, then cleared only with consent", async () => {
    await using story = await twoMailboxes();
    const { fixture } = story;
    await story.as("ada", (mailbox) => mailbox.send(draft("ben", "hello")));
    await story.as("ada", (mailbox) => mailbox.send(draft("ada", "note")));
    const out = ["mailbox", "export", "--output-dir", "archive"];
    refused(await fixture.mgr(...out), 2, "exactly one of --all-accounts and --address");
    const exported = await story.asked<wire.MailboxExportAnswer>(
      wire.MailboxExportAnswer,
      ...out,
      "--all-accounts",
    );
    expect(exported).toMatchObject({ account_count: 3, message_count: 2, blocked_artifacts: [] });
    refused(await fixture.mgr(...out, "--all-accounts"), 2, "is there already");
    refused(await fixture.mgr("mailbox", "messages", "clear", ...ada), 1, "--yes");
    const one = await story.asked<wire.MailboxMaintenanceAnswer>(
      wire.MailboxMaintenanceAnswer,
      "mailbox",
      "messages",
      "clear",
      ...ada,
      "--yes",
    );
    expect(one.scope).toEqual({ kind: "account_messages", address: "ada@svc.localhost" });
    expect(await story.as("ben", subjects)).toEqual(["hello unread"]);
    refused(await fixture.mgr("mailbox", "clear-messages"), 1, "--yes");
    await story.asked(wire.MailboxMaintenanceAnswer, "mailbox", "clear-messages", "--yes");
    expect(await story.as("ben", subjects)).toEqual([]);
  });
});

describe("a repair from the command line", () => {
  test("after the index was deleted and a message damaged loses neither mail nor flags", async () => {
    await using story = await twoMailboxes();
    const { fixture, root } = story;
    const read = await story.as("ada", (mailbox) => mailbox.send(draft("ben", "looked at")));
    await story.as("ben", (mailbox) => mailbox.read(read.message_ref));
    await story.as("ada", (mailbox) => mailbox.send(draft("ben", "new")));
    for (const ending of ["", "-wal", "-shm"]) rmSync(join(root, `index.sqlite${ending}`), { force: true });
    const id = read.message_ref.replace("filesystem:", "");
    const [day = ""] = readdirSync(join(root, "messages"));
    writeFileSync(join(root, "messages", day, `${id}.md`), "damaged");
    const status = await fixture.mgr("mailbox", "status", "--json");
    expect([status.exitCode, status.json()["error"]]).toEqual([
      1,
      "its index is missing; a repair rebuilds it",
    ]);
    const result = await story.asked<wire.MailboxRepairAnswer>(wire.MailboxRepairAnswer, "mailbox", "repair");
    expect(result).toMatchObject({ ok: true, index_rebuilt: "fresh", registration_count: 3 });
    expect(result.findings.map((one) => one.path)).toContain(`messages/${day}/${id}.md`);
    expect(await story.as("ben", subjects)).toEqual(["new unread", "looked at read"]);
    const again = await fixture.mgr("mailbox", "repair");
    expect(again.stdout).toContain("it cannot be read as a message");
  });

  test("after a send was killed puts what is left away, and the mail that arrived stays", async () => {
    await using story = await twoMailboxes();
    const { fixture, root } = story;
    await story.asked(
      wire.MailboxRegisterAnswer,
      "mailbox",
      "register",
      "--address",
      "cleo@svc.localhost",
      "--principal-id",
      "SVC-cleo",
    );
    await story.as("ada", (mailbox) => mailbox.send(draft("ben", "before")));
    const kill = JSON.stringify({ label: "sql:mail-delivered", when: "before", nth: 1 });
    const child = Bun.spawn(
      [process.execPath, join(import.meta.dir, "../support/faulty-mailbox.ts"), "long", root],
      { env: { ...fixture.env, [faultEnvironment.kill]: kill }, stdio: ["ignore", "ignore", "inherit"] },
    );
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    const result = await story.asked<wire.MailboxRepairAnswer>(wire.MailboxRepairAnswer, "mailbox", "repair");
    expect(result.findings.map((one) => one.problem).sort()).toEqual([
      "it belongs to no message",
      "it was never delivered",
    ]);
    expect(result.message_count).toBe(1);
    expect(await story.as("ben", subjects)).toEqual(["before unread"]);
  });

  test("of no root, of contradicting flags and of another version is refused", async () => {
    await using fixture = createCliFixture();
    refused(await fixture.mgr("mailbox", "repair"), 1, "there is no mailbox root");
    expect(existsSync(join(fixture.workdir, ".svc"))).toBe(false);
    const both = ["--quarantine-staging", "--remove-staging"];
    refused(await fixture.mgr("mailbox", "repair", ...both), 2, "exclude each other");
    const named = ["--mailbox-root", join(fixture.folder, "other")];
    await fixture.mgr("mailbox", "init", ...named);
    writeFileSync(join(fixture.folder, "other", "protocol-version.txt"), "9\n");
    refused(await fixture.mgr("mailbox", "repair", ...named), 1, "version");
    const status = await fixture.mgr("mailbox", "status", ...named, "--json");
    expect(status.json()).toMatchObject({ supported: false, protocol_version: 9 });
    expect(status.exitCode).toBe(1);
  });
});
