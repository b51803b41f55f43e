import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  createServiceManager,
  type ServiceManager,
} from "../../../../src/services/extensions/boot/boot-services.ts";
import type { ServicePlan } from "../../../../src/services/extensions/boot/unit-text.ts";
import { createScratch } from "../../../support/scratch.ts";

/** `answers`: what a command says, by its first words. */
function createFixture(platform: NodeJS.Platform, answers: Record<string, string | null> = {}) {
  const scratch = createScratch();
  const calls: string[] = [];
  const run = async (words: readonly string[]) => {
    const line = words.join(" ");
    calls.push(line);
    const [, answer = ""] = Object.entries(answers).find(([start]) => line.startsWith(start)) ?? [];
    if (answer === null) throw new Error(`Executable not found in $PATH: "${words[0]}"`);
    return { exitCode: answer.startsWith("!") ? 1 : 0, stdout: answer, stderr: "" };
  };
  const manager = createServiceManager(
    { files: scratch.files, processes: { run } },
    { platform, uid: 1000, home: scratch.folder, configFolder: scratch.path(".config") },
  );
  return { scratch, calls, manager, [Symbol.dispose]: () => scratch[Symbol.dispose]() };
}

const plan = (name: ServicePlan["name"]): ServicePlan => ({
  name,
  description: name,
  command: ["/opt/svc/svc-gateway", "gateway"],
  searchPath: ["/bin"],
  environmentFile: "/env",
  isServer: name === "svc-coord",
  logPath: "/log",
});
const both = [plan("svc-coord"), plan("svc-resume")];
const pathsOf = (manager: ServiceManager) => both.map(({ name }) => manager.pathOf(name));

test("systemd: an installation writes, enables and starts, and a removal takes exactly that away", async () => {
  using at = createFixture("linux");
  const { manager, calls, scratch } = at;
  const [server = "", resume = ""] = pathsOf(manager);
  expect(server).toBe(scratch.path(".config/systemd/user/svc-coord.service"));
  await manager.install(both);
  await manager.start("svc-coord");
  expect(calls).toEqual([
    "systemctl --user daemon-reload",
    "systemctl --user enable svc-coord.service",
    "systemctl --user enable svc-resume.service",
    "systemctl --user restart svc-coord.service",
  ]);
  const own = `${dirname(server)}/other.service`;
  writeFileSync(own, "[Unit]\n");

  // A second one without the resume takes that away.
  calls.length = 0;
  await manager.install([plan("svc-coord")]);
  expect([existsSync(server), existsSync(resume)]).toEqual([true, false]);
  expect(calls).toContain("systemctl --user disable --now svc-resume.service");

  calls.length = 0;
  expect([await manager.remove("svc-coord"), await manager.remove("svc-resume")]).toEqual([true, false]);
  expect([existsSync(server), existsSync(own)]).toEqual([false, true]);
  expect(calls).toEqual([
    "systemctl --user disable --now svc-coord.service",
    "systemctl --user daemon-reload",
  ]);
});

test("systemd: a removal without systemd takes its link too", async () => {
  using at = createFixture("linux", { systemctl: null });
  const { manager } = at;
  const path = manager.pathOf("svc-coord");
  await expect(manager.install(both)).rejects.toMatchObject({ reason: "unavailable" });
  const wants = `${dirname(path)}/default.target.wants`;
  mkdirSync(wants);
  symlinkSync(path, `${wants}/svc-coord.service`);
  symlinkSync("/elsewhere", `${wants}/svc-resume.service`);
  expect([await manager.remove("svc-coord"), await manager.remove("svc-resume")]).toEqual([true, true]);
  expect(at.scratch.files.isLink(`${wants}/svc-coord.service`)).toBe(false);
  expect(at.scratch.files.isLink(`${wants}/svc-resume.service`)).toBe(true);
});

test.each(["linux", "darwin"] as const)(
  "%s: a file of others is neither replaced nor removed",
  async (os) => {
    using at = createFixture(os);
    const { manager } = at;
    const [server = "", resume = ""] = pathsOf(manager);
    mkdirSync(dirname(resume), { recursive: true });
    writeFileSync(resume, "of a person");
    await expect(manager.install(both)).rejects.toMatchObject({ reason: "conflict" });
    expect(existsSync(server)).toBe(false);
    expect((await manager.state("svc-resume")).file).toBe("other");
    expect(await manager.remove("svc-resume")).toBe(false);
    expect(readFileSync(resume, "utf8")).toBe("of a person");
  },
);

test("systemd: the state is what it says, and unknown where it says nothing", async () => {
  using at = createFixture("linux", {
    "systemctl --user show svc-coord.service": "ActiveState=active\nUnitFileState=enabled\nMainPID=42\n",
    "systemctl --user show svc-resume.service": "!",
    "loginctl show-user 1000": "no\n",
  });
  expect(await at.manager.state("svc-coord")).toMatchObject({ isEnabled: true, activity: "active", pid: 42 });
  expect(await at.manager.state("svc-resume")).toMatchObject({ isEnabled: null, activity: null, pid: null });
  expect(await at.manager.endsAtLogout()).toBe(true);
});

test.each([
  ["linux", { systemctl: null }, 'systemctl --user: Executable not found in $PATH: "systemctl"'],
  ["linux", { systemctl: "!Failed to connect to bus" }, "systemctl --user: !Failed to connect to bus"],
  ["linux", {}, null],
  ["darwin", { launchctl: null }, 'launchctl: Executable not found in $PATH: "launchctl"'],
] as const)("%s: why it cannot be used: %j", async (os, answers, want) => {
  using at = createFixture(os, answers);
  expect(await at.manager.obstacle()).toBe(want);
});

test("launchd: the server is loaded at once, the resume at the next login", async () => {
  using at = createFixture("darwin", { "launchctl print": "\tstate = running\n\tpid = 7\n" });
  const { manager, calls } = at;
  const [server = "", resume = ""] = pathsOf(manager);
  await manager.install(both);
  await manager.start("svc-coord");
  expect(calls).toEqual(["launchctl bootout gui/1000/svc-coord", `launchctl bootstrap gui/1000 ${server}`]);
  expect([existsSync(server), existsSync(resume)]).toEqual([true, true]);
  expect(await manager.state("svc-coord")).toMatchObject({ file: "ours", activity: "running", pid: 7 });
  calls.length = 0;
  for (const { name } of both) expect(await manager.remove(name)).toBe(true);
  expect(calls).toEqual(["launchctl bootout gui/1000/svc-coord", "launchctl bootout gui/1000/svc-resume"]);
  expect([existsSync(server), existsSync(resume)]).toEqual([false, false]);
});
