import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSecondUser } from "../../support/second-user.ts";

test("the second user is another user id without groups, privileges or a way into our files", async () => {
  await using other = createSecondUser();
  const ids = await other.run([
    "sh",
    "-c",
    "id -u; id -g; id -G; grep CapEff /proc/self/status; echo $HOME; pwd",
  ]);
  const { uid, home } = other;
  expect(uid).toBeGreaterThan(0);
  expect(ids.stdout.split(/\s+/)).toEqual([
    String(uid),
    String(uid),
    String(uid),
    "CapEff:",
    "0000000000000000",
    home,
    home,
    "",
  ]);
  const secret = join(other.folder, "secret");
  writeFileSync(secret, "ours", { mode: 0o600 });
  expect((await other.run(["cat", secret])).stderr).toContain("Permission denied");
  mkdirSync(join(other.folder, "ours"), { mode: 0o755 });
  expect((await other.run(["touch", join(other.folder, "ours", "file")])).exitCode).not.toBe(0);
  expect((await other.run(["kill", "-0", String(process.pid)])).exitCode).not.toBe(0);
});

test("the second user runs our executables and its own programs, and owns what it writes", async () => {
  await using other = createSecondUser();
  for (const program of ["svc-mgr", "svc-gateway", "svc-coord"] as const) {
    const version = await other.run([...other.command(program), "--version"]);
    expect(version).toMatchObject({ exitCode: 0, stderr: "" });
  }
  const file = join(other.home, "notes", "file");
  other.makeFolder(join(other.home, "notes"));
  other.write(file, "text");
  const owner = 'console.log(require("node:fs").statSync(process.argv[2]).uid, process.getuid())';
  const told = await other.run(other.script(owner, file));
  expect(told).toMatchObject({ exitCode: 0, stdout: `${other.uid} ${other.uid}\n` });
  const serving = other.start(other.script("console.log('ready'); setInterval(() => {}, 1000)"));
  expect(await serving.line()).toBe("ready");
  await serving.stop();
  expect((await other.run(["kill", "-0", String(serving.pid)])).exitCode).not.toBe(0);
});
