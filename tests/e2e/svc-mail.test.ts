import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProcesses, type RunOptions } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createCliFixture } from "../support/cli-fixture.ts";

const processes = createProcesses({ steps: quietSteps });

test("a name that only svc.yaml has is refused with the word that works", async () => {
  await using fixture = createCliFixture();
  const svc = (...words: string[]) => fixture.run("svc", words);
  for (const words of [
    ["tell", "@ann", "x"],
    ["mail", "@ann", "s", "t"],
  ]) {
    const { exitCode, stderr } = await svc(...words);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining("no svc.yaml here or in a folder above; @ann is a name of such a file"),
    ]);
    expect(stderr).not.toContain("--file");
  }
  writeFileSync(
    join(fixture.workdir, "svc.yaml"),
    "version: 1\nagents:\n  bob: { tool: demo }\npeople:\n  ann: {}\ngroups:\n  all: [ann]\n",
  );
  for (const name of ["ann", "all"]) {
    const refused = await svc("mail", name, "s", "t");
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(`write @${name}\n`)]);
  }
  for (const name of ["bob", "nobody"]) expect((await svc("mail", name, "s", "t")).stderr).not.toContain("@");
  expect((await svc("mail", "--help")).stdout).toContain("as @NAME to a group or person of svc.yaml");
}, 60_000);

test("mail from another folder says in which mailbox root the agent is", async () => {
  await using fixture = createCliFixture();
  expect((await fixture.run("svc", ["new", "bob", "demo", "-m"])).exitCode).toBe(0);
  const other = join(fixture.folder, "other");
  mkdirSync(other);
  const words = ["mail", "bob", "subject", "text", "--from", "ann@svc.localhost"];
  const refused = await fixture.run("svc", words, { cwd: other });
  const root = join(fixture.workdir, ".svc/mailbox");
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`the mailbox of "bob" is in ${root}, and mail from this folder goes through`),
  ]);
  expect(refused.stderr).toContain(`--mailbox-root ${root} --address ann@svc.localhost`);

  // What it advises can be done.
  const at = ["--mailbox-root", root];
  const ann = ["--address", "ann@svc.localhost", "--principal-id", "SVC-ann"];
  expect((await fixture.mgr("mailbox", "register", ...at, ...ann)).exitCode).toBe(0);
  const send = ["--address", "ann@svc.localhost", "--to", "bob@svc.localhost", "--subject", "subject"];
  const sent = await fixture.run("svc-mgr", ["mail", "send", ...at, ...send, "--body-content", "text"], {
    cwd: other,
  });
  expect([sent.stderr, sent.exitCode]).toEqual(["", 0]);
  expect((await fixture.run("svc", words)).exitCode).toBe(0);
  await fixture.run("svc", ["stop", "bob"]);
}, 90_000);

test("an empty answer is refused in the words of `svc ok`", async () => {
  await using fixture = createCliFixture();
  const refused = await fixture.run("svc", ["ok", "worker", ""]);
  expect([refused.exitCode, refused.stderr]).toEqual([2, "Error: the answer is empty\nSee: svc ok --help\n"]);
}, 60_000);

test("mail of an agent to a name in another mailbox root is refused", async () => {
  await using fixture = createCliFixture();
  const roots = ["first", "second"].map((name) => join(fixture.folder, `mail-${name}`));
  for (const [index, name] of ["first", "second"].entries()) {
    const words = ["--tool", "demo", "--agent-name", name, "--headless", "--no-gateway"];
    const launched = await fixture.mgr("agents", "launch", ...words, "--mailbox-root", roots[index] ?? "");
    expect(launched.exitCode).toBe(0);
  }
  const { agents } = (await fixture.mgr("agents", "list", "--json")).json() as {
    agents: { agent_name: string; manifest_path: string }[];
  };
  const manifest = agents.find(({ agent_name: name }) => name === "first")?.manifest_path ?? "";
  const env = { ...fixture.env, SVC_MANIFEST_PATH: manifest };
  const sent = await fixture.run("svc", ["mail", "second", "hello", "you"], { env });
  expect([sent.exitCode, sent.stdout]).toEqual([1, ""]);
  expect(sent.stderr).toContain(`the mailbox of "second" is in ${roots[1]}, and yours is in ${roots[0]}`);
}, 60_000);

