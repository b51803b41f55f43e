import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

const fixture = createCliFixture();
afterAll(() => fixture[Symbol.asyncDispose]());
const bin = join(fixture.folder, "bin");
mkdirSync(bin);

/** A tool that says its version by `says` and else runs until it is ended. */
function install(says: string): void {
  const script = `#!/bin/sh\nif [ "$1" = --version ]; then ${says}; exit; fi\nexec sleep 1000\n`;
  writeFileSync(join(bin, "claude"), script.replace("exec ", ""), { mode: 0o755 });
}

function launch(name: string, ...more: string[]) {
  const env = { ...fixture.env, PATH: `${bin}:${fixture.env["PATH"]}` };
  const args = ["agents", "launch", "--tool", "claude", "--agent-name", name, "--no-gateway", "--json"];
  return fixture.run("svc-mgr", [...args, ...more], { env });
}

test("a launch says that the version is not proved, and that the tool asks nothing", async () => {
  install("echo '99.1.0 (Claude Code)'");
  const run = await launch("unproved");
  expect(run.json()).toMatchObject({ tool_version: "99.1.0", tool_version_proved: false });
  expect(run.stderr).toContain("claude 99.1.0: its screens were not proved with this version");
  expect(run.stderr).toContain("claude 99.1.0 runs commands without asking");
  const asking = await launch("asking", "--", "--permission-mode", "default");
  expect(asking.stderr).not.toContain("without asking");
  expect(asking.stderr).toContain("launched without --unattended: claude may ask before it acts");
  expect(run.stderr).not.toContain("may ask");
});

test("a proved version needs no word, and one that does not come is not waited for", async () => {
  install("echo '2.1.197 (Claude Code)'");
  const proved = await launch("proved");
  expect(proved.json()).toMatchObject({ tool_version: "2.1.197", tool_version_proved: true });
  expect(proved.stderr).not.toContain("2.1.197");
  expect(proved.stderr).toContain("its queue waits until somebody answers");
  expect((await launch("free", "--unattended")).stderr).not.toContain("may ask");
  install("sleep 1000");
  const silent = await launch("silent");
  expect(silent.exitCode).toBe(0);
  expect(silent.json()).not.toHaveProperty("tool_version");
});
