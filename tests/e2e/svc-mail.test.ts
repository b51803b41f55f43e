import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

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
