import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runProgram } from "../../src/cli/command-line/dispatch.ts";
import { managerCommands } from "../../src/cli/mgr.ts";
import { type Skill, skills } from "../../src/services/skills/catalog.ts";
import { installSkills, uninstallSkills } from "../../src/services/skills/install.ts";
import { digest } from "../../src/services/skills/ownership.ts";
import { createFakeIo } from "../support/fake-io.ts";
import { createScratch, type Scratch } from "../support/scratch.ts";

const theirs = "what somebody else wrote";

/** A project that brings a record of ownership along, and a skill of the person's own outside of it. */
function planted(names: readonly string[]) {
  const at = createScratch();
  const home = at.path("project/.claude");
  const record = join(home, ".svc/system-skills/claude/svc-skill-config.json");
  const outside = at.path("precious/SKILL.md");
  for (const path of [record, outside]) mkdirSync(dirname(path), { recursive: true });
  mkdirSync(join(home, "skills"));
  writeFileSync(outside, theirs);
  const owned = Object.fromEntries(names.map((name) => [name, digest(theirs)]));
  writeFileSync(record, JSON.stringify({ schema_version: 1, tool: "claude", skills: owned }));
  return { at, home, record, outside, [Symbol.dispose]: () => at[Symbol.dispose]() };
}

const place = (home: string) => ({ tool: "claude", home });
const attempt = (work: () => unknown) => {
  try {
    work();
  } catch {
    // What lies outside is what counts.
  }
};

describe("a record of ownership that a project brings along", () => {
  test.each([
    ["../../../precious"],
    ["x/../../../../precious"],
    ["../../../precious/"],
    ["away"],
    ["away/."],
    [".."],
    [""],
  ])("names %p, and nothing outside is removed", (name) => {
    using fixture = planted([name]);
    symlinkSync(dirname(fixture.outside), join(fixture.home, "skills", "away"));
    attempt(() => uninstallSkills(fixture.at.files, place(fixture.home), []));
    attempt(() => uninstallSkills(fixture.at.files, place(fixture.home), skills));
    expect(readFileSync(fixture.outside, "utf8")).toBe(theirs);
  });

  test("beside a hostile name the honest one is removed", () => {
    using fixture = planted(["../../../precious", "svc-old"]);
    mkdirSync(join(fixture.home, "skills/svc-old"));
    writeFileSync(join(fixture.home, "skills/svc-old/SKILL.md"), theirs);
    const outcomes = uninstallSkills(fixture.at.files, place(fixture.home), []);
    expect(outcomes).toEqual([{ name: "svc-old", outcome: "removed" }]);
    expect([existsSync(join(fixture.home, "skills/svc-old")), existsSync(fixture.outside)]).toEqual([
      false,
      true,
    ]);
  });

  test.each([".svc", ".svc/system-skills", ".svc/system-skills/claude", "skills"])(
    "with a link in the place of %p, nothing is removed or written behind it",
    (folder) => {
      using fixture = planted([]);
      const behind = fixture.at.path("behind");
      mkdirSync(join(behind, "system-skills/claude/claude"), { recursive: true });
      writeFileSync(join(behind, "system-skills/claude/svc-skill-config.json"), readFileSync(fixture.record));
      const path = join(fixture.home, folder);
      fixture.at.files.remove("test", fixture.at.files.contained(fixture.home, folder));
      symlinkSync(behind, path);
      const all: readonly Skill[] = skills;
      const deps = { files: fixture.at.files, storeRoot: fixture.at.path("store") };
      attempt(() => installSkills(deps, { ...place(fixture.home), projection: "copy", skills: all }));
      attempt(() => uninstallSkills(fixture.at.files, place(fixture.home), all));
      expect(existsSync(join(behind, "system-skills/claude/svc-skill-config.json"))).toBe(true);
      expect(existsSync(join(behind, all[0]?.name ?? ""))).toBe(false);
    },
  );
});

describe("a project whose folder for a tool is a link", () => {
  async function run(at: Scratch, ...words: string[]) {
    const cwd = at.path("project");
    const env = { XDG_STATE_HOME: at.path("state"), PATH: process.env["PATH"] ?? "" };
    const io = createFakeIo({ env, cwd, home: at.path("home") });
    const version = async () => ({ program: "svc-mgr", version: "test" }) as never;
    return { exitCode: await runProgram(managerCommands, version, ["system-skills", ...words], io), io };
  }

  test.each([
    { id: "out of it", target: "../outside" },
    { id: "to nothing", target: "../outside/nothing" },
  ])("$id gets no skill there, unless the user names that folder", async ({ target }) => {
    using at = createScratch();
    for (const folder of ["project", "outside", "home"]) mkdirSync(at.path(folder));
    symlinkSync(target, at.path("project/.claude"));
    for (const act of ["install", "uninstall"]) {
      const { exitCode, io } = await run(at, act, "--tool", "claude");
      expect([exitCode, io.err]).toEqual([1, expect.stringMatching(/\.claude is a symbolic link .* --home/)]);
    }
    expect(readdirSync(at.path("outside"))).toEqual([]);
    expect((await run(at, "list", "--tool", "claude")).exitCode).toBe(0);
    const named = await run(at, "install", "--tool", "claude", "--home", at.path("outside"));
    expect([named.exitCode, readdirSync(at.path("outside/skills")).length > 0]).toEqual([0, true]);
  });

  test("that stays inside of it is used", async () => {
    using at = createScratch();
    for (const folder of ["project/shared", "home"]) mkdirSync(at.path(folder), { recursive: true });
    symlinkSync("shared", at.path("project/.claude"));
    expect((await run(at, "install", "--tool", "claude")).exitCode).toBe(0);
    expect(readdirSync(at.path("project/shared/skills")).length).toBeGreaterThan(0);
  });
});
