import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

test("a svc.yaml of a repository has no agent read a private file of the user", async () => {
  await using fixture = createCliFixture();
  const secret = join(fixture.folder, "home", ".ssh", "id");
  mkdirSync(join(secret, ".."), { mode: 0o700 });
  writeFileSync(secret, "TOKEN=PRIVATE-KEY\n", { mode: 0o600 });
  symlinkSync(secret, join(fixture.workdir, "role.md"));
  for (const field of ["role_file", "env_file"]) {
    for (const path of ["role.md", secret, "../home/.ssh/id"]) {
      const agent = `{ tool: demo, headless: true, ${field}: ${path} }`;
      writeFileSync(join(fixture.workdir, "svc.yaml"), `version: 1\nagents:\n  rl: ${agent}\n`);
      for (const words of [["status"], ["up", "--plan", "--json"], ["up", "--yes"]]) {
        const { exitCode, stdout, stderr } = await fixture.run("svc", words, { cwd: fixture.workdir });
        expect([field, path, words, exitCode, stdout]).toEqual([field, path, words, 2, ""]);
        expect(stderr).toContain(`agents.rl.${field}: ${path} `);
        expect(stderr).not.toContain("PRIVATE-KEY");
      }
    }
  }
  const listed = await fixture.mgr("agents", "list", "--state", "all", "--json");
  expect(listed.json()).toMatchObject({ agents: [] });
}, 120_000);
