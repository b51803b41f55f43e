import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBackup } from "../../../src/services/extensions/backup/create.ts";
import { planRestore } from "../../../src/services/extensions/backup/plan-restore.ts";
import { restoreBackup } from "../../../src/services/extensions/backup/restore.ts";
import { repairMailRoot } from "../../../src/services/mail/filesystem/repair/repair.ts";
import { openMailRoot } from "../../../src/services/mail/filesystem/root.ts";
import { createOverlays } from "../../../src/services/sessions/overlays.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { sentMail } from "../../support/late-mail.ts";
import { createMailRootFixture, type MailRootFixture, mailRootDeps } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";
import { createRegistryFixture } from "../../support/session-deps.ts";

/** A backup of the mailbox root of `fixture`, whose scratch folder is the home. */
function backUp(
  fixture: MailRootFixture,
  output: string,
  { withSecrets = false, onProgress = (_done: number) => {} } = {},
) {
  return createBackup(fixture.deps, {
    output,
    manifest: {
      schema_version: 1,
      svc_version: "0",
      created_at_utc: "2026-01-01T00:00:00.000+00:00",
      home: fixture.scratch.folder,
      with_secrets: withSecrets,
      places: [{ name: "mailbox", kind: "mailbox", path: fixture.path }],
    },
    signal: new AbortController().signal,
    whyNoMail: () => null,
    onProgress,
  });
}

/** The archive restored in the empty home of another user. */
async function restored(archive: string) {
  const fixture = createRegistryFixture();
  const home = join(fixture.folder, "home");
  mkdirSync(home);
  const stateRoot = join(home, "state");
  const roots = { registryRoot: fixture.root, runtimeRoot: join(stateRoot, "runtime"), stateRoot };
  const overlays = createOverlays({ ...fixture.system, stateRoot });
  const configRoot = join(home, ".config/svc");
  const deps = { ...fixture.system, registry: fixture.registry, overlays, roots, configRoot, home };
  const done = await restoreBackup(deps, planRestore(deps, archive), {
    signal: new AbortController().signal,
    onProgress: () => {},
  });
  return { home, done, root: join(home, "mailbox"), [Symbol.dispose]: fixture[Symbol.dispose] };
}

/** Unpacks the place `mailbox` of the archive, and reads it as another machine does. */
async function listed(archive: string, folder: string, mailbox: { address: string; principalId: string }) {
  mkdirSync(folder);
  expect(await Bun.spawn(["tar", "-xf", archive, "-C", folder]).exited).toBe(0);
  const root = openMailRoot(mailRootDeps({ system: { clock: createFakeClock() } }), join(folder, "mailbox"));
  const restored = root.openMailbox(mailbox);
  const { messages } = await restored.list({ ...everything, includeBody: true });
  restored.close();
  root.close();
  return messages.map(({ subject, body_text }) => [subject, body_text]).sort();
}

test("a backup has the text of each message that its index names, whenever the file is written", async () => {
  using has = await sentMail();
  const { fixture, clock, ben } = has;
  await has.ada.send({ ...draft("ben", "two"), body: "second" });
  expect(existsSync(has.file)).toBe(false);
  const output = fixture.scratch.path("backup.tar");
  await backUp(fixture, output, {
    withSecrets: true,
    onProgress: (done) => {
      if (done === 0) fixture.putOnDisk();
    },
  });
  await clock.advance(1000);
  await has.filesOnDisk();
  expect(await listed(output, fixture.scratch.path("restored"), ben)).toEqual([
    ["one", has.mail.body_text],
    ["two", "second"],
  ]);
});

const ownNames = [
  "Cargo.lock",
  "notes-journal",
  "x-wal",
  "x-shm",
  ".1-0123456789ab.tmp",
  "launch-0f.sh",
  "challenge-key",
  "token",
  "attestation.key",
  "launch-environment.json",
  "index.sqlite",
  "mailbox.sqlite",
  "queue.sqlite-wal",
  "manifest.json",
  ".svc-backup-0123456789ab",
  "report.sqlite",
];

