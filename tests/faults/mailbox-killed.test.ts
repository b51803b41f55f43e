import { afterAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { verifyHistories } from "../../src/services/mail/filesystem/delivery/history.ts";
import {
  initMailRoot,
  type MailRoot,
  mailRootStatus,
  openMailRoot,
} from "../../src/services/mail/filesystem/root.ts";
import type { MailQuery } from "../../src/services/mail/mailbox.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { countLabels, faultEnvironment, type Moment } from "../support/fault-steps.ts";
import { mailRootDeps } from "../support/mail-root.ts";
import { matrixTests, runInLanes } from "../support/matrix.ts";

const entry = join(import.meta.dir, "../support/faulty-mailbox.ts");
const lanes = 3;
const boxes = ["inbox", "sent", "archive", "drafts", "projects"];
const everything: Omit<MailQuery, "box"> = {
  readState: "any",
  answeredState: "any",
  archived: null,
  limit: null,
  since: null,
  includeBody: true,
  cursor: null,
  query: null,
};
const plain = { attachments: [], notifyBlock: null, notifyAuth: null };

/**
 * Each act: the commit with which it stands, and before which nothing of it does, and what one sees of it
 * then.
 */
const acts = [
  { act: "send", commit: "sql:mail-delivered", seen: "ben@svc.localhost inbox: sent unread owed text +1" },
  {
    act: "long",
    commit: "sql:mail-delivered",
    seen: `ben@svc.localhost inbox: long unread owed ${"x".repeat(70_000)} +1`,
  },
  { act: "closed", commit: "sql:mail-delivered", seen: "ben@svc.localhost inbox: sent unread owed text +0" },
  { act: "settled", commit: "sql:mail-delivered", seen: "ben@svc.localhost inbox: sent unread owed text +0" },
  { act: "self", commit: "sql:mail-delivered", seen: "ada@svc.localhost inbox: self unread owed  +0" },
  { act: "post", commit: "sql:mail-delivered", seen: "ben@svc.localhost inbox: note unread owed  +0" },
  { act: "reply", commit: "sql:mail-delivered", seen: "ben@svc.localhost inbox: second read answered 2 +0" },
  { act: "read", commit: "sql:mail-read", seen: "ben@svc.localhost inbox: second read owed 2 +0" },
  { act: "mark", commit: "sql:mail-changed", seen: "ben@svc.localhost inbox: first read answered 1 +0" },
  { act: "move", commit: "sql:mail-changed", seen: "ben@svc.localhost projects: first read owed 1 +0" },
  { act: "archive", commit: "sql:mail-changed", seen: "ben@svc.localhost archive: second read owed 2 +0" },
  { act: "list", commit: null, seen: null },
  { act: "register", commit: "sql:mail-registered", seen: "dora@svc.localhost SVC-dora active" },
  { act: "force", commit: "sql:mail-registered", seen: "ben@svc.localhost SVC-eve active" },
  { act: "stash", commit: "sql:mail-registered", seen: "entry ben@svc.localhost--#" },
  { act: "deactivate", commit: "sql:mail-deregistered", seen: "ben@svc.localhost SVC-ben inactive" },
  { act: "purge", commit: "sql:mail-deregistered", seen: null },
];

/** What a loss of power may leave of a file that was written and not synced, one after the other. */
const remains: readonly ((file: string) => void)[] = [
  (file) => rmSync(file),
  (file) => truncateSync(file, 0),
  (file) => writeFileSync(file, new Uint8Array(statSync(file).size)),
  (file) => truncateSync(file, Math.floor(statSync(file).size / 2)),
  // Its name in its folder was lost, and the one that it had before was not.
  (file) => renameSync(file, join(dirname(file), "../../staging", basename(file))),
];

/** A root in which ben has read one message, not another, and has yet to hear of a third. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-mail-faults-")));
const template = join(folder, "template");
let refs: string[] = [];
// Some hundred roots: on a busy disk that takes its time.
afterAll(() => rmSync(folder, { recursive: true, force: true }), 120_000);

async function makeTemplate(): Promise<void> {
  const deps = mailRootDeps({ system: { clock: createFakeClock() } });
  initMailRoot(deps, template);
  const root = openMailRoot(deps, template);
  const open = (name: string) => {
    root.registrations.register({ ...defaultMailbox(name), mode: "safe" });
    return root.openMailbox(defaultMailbox(name));
  };
  const [ada, ben, cleo] = [open("ada"), open("ben"), open("cleo")];
  const to = [defaultMailbox("ben").address];
  await ada.send({ to, cc: [], subject: "first", body: "1", ...plain });
  await ada.send({ to, cc: [], subject: "second", body: "2", ...plain });
  const { messages } = await ben.list({ ...everything, box: "inbox" });
  refs = messages.map((mail) => mail.message_ref);
  await ben.read(refs[1] ?? "");
  await ada.send({ to, cc: [], subject: "third", body: "3", ...plain });
  for (const mailbox of [ada, ben, cleo]) mailbox.close();
  root.close();
}

async function run(act: string, path: string, kill?: Moment) {
  const trace = `${path}.trace`;
  const child = Bun.spawn([process.execPath, entry, act, path, ...refs], {
    env: {
      PATH: process.env["PATH"] ?? "",
      [faultEnvironment.trace]: trace,
      ...(kill ? { [faultEnvironment.kill]: JSON.stringify(kill) } : {}),
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await child.exited;
  const passed = existsSync(trace) ? readFileSync(trace, "utf8") : "";
  return { done: said === "done\n", killed: child.signalCode === "SIGKILL", complaint, passed };
}

/** What a person sees of a root: who has which message how, and where its links are. Heals on the way. */
async function observe(path: string) {
  const root = openMailRoot(mailRootDeps(), path);
  try {
    const seen: string[] = [];
    const owners = root.registrations.list();
    for (const { address, owner_principal_id, status } of owners)
      seen.push(`${address} ${owner_principal_id} ${status}`);
    for (const { address, owner_principal_id } of owners.filter((one) => one.status === "active")) {
      seen.push(...(await observeMailbox(root, { address, principalId: owner_principal_id })));
    }
    for (const name of readdirSync(join(path, "mailboxes"))) {
      seen.push(`entry ${name.replace(/--[0-9a-f]{32}$/, "--#")}`);
    }
    return { seen: seen.sort(), problems: filesWrong(path) };
  } finally {
    root.close();
  }
}

async function observeMailbox(
  root: MailRoot,
  binding: { address: string; principalId: string },
): Promise<string[]> {
  const mailbox = root.openMailbox(binding);
  const seen: string[] = [];
  for (const box of boxes) {
    const { messages } = await mailbox.list({ ...everything, box });
    for (const mail of messages) {
      const flags = `${mail.read ? "read" : "unread"} ${mail.answered ? "answered" : "owed"}`;
      seen.push(
        `${binding.address} ${box}: ${mail.subject} ${flags} ${mail.body_text} +${mail.attachments.length}`,
      );
    }
    const links = join(root.root, "mailboxes", binding.address, box);
    const linked = existsSync(links) ? readdirSync(links) : [];
    const held = messages.map((mail) => `${mail.message_ref.replace("filesystem:", "")}.md`);
    if (linked.sort().join() !== held.sort().join()) seen.push(`${binding.address} ${box}: links differ`);
  }
  mailbox.close();
  return seen;
}

const messagesIn = (path: string) =>
  readdirSync(join(path, "messages"), { recursive: true })
    .map((name) => String(name))
    .filter((name) => name.endsWith(".md"));

/**
 * The power fails as well: what the killed process had written and not synced of its message is not there, or
 * not whole. The file of a long message is synced before it has its name.
 */
function losePower(path: string, passed: string, nth: number): void {
  if (passed.includes("after mail.folder-synced\n")) return;
  const before = messagesIn(template);
  for (const name of messagesIn(path).filter((one) => !before.includes(one))) {
    remains[nth % remains.length]?.(join(path, "messages", name));
  }
}

/** Links to nothing. */
function filesWrong(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((one) => one.isSymbolicLink() && !existsSync(join(one.parentPath, one.name)))
    .map((one) => `dangling: ${one.name} -> ${readlinkSync(join(one.parentPath, one.name))}`);
}

/** Mail goes on between all who are registered, and the history of each holds before and after. */
async function goesOn(path: string): Promise<string[]> {
  const root = openMailRoot(mailRootDeps(), path);
  try {
    const before = await brokenHistories(root);
    const ada = root.openMailbox(defaultMailbox("ada"));
    const others = root.registrations.list({ status: "active" });
    const to = others.map((one) => one.address);
    await ada.send({ to, cc: [], subject: "after", body: "", ...plain });
    ada.close();
    const problems: string[] = [];
    for (const { address, owner_principal_id } of others) {
      const mailbox = root.openMailbox({ address, principalId: owner_principal_id });
      const { messages } = await mailbox.list({ ...everything, box: "inbox" });
      const count = messages.filter((mail) => mail.subject === "after" && mail.unread).length;
      if (count !== 1) problems.push(`${address} has the next message ${count} times`);
      const unproved = messages.filter((mail) => mail.attestation !== "verified").length;
      if (unproved > 0) problems.push(`${address} has ${unproved} messages that are not verified`);
      mailbox.close();
    }
    return [...before, ...problems, ...(await brokenHistories(root))];
  } finally {
    root.close();
  }
}

async function brokenHistories(root: MailRoot): Promise<string[]> {
  const histories = await verifyHistories(mailRootDeps(), root, { address: null });
  return histories.flatMap(({ address, broken }) =>
    broken ? [`the history of ${address} is broken at ${broken.sequence}: ${broken.why}`] : [],
  );
}

function momentsOf(passed: string): Moment[] {
  return [...countLabels(passed)].flatMap(([label, count]) =>
    Array.from({ length: count }, (_, index) => index + 1).flatMap((nth) => [
      { label, nth, when: "before" as const },
      { label, nth, when: "after" as const },
    ]),
  );
}

interface Act {
  act: string;
  commit: string | null;
  seen: string | null;
}

/** What a person sees before and after the whole act, and the moments at which it may be killed. */
interface WholeAct extends Act {
  before: Awaited<ReturnType<typeof observe>>;
  after: Awaited<ReturnType<typeof observe>>;
  moments: Moment[];
}

const pathOf = (act: string, name: string) => join(folder, `${act}-${name}`);

function copyTemplate(act: string, name: string): string {
  const path = pathOf(act, name);
  cpSync(template, path, { recursive: true, verbatimSymlinks: true });
  return path;
}

const lossOf = (act: string) => (act === "long" ? () => {} : losePower);

async function doWhole({ act, commit, seen }: Act): Promise<WholeAct> {
  const before = await observe(copyTemplate(act, "before"));
  const path = copyTemplate(act, "after");
  const { done, complaint, passed } = await run(act, path);
  if (!done) throw new Error(`${act}, without a fault: ${complaint}`);
  lossOf(act)(path, passed, 0);
  return { act, commit, seen, before, after: await observe(path), moments: momentsOf(passed) };
}

let wholeActs: WholeAct[] = [];

async function planKills() {
  await makeTemplate();
  const made: (WholeAct | undefined)[] = [];
  await Promise.all(
    runInLanes(acts, lanes, async (act, index) => {
      made[index] = await doWhole(act);
    }),
  );
  wholeActs = made.filter((one) => one !== undefined);
  return wholeActs.flatMap((act) => act.moments.map((kill, index) => ({ act, kill, index })));
}

const toText = ({ when, label, nth }: Moment) => `${when} ${label} ${nth}`;

const kills = await matrixTests({
  name: "a caller that is killed at a mailbox leaves it as if the act had happened, or had not",
  rows: {
    area: "mail",
    fault:
      "A process that changes a mailbox is killed before or after any step of the change, or the power fails there",
    outcome:
      "the change is kept whole, or not at all, and the commit decides which; mail goes on between all, and each history of signed mail holds",
    seen: "the mailbox as before the act, or as after it",
    recovery: "by itself: the next one to open the mailbox finishes or undoes what was half done",
  },
  cases: planKills,
  toId: ({ act, kill }) => `${act.act}: ${toText(kill)}`,
  lanes,
  timeoutMs: 180_000,
  async run({ act: { act, commit, before, after }, kill, index }) {
    const path = copyTemplate(act, String(index));
    const { killed, passed } = await run(act, path, kill);
    // Before a step and after the one before it the process has done the same.
    if (kill.when === "after") lossOf(act)(path, passed, index >> 1);
    expect(killed, "was killed").toBe(true);
    const isCommitted = commit !== null && passed.includes(`after ${commit}\n`);
    const now = await observe(path);
    const want = isCommitted ? after : before;
    expect(difference(want.seen, now.seen), isCommitted ? "after the commit" : "before the commit").toBe("");
    expect([...now.problems, ...(await goesOn(path))]).toEqual([]);
    rmSync(path, { recursive: true });
  },
});

if (kills.length > 0) {
  test.each(wholeActs.map((one) => [one.act, one] as const))(
    "%s, without a fault",
    (_, { before, after, seen }) => {
      expect([...before.problems, ...after.problems]).toEqual([]);
      expect(after.seen.filter((line) => line.includes("differ"))).toEqual([]);
      if (seen !== null) {
        expect(before.seen).not.toContain(seen);
        expect(after.seen).toContain(seen);
      }
    },
  );
}

await matrixTests<Moment>({
  name: "a root whose making is killed is made whole by the next one",
  rows: {
    area: "mail",
    fault: "The making of a mailbox root is killed before or after any of its steps",
    outcome: "no half of a root is taken for a whole one",
    seen: "no root yet",
    recovery: "the next one to make it makes it whole",
  },
  async cases() {
    const { done, complaint, passed } = await run("init", join(folder, "init"));
    if (!done) throw new Error(`init, without a fault: ${complaint}`);
    return momentsOf(passed);
  },
  toId: toText,
  lanes,
  timeoutMs: 120_000,
  async run(kill) {
    const path = pathOf("init", toText(kill).replaceAll(/[^a-z0-9]+/g, "-"));
    expect((await run("init", path, kill)).killed, "was killed").toBe(true);
    const deps = mailRootDeps();
    const half = mailRootStatus(deps, path);
    const made = initMailRoot(deps, path);
    expect([made.bootstrapped, made.error, made.registration_counts.active]).toEqual([true, null, 1]);
    expect(half.bootstrapped && half.registration_counts.active !== 1, "half of a root").toBe(false);
  },
});

/** What one of both has and the other has not; empty when they are the same. */
function difference(want: readonly string[], got: readonly string[]): string {
  const missing = want.filter((line) => !got.includes(line)).map((line) => `-${line}`);
  return [...missing, ...got.filter((line) => !want.includes(line)).map((line) => `+${line}`)].join(" | ");
}
