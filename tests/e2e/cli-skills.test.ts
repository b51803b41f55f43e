import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

test("skills are listed and installed, and what a person changed is kept", async () => {
  await using fixture = createCliFixture();
  const listed = await fixture.mgr("system-skills", "list", "--json");
  expect(listed.json()["tools"]).toContain("claude");

  const install = ["system-skills", "install", "--tool"];
  const run = await fixture.mgr(...install, "claude", "--json");
  expect([run.exitCode, run.json()]).toEqual([
    0,
    expect.objectContaining({
      tool: "claude",
      home_path: join(fixture.workdir, ".claude"),
      projection_mode: "copy",
    }),
  ]);
  const skill = join(fixture.workdir, ".claude", "skills", "svc-agent-gateway", "SKILL.md");
  writeFileSync(skill, "mine");
  const again = await fixture.mgr(...install, "claude");
  expect([again.exitCode, again.stdout]).toEqual([1, expect.stringContaining("kept: edited")]);

  const home = join(fixture.folder, "codex-home");
  const linked = await fixture.mgr(
    "system-skills",
    "install",
    "--tool",
    "codex",
    "--home",
    home,
    "--symlink",
  );
  expect(linked.exitCode).toBe(0);
  expect(existsSync(join(home, "skills", "svc-mailbox-mgr", "SKILL.md"))).toBe(true);
  const several = await fixture.mgr(...install, "gemini,opencode", "--json");
  expect(several.json()["results"]).toHaveLength(2);
  const file = join(fixture.folder, "file");
  writeFileSync(file, "not a folder");
  const blocked = await fixture.mgr(...install, "claude", "--home", join(file, "home"), "--json");
  expect([blocked.exitCode, blocked.error()]).toEqual([
    2,
    { error: "invalid_request", detail: expect.stringContaining("Name another home with --home") },
  ]);
  const wrong = await fixture.mgr(...install, "vim");
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("claude, codex")]);
}, 120_000);

test("installed skills are listed with their state, updated and uninstalled", async () => {
  await using fixture = createCliFixture();
  const skills = (...words: string[]) => fixture.mgr("system-skills", ...words);
  const home = join(fixture.folder, "home", ".codex");
  const at = (name: string) => join(home, "skills", name, "SKILL.md");
  expect((await skills("list")).stdout).toContain("installed nowhere");
  await skills("install", "--tool", "codex", "--home", home);

  // An older version's text, a person's edit, and a skill of a person's own name for it.
  const old = "an older text";
  writeFileSync(at("svc-agent-gateway"), old);
  const recordFile = join(home, ".svc", "system-skills", "codex", "svc-skill-config.json");
  const record = JSON.parse(readFileSync(recordFile, "utf8")) as { skills: Record<string, string> };
  record.skills["svc-agent-gateway"] = new Bun.CryptoHasher("sha256").update(old).digest("hex");
  delete record.skills["svc-mailbox-mgr"];
  writeFileSync(recordFile, JSON.stringify(record));
  writeFileSync(at("svc-agent-email-comms"), "edited");
  writeFileSync(at("svc-mailbox-mgr"), "mine");

  const listed = await skills("list", "--tool", "codex", "--json");
  const states = { "svc-process-emails-via-gateway": "current", "svc-agent-email-comms": "edited" };
  const others = { "svc-agent-gateway": "outdated", "svc-mailbox-mgr": "foreign" };
  expect(listed.json()["homes"]).toEqual([
    {
      tool: "codex",
      home_path: home,
      config_path: recordFile,
      skills: Object.entries({ ...states, ...others }).map(([name, state]) => ({ name, state })),
    },
  ]);
  const told = await skills("list");
  expect(told.stdout).toContain(`svc-mgr system-skills install --tool codex --home ${home}`);
  await skills("install", "--tool", "codex", "--home", home);
  expect((await skills("list", "--tool", "codex")).stdout).toMatch(/svc-agent-gateway +current/);

  const uninstall = ["system-skills", "uninstall", "--tool", "codex", "--home", home, "--json"];
  const gone = await fixture.mgr(...uninstall);
  expect([gone.exitCode, gone.json()["skills"]]).toEqual([
    1,
    [
      { name: "svc-process-emails-via-gateway", outcome: "removed" },
      { name: "svc-agent-email-comms", outcome: "kept", why: "edited" },
      { name: "svc-agent-gateway", outcome: "removed" },
      { name: "svc-mailbox-mgr", outcome: "kept", why: "foreign" },
    ],
  ]);
  expect(readdirSync(join(home, "skills")).sort()).toEqual(["svc-agent-email-comms", "svc-mailbox-mgr"]);
  const wrong = await skills("list", "--home", home);
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("--tool")]);
}, 120_000);
