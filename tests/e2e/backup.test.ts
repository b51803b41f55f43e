import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

const launch = ["agents", "launch", "--tool", "demo", "--agent-name"];
const one = (name: string, ...words: string[]) => ["agents", "single", "--agent-name", name, ...words];

test("agents at work are copied with queue, turns and mail, and come back in an empty home", async () => {
  await using fixture = createCliFixture();
  const must = async (...words: string[]) => {
    const run = await fixture.mgr(...words);
    if (run.exitCode !== 0) throw new Error(`${words.join(" ")}: ${run.stderr}${run.stdout}`);
    return run;
  };
  await must(...launch, "anna", "--mailbox");
  await must(...one("anna", "prompt", "--prompt", "remember the lighthouse\nFAST", "--wait"));
  const address = ["--to", "anna@svc.localhost"];
  await must(...one("anna", "mail", "send", ...address, "--subject", "Noon", "--body-content", "the bell"));
  mkdirSync(join(fixture.workdir, ".svc/runtime"), { mode: 0o700 });
  await must(...launch, "bert", "--headless", "--env", "API_TOKEN=secret-of-bert", "--no-gateway");

  const archive = join(fixture.workdir, "all.tar");
  const done = (await must("backup", "create", "--output", archive, "--json")).json();
  // The environment of bert, and the keys with which anna's and the operator's mailboxes sign.
  expect(done).toMatchObject({ path: archive, secrets_left_out: 3, problems: [] });
  expect(readFileSync(archive, "latin1").includes("PRIVATE KEY")).toBe(false);
  expect(done["agents"]).toMatchObject([{ agent_name: "anna" }, { agent_name: "bert" }]);
  const { mode } = statSync(archive);
  expect([mode & 0o777, readFileSync(archive, "latin1").includes("secret-of-bert")]).toEqual([0o600, false]);
  expect((await fixture.shell(`tar -tf ${archive} | head -1`)).stdout).toBe("svc-backup.json\n");
  expect((await fixture.mgr("backup", "create", "--output", archive)).stderr).toContain("exists already");
  const secrets = join(fixture.workdir, "secrets.tar");
  await must("backup", "create", "--output", secrets, "--with-secrets");
  expect(readFileSync(secrets, "latin1").includes("secret-of-bert")).toBe(true);
  const refused = await fixture.mgr("backup", "restore", archive);
  expect([refused.exitCode, refused.stderr.includes("nothing was restored")]).toEqual([1, true]);

  for (const name of ["anna", "bert"]) await must(...one(name, "stop"));
  rmSync(join(fixture.workdir, ".svc"), { recursive: true });
  const home = join(fixture.folder, "another");
  mkdirSync(home);
  fixture.env["HOME"] = home;
  // Nobody can be asked here.
  const unasked = await fixture.mgr("backup", "restore", archive);
  expect([unasked.exitCode, readdirSync(home)]).toEqual([1, []]);
  for (const part of [
    "2 agents, whose programs a relaunch starts: anna, bert",
    `mail outside of your home folder: ${join(fixture.workdir, ".svc/mailbox")}`,
    `a project overlay that is adopted: ${join(fixture.workdir, ".svc")}`,
    "Say so with --yes",
  ])
    expect(unasked.stderr).toContain(part);
  const restored = (await must("backup", "restore", archive, "--yes", "--json")).json();
  expect(restored["agents"]).toMatchObject([
    {
      agent_name: "anna",
      lifecycle_state: "stopped",
      next: "svc-mgr agents single --agent-name anna relaunch",
    },
    { agent_name: "bert", lifecycle_state: "stopped" },
  ]);
  const listed = (await must("agents", "list", "--state", "all", "--json")).json();
  expect(listed["agents"]).toMatchObject([{ agent_name: "anna" }, { agent_name: "bert" }]);
  expect(JSON.stringify(listed)).not.toContain(join(fixture.folder, "home"));

  await must(...one("anna", "relaunch"));
  const requests = (await must(...one("anna", "requests", "list", "--json"))).json()["requests"];
  expect(requests).toMatchObject([{ state: "completed" }]);
  const mail = (await must(...one("anna", "mail", "list", "--json"))).json();
  expect(mail["messages"]).toMatchObject([{ subject: "Noon", attestation: "verified" }]);
  await must(...one("anna", "mail", "send", ...address, "--subject", "One", "--body-content", "the bell"));
  expect((await must("mailbox", "verify", "--address", "anna@svc.localhost")).stdout).toMatch(
    / 2 +2 +holds\n/,
  );
  await must(...one("anna", "prompt", "--prompt", "again\nFAST", "--wait"));
  expect((await fixture.mgr("doctor")).stdout).not.toContain("DAMAGED");
  // Its values are a secret and were left out.
  await must(...one("bert", "relaunch"));
  expect((await fixture.mgr(...one("bert", "gateway", "status"))).stdout).toContain("API_TOKEN");
}, 120_000);

test("an output that ends with a slash is a folder, and gets an archive of the usual name", async () => {
  await using fixture = createCliFixture();
  mkdirSync(join(fixture.workdir, "there"));
  for (const name of ["there", "new"]) {
    const made = await fixture.mgr("backup", "create", "--output", `${name}/`, "--json");
    const [only = "", ...others] = readdirSync(join(fixture.workdir, name));
    expect([made.exitCode, others]).toEqual([0, []]);
    expect(only).toMatch(/^svc-backup-.+\.tar$/);
    expect(made.json()).toMatchObject({ path: join(fixture.workdir, name, only) });
  }
});