test("an attachment comes back byte for byte, also under the name of a file of svc", async () => {
  using fixture = createMailRootFixture();
  const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
  const paths = ownNames.map((name) => fixture.scratch.path(name));
  for (const path of paths.slice(0, -1)) writeFileSync(path, `content of ${path}`);
  const report = new Database(fixture.scratch.path("report.sqlite"), { create: true });
  report.run(
    "CREATE TABLE t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 999) SELECT x FROM n",
  );
  report.run("DELETE FROM t WHERE x % 2");
  report.close();
  for (const [index, path] of paths.entries())
    await ada.send({ ...draft("ben", ownNames[index] ?? ""), attachments: [{ path, label: null }] });
  await ben.list(everything);
  fixture.putOnDisk();

  const output = fixture.scratch.path("backup.tar");
  const done = await backUp(fixture, output);
  // The keys of the operator, ada and ben.
  expect([done.problems, done.secretsLeftOut]).toEqual([[], 3]);
  using at = await restored(output);
  expect([at.done.problems, at.done.kept]).toEqual([[], []]);
  const { messages } = await ben.list(everything);
  const read = messages.map(({ subject: name, attachments: [one] }) => {
    const bytes = readFileSync(join(at.root, "attachments/managed", one?.attachment_id ?? "", name));
    return [name, new Bun.CryptoHasher("sha256").update(bytes).digest("hex") === one?.sha256];
  });
  expect(read.sort()).toEqual(ownNames.map((name) => [name, true]).sort());
});

const cleo = { address: "cleo@svc.localhost", principalId: "SVC-cleo" };

/** The mailbox of cleo is a folder outside of the root, and holds an archived message. */
async function linkedMailbox() {
  const fixture = createMailRootFixture();
  const outside = fixture.scratch.path("outside");
  mkdirSync(outside);
  fixture.root.registrations.register({ ...cleo, mode: "safe", kind: "symlink", mailboxPath: outside });
  const mailbox = fixture.root.openMailbox(cleo);
  const { message_ref: sent } = await fixture.mailbox("ada").send(draft("cleo", "done long ago"));
  await mailbox.archive([sent]);
  mailbox.close();
  fixture.putOnDisk();
  return { fixture, outside, output: fixture.scratch.path("backup.tar") };
}

test("a mailbox outside of its root is in the backup, and comes back in another home", async () => {
  const { fixture, outside, output } = await linkedMailbox();
  using _ = fixture;
  const done = await backUp(fixture, output);
  expect(done.problems).toEqual([]);
  expect(done.places[1]).toEqual({ name: "linked-1", kind: "linked_mailbox", path: outside });

  using at = await restored(output);
  const moved = join(at.home, "outside");
  expect(at.done.problems).toEqual([]);
  expect(at.done.places[1]).toEqual({ kind: "linked_mailbox", from: outside, to: moved });
  expect(readlinkSync(join(at.root, "mailboxes", cleo.address))).toBe(moved);
  const root = openMailRoot(fixture.deps, at.root);
  const mailbox = root.openMailbox(cleo);
  const { messages } = await mailbox.list({ ...everything, box: "archive" });
  mailbox.close();
  root.close();
  expect(messages.map(({ subject, read }) => [subject, read])).toEqual([["done long ago", true]]);
  const repaired = await repairMailRoot(fixture.deps, at.root, {
    cleanupStaging: false,
    quarantineStaging: false,
  });
  expect(repaired.findings).toEqual([]);
});

test("a folder that does not name its registration is no mailbox, and the backup reports it", async () => {
  const { fixture, outside, output } = await linkedMailbox();
  using _ = fixture;
  writeFileSync(join(outside, ".svc-registration"), "reg-another\n");
  const done = await backUp(fixture, output);
  expect(done.places.length).toBe(1);
  expect(done.problems).toEqual([
    expect.stringContaining(`${JSON.stringify(outside)} of the mailbox "cleo@`),
  ]);
  using at = await restored(output);
  expect(at.done.problems).toEqual([expect.stringContaining("mailboxes/cleo@svc.localhost: a link to ")]);
  expect(lstatSync(join(at.root, "mailboxes")).isDirectory()).toBe(true);
  expect(existsSync(join(at.home, "outside"))).toBe(false);
});

test("a linked mailbox whose folder is missing is reported", async () => {
  const { fixture, outside, output } = await linkedMailbox();
  using _ = fixture;
  rmSync(outside, { recursive: true });
  expect((await backUp(fixture, output)).problems).toEqual([expect.stringContaining("it is missing")]);
});

test("an archive that is written in a mailbox root holds no part of itself, nor of another run", async () => {
  using fixture = createMailRootFixture();
  const left = join(fixture.path, ".svc-backup-0123456789ab");
  mkdirSync(left);
  writeFileSync(join(left, "archive"), "of a run that was killed");
  const output = join(fixture.path, "backup.tar");
  expect((await backUp(fixture, output)).problems).toEqual([]);
  const names = await new Response(Bun.spawn(["tar", "-tf", output]).stdout).text();
  expect(names).toContain("mailbox/index.sqlite\n");
  expect(names).not.toContain("svc-backup-0");
  expect(names.match(/\.svc-backup-.*/g)).toBeNull();
});
