import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DemoLogEntry } from "../../src/services/demo/log.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { jmapMailbox } from "../support/cyrus/mailboxes.ts";
import { type Cyrus, type CyrusAccount, startCyrus } from "../support/cyrus/server.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { everything } from "../support/mail-story.ts";
import { until } from "../support/until.ts";

const rounds = 4;

interface Talker {
  address: string;
  mgr: (...words: string[]) => ReturnType<CliFixture["mgr"]>;
  log: () => DemoLogEntry[];
}

/** An agent that works its mail by itself, its mailbox on the mail server. */
async function launchTalker(fixture: CliFixture, cyrus: Cyrus, name: string): Promise<Talker & CyrusAccount> {
  const account = await cyrus.addAccount(name);
  const log = join(fixture.folder, `${name}.log`);
  const script = join(fixture.folder, `${name}.json`);
  const secret = join(fixture.folder, `${name}.password`);
  writeFileSync(script, JSON.stringify({ schema_version: 1, mail_rounds: true }));
  writeFileSync(secret, `${account.password}\n`, { mode: 0o600 });
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", name];
  const launched = await fixture.mgr(...launch, "--", "--log", log, "--script", script);
  expect([launched.exitCode, launched.stderr]).toEqual([0, expect.any(String)]);
  const mgr = (...words: string[]) =>
    fixture.mgr("agents", "single", "--agent-name", name, ...words, "--json");
  const register = ["mailbox", "register", "--transport", "jmap", "--jmap-url", cyrus.url];
  const login = ["--login-identity", account.address, "--password-file", secret];
  const registered = await mgr(...register, ...login);
  expect([registered.exitCode, registered.stderr]).toEqual([0, ""]);
  expect(registered.json()).toMatchObject({
    registered: true,
    activation_state: "active",
    runtime_mailbox_enabled: true,
    transport: "jmap",
    address: account.address,
    mailbox_root: null,
    shared_registration: null,
  });
  const enabled = await mgr("gateway", "mail-notifier", "enable", "--interval-seconds", "3600");
  expect([enabled.exitCode, enabled.json()["supported"]]).toEqual([0, true]);
  return { ...account, mgr, log: () => parseDemoLog(readFileSync(log, "utf8")) };
}

const kinds = (log: readonly DemoLogEntry[], kind: DemoLogEntry["kind"]) =>
  log.filter((entry) => entry.kind === kind);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

test(`agents with mailboxes on a mail server are woken and talk for ${rounds} rounds`, async () => {
  await using cyrus = await startCyrus();
  await using fixture = createCliFixture();
  const alice = await launchTalker(fixture, cyrus, "alice");
  const bob = await launchTalker(fixture, cyrus, "bob");
  const person = jmapMailbox(cyrus, await cyrus.addAccount("person"));

  const post = await alice.mgr("mail", "post", "--subject", "x", "--body-content", "y");
  expect([post.exitCode, post.stderr]).toEqual([1, expect.stringContaining("filesystem transport")]);
  await person.send({
    to: [alice.address],
    cc: [],
    subject: "Talk to bob",
    body: `TALK ${bob.address} ${rounds}`,
    attachments: [],
    notifyBlock: null,
    notifyAuth: null,
  });

  const archived = () => [alice, bob].map(({ log }) => kinds(log(), "mail_archived").length);
  await until(
    "every message is archived",
    () => archived().join() === `${rounds / 2 + 1},${rounds / 2}`,
    120_000,
  );
  for (const talker of [alice, bob]) {
    const refs = kinds(talker.log(), "mail_archived").flatMap((one) =>
      "message_ref" in one ? one.message_ref : [],
    );
    const mailbox = jmapMailbox(cyrus, talker);
    const kept = (await mailbox.list({ ...everything, box: "archive" })).messages;
    expect(kept.map((one) => one.message_ref).sort()).toEqual(refs.sort());
    expect(kept.every((one) => one.read && one.archived)).toBe(true);
    expect((await mailbox.list(everything)).messages).toEqual([]);
    const found = (await talker.mgr("mail", "resolve-live")).json();
    expect(found).toMatchObject({ transport: "jmap", mailbox: { jmap: { jmap_url: cyrus.url } } });
    mailbox.close();
  }
  expect(cyrus.relay.bounced).toEqual([]);
  person.close();

  // The password stands in files of its owner alone, made for it, and nowhere else.
  const secret = (path: string) => /mailbox-secrets|mailbox-credentials|\.password$/.test(path);
  const holding = filesBelow(fixture.folder).filter((path) => readFileSync(path).includes(alice.password));
  expect(holding.filter((path) => !secret(path))).toEqual([]);
  expect(holding.filter(secret).map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);

  const gone = await alice.mgr("mailbox", "unregister", "--mode", "purge");
  expect(gone.json()).toMatchObject({ registered: false, shared_unregistration: null });
  expect(filesBelow(fixture.folder).filter((path) => readFileSync(path).includes(alice.password))).toEqual([
    join(fixture.folder, "alice.password"),
  ]);
}, 400_000);

test("a mailbox on a mail server is registered only with a login and an address that are right", async () => {
  await using cyrus = await startCyrus();
  await using fixture = createCliFixture();
  const { address, password } = await cyrus.addAccount("worker");
  const launched = await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "worker");
  expect(launched.exitCode).toBe(0);
  const secret = join(fixture.folder, "password");
  writeFileSync(secret, password);
  writeFileSync(join(fixture.folder, "wrong"), "not-the-password");
  const single = ["agents", "single", "--agent-name", "worker"];
  const register = (...words: string[]) =>
    fixture.mgr(...single, "mailbox", "register", "--transport", "jmap", ...words);
  const login = ["--jmap-url", cyrus.url, "--login-identity", address, "--password-file"];
  const refusals = [
    await register("--jmap-url", cyrus.url),
    await register(
      "--jmap-url",
      "http://mail.example/jmap",
      "--login-identity",
      address,
      "--password-file",
      secret,
    ),
    await register(...login, join(fixture.folder, "absent")),
    await register(...login, fixture.folder),
    await register(...login, secret, "--address", "someone.else@svc.localhost"),
    await register(...login, secret, "--mode", "force"),
    await register(...login, join(fixture.folder, "wrong")),
  ];
  expect(refusals.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
    [2, expect.stringContaining("--password-file")],
    [2, expect.stringContaining("https")],
    [2, expect.stringContaining("there is no file")],
    [2, expect.stringContaining("is a folder, not a file")],
    [2, expect.stringContaining("may not send from")],
    [2, expect.stringContaining("filesystem transport")],
    [3, expect.stringContaining("refuses the login")],
  ]);
  const status = await fixture.mgr(...single, "mailbox", "status", "--json");
  expect(status.json()["registered"]).toBe(false);
  // What lies on this machine is reached past any proxy.
  fixture.env["HTTP_PROXY"] = "http://127.0.0.1:9";
  expect((await register(...login, secret)).exitCode).toBe(0);
  await cyrus.stop();
  const list = await fixture.mgr(...single, "mail", "list");
  expect([list.exitCode, list.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining("cannot be reached"),
  ]);
}, 120_000);
