import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliLab } from "../support/cli-lab.ts";

test("skills are listed and installed, and what a person changed is kept", async () => {
  await using lab = createCliLab();
  const listed = await lab.mgr("system-skills", "list", "--json");
  expect(listed.json()["tools"]).toContain("claude");

  const install = ["system-skills", "install", "--tool"];
  const run = await lab.mgr(...install, "claude", "--json");
  expect([run.exitCode, run.json()]).toEqual([
    0,
    expect.objectContaining({
      tool: "claude",
      home_path: join(lab.workdir, ".claude"),
      projection_mode: "copy",
    }),
  ]);
  const skill = join(lab.workdir, ".claude", "skills", "svc-agent-gateway", "SKILL.md");
  writeFileSync(skill, "mine");
  const again = await lab.mgr(...install, "claude");
  expect([again.exitCode, again.stdout]).toEqual([1, expect.stringContaining("kept: edited")]);

  const home = join(lab.folder, "codex-home");
  const linked = await lab.mgr("system-skills", "install", "--tool", "codex", "--home", home, "--symlink");
  expect(linked.exitCode).toBe(0);
  expect(existsSync(join(home, "skills", "svc-mailbox-mgr", "SKILL.md"))).toBe(true);
  const several = await lab.mgr(...install, "gemini,opencode", "--json");
  expect(several.json()["results"]).toHaveLength(2);
  const wrong = await lab.mgr(...install, "vim");
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("claude, codex")]);
}, 30_000);