/** `svc` as a person who is called ann. */
async function openAsPerson() {
  const fixture = createCliFixture();
  const env = { ...fixture.env, USER: "ann" };
  const svc = (line: string, options: RunOptions = {}) =>
    fixture.run("svc", line.split(" "), { env, ...options });
  return { fixture, env, svc, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

test("the mailbox of a person makes itself in each project, for all commands that come first", async () => {
  await using person = await openAsPerson();
  const { fixture, svc } = person;
  const second = join(fixture.folder, "a second project");
  mkdirSync(second);
  for (const cwd of [fixture.workdir, second]) {
    const runs = await Promise.all(Array.from({ length: 5 }, () => svc("inbox", { cwd })));
    for (const run of runs) {
      expect([run.stderr, run.exitCode, run.stdout]).toEqual([
        "",
        0,
        "mail of ann@svc.localhost\nno unread mail\n",
      ]);
    }
    const accounts = (
      await fixture.run("svc-mgr", ["mailbox", "accounts", "list", "--json"], { cwd })
    ).json();
    expect(
      (accounts["accounts"] as { address: string; role: string }[]).map(({ address, role }) => [
        address,
        role,
      ]),
    ).toEqual([
      ["SVC-operator@svc.localhost", "system_operator"],
      ["ann@svc.localhost", "person"],
    ]);
  }
  // Another user name is another person, in the same project.
  const other = await svc("inbox", { env: { ...person.env, USER: "DOM\\ben" } });
  expect([other.exitCode, other.stdout]).toEqual([
    0,
    expect.stringContaining("mail of DOM-ben@svc.localhost"),
  ]);
  const bare = await svc("inbox", { env: { ...fixture.env } });
  expect([bare.exitCode, bare.stdout]).toEqual([0, expect.stringContaining("mail of person@svc.localhost")]);

  // What waits in the other project is said here.
  for (const subject of ["to myself", "again"]) {
    const words = ["--address", "ann@svc.localhost", "--to", "ann@svc.localhost", "--subject", subject];
    const sent = await fixture.run("svc-mgr", ["mail", "send", ...words, "--body-content", "x"], {
      cwd: second,
    });
    expect([sent.stderr, sent.exitCode]).toEqual(["", 0]);
  }
  const here = await svc("inbox");
  const advice = here.stdout.trimEnd().split("\n").at(-1) ?? "";
  expect(advice).toBe(`2 unread elsewhere: svc inbox --mailbox-root '${second}/.svc/mailbox'`);
  const there = await processes.run(
    ["sh", "-c", `"$@" ${advice.split(": svc ")[1]}`, "sh", ...fixture.command("svc")],
    {
      env: person.env,
      cwd: fixture.workdir,
      timeoutMs: 60_000,
    },
  );
  expect(there.stdout).toContain("2 unread. Read one with: svc read NUMBER");
}, 240_000);

test("a person reads, answers and archives mail by its number, which stays", async () => {
  await using person = await openAsPerson();
  const { fixture, svc } = person;
  const made = await svc("new bob demo -m");
  expect([made.stderr, made.exitCode]).toEqual(["", 0]);
  expect(made.stdout).toContain("its mail notifier is enabled: new mail wakes it\n");
  const status = await fixture.mgr(
    ...["agents", "single", "--agent-name", "bob", "gateway", "mail-notifier", "status", "--json"],
  );
  expect(status.json()).toMatchObject({ enabled: true, wake_policy: "on_change" });

  const sent = await svc("mail bob hello please look --json");
  expect([sent.stderr, sent.exitCode]).toEqual(["", 0]);
  expect((await svc("mail bob empty", { input: " " })).stderr).toContain(
    "standard input is empty: give the text",
  );
  expect((await svc("mail bob piped -", { input: "from a pipe" })).exitCode).toBe(0);

  const ofBob = ["agents", "single", "--agent-name", "bob", "mail"];
  const answer = async (subject: string) => {
    const words = [
      "send",
      "--to",
      "ann@svc.localhost",
      "--subject",
      subject,
      "--body-content",
      `on ${subject}`,
    ];
    const run = await fixture.mgr(...ofBob, ...words);
    expect([run.stderr, run.exitCode]).toEqual(["", 0]);
  };
  await answer("first");
  await answer("second");
  const listed = (await svc("inbox")).stdout.trimEnd().split("\n");
  expect(listed).toEqual([
    "mail of ann@svc.localhost",
    expect.stringMatching(/^NUMBER +FROM +SINCE +NOTE +SUBJECT$/),
    expect.stringMatching(/^4 +bob@svc.localhost +\ds +unread +second$/),
    expect.stringMatching(/^3 +bob@svc.localhost +\ds +unread +first$/),
    "2 unread. Read one with: svc read NUMBER",
  ]);
  // New mail does not change the numbers.
  await answer("third");
  const read = await svc("read 3");
  expect([read.exitCode, read.stdout]).toEqual([0, expect.stringContaining("subject    first\n")]);
  expect(read.stdout).toContain("\n\non first\n");
  expect((await svc("inbox")).stdout).toContain("2 unread; 1 read and not done: svc inbox --all. Read one");
  const replied = await svc("reply 3 yes, with the --force flag");
  expect([replied.exitCode, replied.stdout]).toEqual([
    0,
    expect.stringContaining("replied to bob@svc.localhost: Re: first"),
  ]);
  const bobs = (await fixture.mgr(...ofBob, "list", "--include-body", "--json")).json();
  expect((bobs["messages"] as { body_text: string }[])[0]?.body_text.trim()).toBe(
    "yes, with the --force flag",
  );
  expect((await svc("read 3 --json")).json()).toMatchObject({
    message: { number: 3, answered: true, box: "inbox" },
  });

  const done = await svc("done 3 99 4");
  expect([done.exitCode, done.stdout.trimEnd().split("\n")]).toEqual([
    1,
    [
      expect.stringMatching(/^done: first {2}\[archive\]/),
      expect.stringMatching(/^done: second {2}\[archive\]/),
      'not done: this mailbox holds no message "99"; see which it has with: svc inbox --all',
    ],
  ]);
  expect((await svc("done 3 --json")).json()).toMatchObject({ archived: [{ number: 3 }], refused: [] });
  for (const line of ["read 99", "reply 99 x"]) {
    const refused = await svc(line);
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining('no message "99"; see which'),
    ]);
  }
  const left = (await svc("inbox --all --json")).json() as { messages: { subject: string }[] };
  expect(left.messages.map(({ subject }) => subject)).toEqual(["third"]);

  // A shell offers what is in the inbox.
  const offered = await svc("complete -- read ");
  expect(offered.stdout).toBe("5\tbob@svc.localhost: third\n:none\n");

  // The same words in the session of an agent are about its own mail.
  const { agents } = (await fixture.mgr("agents", "list", "--json")).json() as {
    agents: { manifest_path: string }[];
  };
  const env = { ...person.env, SVC_MANIFEST_PATH: agents[0]?.manifest_path ?? "" };
  expect((await svc("inbox --all", { env })).stdout).toMatch(/^mail of bob@svc\.localhost\n/);

  await svc("stop bob");
}, 300_000);

test("where an agent has the person's address, its mail is not taken for the person's", async () => {
  await using person = await openAsPerson();
  const { fixture, svc } = person;
  const made = await svc("new ann demo -m");
  expect([made.exitCode, made.exitCode === 0 ? "" : made.stdout]).toEqual([0, ""]);
  const root = join(fixture.workdir, ".svc/mailbox");
  const refused = await svc("inbox");
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    `Error: ann@svc.localhost belongs to somebody else in ${root}: name yours with SVC_MAIL_FROM=ADDRESS\n`,
  ]);
  const own = await svc("inbox", { env: { ...person.env, SVC_MAIL_FROM: "ann.m@svc.localhost" } });
  expect([own.stderr, own.exitCode]).toEqual(["", 0]);
  await svc("stop ann");
}, 120_000);
