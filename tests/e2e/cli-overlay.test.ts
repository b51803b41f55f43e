import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliLab, createCliLab } from "../support/cli-lab.ts";

const launch = (name: string) => [
  ...["agents", "launch", "--tool", "demo", "--agent-name", name, "--no-gateway", "--headless"],
  ...["--env", "API_TOKEN=secret-of-the-launch", "--json"],
];
const overlayOf = (lab: CliLab) => join(lab.workdir, ".svc");
const adoptLine = (lab: CliLab) => `run: svc-mgr overlay adopt ${overlayOf(lab)}`;

describe("an overlay that was not adopted", () => {
  test("is refused by mail with the command that adopts it, and a session goes to the state folder", async () => {
    await using lab = createCliLab();
    for (const name of ["mailbox", "runtime"]) mkdirSync(join(overlayOf(lab), name), { recursive: true });
    for (const words of [
      ["mailbox", "init"],
      ["mailbox", "status"],
    ]) {
      const refused = await lab.mgr(...words);
      expect([refused.exitCode, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(adoptLine(lab));
    }
    const launched = await lab.mgr(...launch("worker"));
    expect(launched.exitCode).toBe(0);
    expect(launched.stderr).toContain("not in the project overlay");
    expect(launched.stderr).toContain(adoptLine(lab));
    expect(launched.json()["session_root"]).toStartWith(join(lab.env["HOME"] ?? "", ".local/state/svc"));
    expect(readdirSync(overlayOf(lab)).sort()).toEqual(["mailbox", "runtime"]);
    const doctor = await lab.mgr("doctor");
    expect(doctor.stdout).toContain(adoptLine(lab));
  }, 120_000);

  test("is adopted, listed, used, forgotten and then refused again, its agent too", async () => {
    await using lab = createCliLab();
    mkdirSync(join(overlayOf(lab), "runtime"), { recursive: true });
    const status = () => lab.mgr("overlay", "status", "--json");
    const before = await status();
    expect([before.exitCode, before.json()["used"]]).toEqual([1, false]);
    const adopted = await lab.mgr("overlay", "adopt", "--json");
    expect(adopted.json()["overlay"]).toMatchObject({ path: overlayOf(lab), adopted_by: "command" });
    expect((await status()).json()).toMatchObject({ used: true, problem: null });
    const listed = (await lab.mgr("overlay", "list", "--json")).json();
    expect(listed["overlays"]).toMatchObject([{ path: overlayOf(lab), used: true }]);

    const launched = await lab.mgr(...launch("worker"));
    expect([launched.exitCode, launched.stderr]).toEqual([0, ""]);
    expect(launched.json()["session_root"]).toStartWith(join(overlayOf(lab), "runtime/sessions/"));

    const forgotten = await lab.mgr("overlay", "forget", lab.workdir, "--json");
    expect(forgotten.json()).toMatchObject({ path: overlayOf(lab), forgotten: true });
    expect((await lab.mgr("overlay", "forget")).stderr).toContain("was not adopted");
    const one = ["agents", "single", "--agent-name", "worker"];
    for (const words of [["relaunch"], ["state"], ["stop"]]) {
      const refused = await lab.mgr(...one, ...words);
      expect([words, refused.exitCode]).toEqual([words, 1]);
      expect(refused.stderr).toContain(adoptLine(lab));
    }
    const list = (await lab.mgr("agents", "list", "--json")).json()["agents"];
    expect(list).toMatchObject([{ agent_name: "worker" }]);
    expect(JSON.stringify(list)).toContain("not adopted");
    expect((await lab.mgr("doctor")).stdout).toContain("the session of worker");

    await lab.mgr("overlay", "adopt", overlayOf(lab));
    expect((await lab.mgr(...one, "stop", "--json")).json()["success"]).toBe(true);
  }, 120_000);

  test("that is open to others is not adopted before it is closed", async () => {
    await using lab = createCliLab();
    mkdirSync(overlayOf(lab));
    chmodSync(overlayOf(lab), 0o775);
    const refused = await lab.mgr("overlay", "adopt");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(`run: chmod go-w ${overlayOf(lab)}`);
    chmodSync(overlayOf(lab), 0o755);
    expect((await lab.mgr("overlay", "adopt")).exitCode).toBe(0);
  }, 60_000);
});

describe("git add -A stages nothing of an overlay", () => {
  const git = (lab: CliLab, words: string) => lab.shell(`git ${words}`);
  const staged = async (lab: CliLab) => {
    await git(lab, "add -A");
    return (await git(lab, "diff --cached --name-only")).stdout;
  };

  test("with a session and no mailbox, and one whose .gitignore was removed", async () => {
    await using lab = createCliLab();
    await git(lab, "init -q");
    const overlay = overlayOf(lab);
    // As an earlier version left it: no .gitignore.
    mkdirSync(join(overlay, "runtime"), { recursive: true });
    await lab.mgr("overlay", "adopt");
    rmSync(join(overlay, ".gitignore"));
    const launched = await lab.mgr(...launch("worker"));
    const root = String(launched.json()["session_root"]);
    expect(readFileSync(join(root, "launch-environment.json"), "utf8")).toContain("secret-of-the-launch");
    expect(existsSync(join(overlay, "mailbox"))).toBe(false);
    writeFileSync(join(lab.workdir, "README"), "text");
    expect(await staged(lab)).toBe("README\n");
  }, 120_000);

  test("that SVC_PROJECT_OVERLAY_DIR names within a repository", async () => {
    await using lab = createCliLab();
    await git(lab, "init -q");
    lab.env["SVC_PROJECT_OVERLAY_DIR"] = join(lab.workdir, "agents");
    const launched = await lab.mgr(...launch("worker"));
    expect(launched.json()["session_root"]).toStartWith(join(lab.workdir, "agents/runtime"));
    expect(await staged(lab)).toBe("");
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
      await using lab = createCliLab();
      const root = join(lab.folder, "open");
      mkdirSync(root);
      chmodSync(root, 0o777);
      lab.env[variable] = root;
      const refused = await lab.mgr(...words);
      expect([refused.exitCode, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(`run: chmod go-w ${root}`);
      expect((await lab.mgr("doctor")).stdout).toContain("trusted folders");
      expect(readdirSync(root)).toEqual([]);
    },
    60_000,
  );

  test("a file of tool profiles, and a role", async () => {
    await using lab = createCliLab();
    const file = join(lab.folder, "file");
    writeFileSync(file, "[]");
    chmodSync(file, 0o666);
    const role = await lab.mgr(...launch("worker"), "--role-file", file);
    expect([role.exitCode, role.stdout]).toEqual([1, ""]);
    expect(role.stderr).toContain(`run: chmod go-w ${file}`);
    lab.env["SVC_TOOL_PROFILES"] = file;
    const profiles = await lab.mgr("tools", "list");
    expect([profiles.exitCode, profiles.stdout]).toEqual([1, ""]);
    expect(profiles.stderr).toContain(`run: chmod go-w ${file}`);
  }, 60_000);
});
