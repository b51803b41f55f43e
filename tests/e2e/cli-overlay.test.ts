import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";

const launch = (name: string) => [
  "agents",
  "launch",
  "--tool",
  "demo",
  "--agent-name",
  name,
  "--no-gateway",
  "--headless",
  "--env",
  "API_TOKEN=secret-of-the-launch",
  "--json",
];
const overlayOf = (fixture: CliFixture) => join(fixture.workdir, ".svc");
const adoptLine = (fixture: CliFixture) => `run: svc-mgr overlay adopt ${overlayOf(fixture)}`;

describe("an overlay that was not adopted", () => {
  test("is refused by mail with the command that adopts it, and a session goes to the state folder", async () => {
    await using fixture = createCliFixture();
    for (const name of ["mailbox", "runtime"]) mkdirSync(join(overlayOf(fixture), name), { recursive: true });
    for (const words of [
      ["mailbox", "init"],
      ["mailbox", "status"],
    ]) {
      const refused = await fixture.mgr(...words);
      expect([refused.exitCode, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(adoptLine(fixture));
    }
    const launched = await fixture.mgr(...launch("worker"));
    expect(launched.exitCode).toBe(0);
    expect(launched.stderr).toContain("not in the project overlay");
    expect(launched.stderr).toContain(adoptLine(fixture));
    expect(launched.json()["session_root"]).toStartWith(join(fixture.env["HOME"] ?? "", ".local/state/svc"));
    expect(readdirSync(overlayOf(fixture)).sort()).toEqual(["mailbox", "runtime"]);
    const doctor = await fixture.mgr("doctor");
    expect(doctor.stdout).toContain(adoptLine(fixture));
  }, 120_000);

  test("is adopted, listed, used, forgotten and then refused again, its agent too", async () => {
    await using fixture = createCliFixture();
    mkdirSync(join(overlayOf(fixture), "runtime"), { recursive: true });
    const status = () => fixture.mgr("overlay", "status", "--json");
    const before = await status();
    expect([before.exitCode, before.json()["used"]]).toEqual([1, false]);
    const adopted = await fixture.mgr("overlay", "adopt", "--json");
    expect(adopted.json()["overlay"]).toMatchObject({ path: overlayOf(fixture), adopted_by: "command" });
    expect((await status()).json()).toMatchObject({ used: true, problem: null });
    const listed = (await fixture.mgr("overlay", "list", "--json")).json();
    expect(listed["overlays"]).toMatchObject([{ path: overlayOf(fixture), used: true }]);

    const launched = await fixture.mgr(...launch("worker"));
    expect([launched.exitCode, launched.stderr]).toEqual([0, ""]);
    expect(launched.json()["session_root"]).toStartWith(join(overlayOf(fixture), "runtime/sessions/"));

    const forgotten = await fixture.mgr("overlay", "forget", fixture.workdir, "--json");
    expect(forgotten.json()).toMatchObject({ path: overlayOf(fixture), forgotten: true });
    expect((await fixture.mgr("overlay", "forget")).stderr).toContain("was not adopted");
    const one = ["agents", "single", "--agent-name", "worker"];
    for (const words of [["relaunch"], ["state"], ["stop"]]) {
      const refused = await fixture.mgr(...one, ...words);
      expect([words, refused.exitCode]).toEqual([words, 1]);
      expect(refused.stderr).toContain(adoptLine(fixture));
    }
    const list = (await fixture.mgr("agents", "list", "--json")).json()["agents"];
    expect(list).toMatchObject([{ agent_name: "worker" }]);
    expect(JSON.stringify(list)).toContain("not adopted");
    expect((await fixture.mgr("doctor")).stdout).toContain("the session of worker");

    await fixture.mgr("overlay", "adopt", overlayOf(fixture));
    expect((await fixture.mgr(...one, "stop", "--json")).json()["success"]).toBe(true);
  }, 120_000);

  test("that is open to others is not adopted before it is closed", async () => {
    await using fixture = createCliFixture();
    mkdirSync(overlayOf(fixture));
    chmodSync(overlayOf(fixture), 0o775);
    const refused = await fixture.mgr("overlay", "adopt");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(`run: chmod go-w ${overlayOf(fixture)}`);
    chmodSync(overlayOf(fixture), 0o755);
    expect((await fixture.mgr("overlay", "adopt")).exitCode).toBe(0);
  }, 60_000);
});

describe("git add -A stages nothing of an overlay", () => {
  const git = (fixture: CliFixture, words: string) => fixture.shell(`git ${words}`);
  const staged = async (fixture: CliFixture) => {
    await git(fixture, "add -A");
    return (await git(fixture, "diff --cached --name-only")).stdout;
  };

  test("with a session and no mailbox, and one whose .gitignore was removed", async () => {
    await using fixture = createCliFixture();
    await git(fixture, "init -q");
    const overlay = overlayOf(fixture);
    // As an earlier version left it: no .gitignore.
    mkdirSync(join(overlay, "runtime"), { recursive: true });
    await fixture.mgr("overlay", "adopt");
    rmSync(join(overlay, ".gitignore"));
    const launched = await fixture.mgr(...launch("worker"));
    const root = String(launched.json()["session_root"]);
    expect(readFileSync(join(root, "launch-environment.json"), "utf8")).toContain("secret-of-the-launch");
    expect(existsSync(join(overlay, "mailbox"))).toBe(false);
    writeFileSync(join(fixture.workdir, "README"), "text");
    expect(await staged(fixture)).toBe("README\n");
  }, 120_000);

  test("that SVC_PROJECT_OVERLAY_DIR names within a repository", async () => {
    await using fixture = createCliFixture();
    await git(fixture, "init -q");
    fixture.env["SVC_PROJECT_OVERLAY_DIR"] = join(fixture.workdir, "agents");
    const launched = await fixture.mgr(...launch("worker"));
    expect(launched.json()["session_root"]).toStartWith(join(fixture.workdir, "agents/runtime"));
    expect(await staged(fixture)).toBe("");
  }, 120_000);
});

describe("a root that others can change is refused with the command that closes it", () => {
  test.each([
    { variable: "SVC_GLOBAL_RUNTIME_DIR", words: ["agents", "list"] },
    { variable: "SVC_GLOBAL_REGISTRY_DIR", words: ["agents", "list"] },
    { variable: "SVC_GLOBAL_MAILBOX_DIR", words: ["mailbox", "init"] },
    { variable: "SVC_PROJECT_OVERLAY_DIR", words: ["mailbox", "init"] },
    { variable: "XDG_STATE_HOME", words: ["agents", "list"] },
  ])(
    "$variable",
    async ({ variable, words }) => {
      await using fixture = createCliFixture();
      const root = join(fixture.folder, "open");
      mkdirSync(root);
      chmodSync(root, 0o777);
      fixture.env[variable] = root;
      const refused = await fixture.mgr(...words);
      expect([refused.exitCode, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(`run: chmod go-w ${root}`);
      expect((await fixture.mgr("doctor")).stdout).toContain("trusted folders");
      expect(readdirSync(root)).toEqual([]);
    },
    60_000,
  );

  test("a file of tool profiles, and a role", async () => {
    await using fixture = createCliFixture();
    const file = join(fixture.folder, "file");
    writeFileSync(file, "[]");
    chmodSync(file, 0o666);
    const role = await fixture.mgr(...launch("worker"), "--role-file", file);
    expect([role.exitCode, role.stdout]).toEqual([1, ""]);
    expect(role.stderr).toContain(`run: chmod go-w ${file}`);
    fixture.env["SVC_TOOL_PROFILES"] = file;
    const profiles = await fixture.mgr("tools", "list");
    expect([profiles.exitCode, profiles.stdout]).toEqual([1, ""]);
    expect(profiles.stderr).toContain(`run: chmod go-w ${file}`);
  }, 60_000);
});
