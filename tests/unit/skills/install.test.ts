import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mailRoundSkill } from "../../../src/services/notifier/render.ts";
import { skills } from "../../../src/services/skills/catalog.ts";
import { skillHome } from "../../../src/services/skills/home.ts";
import { installSkills, type Projection } from "../../../src/services/skills/install.ts";
import { createScratch } from "../../support/scratch.ts";

function setup() {
  const scratch = createScratch();
  const home = scratch.path(".claude");
  const deps = {
    files: scratch.files,
    storeRoot: scratch.path("store"),
  };
  return {
    home,
    files: scratch.files,
    at: (name: string) => join(home, "skills", name, "SKILL.md"),
    install: (projection: Projection = "copy", given = skills) =>
      installSkills(deps, { tool: "claude", home, projection, skills: given }).outcomes.map(
        (one) => `${one.outcome}${one.outcome === "kept" ? ` ${one.why}` : ""}`,
      ),
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}
const [first] = skills;
const name = first?.name ?? "";
const newer = skills.map((skill) => ({ ...skill, text: `${skill.text}\nnew\n` }));

describe("the skills that come with us", () => {
  test("the mail round is the skill that the wake-up prompt names", () => {
    expect(skills.map((skill) => skill.name)).toContain(mailRoundSkill);
  });

  test.each(skills)("$name says what it is for, in the form that the tools read", ({ name, text }) => {
    expect(text).toMatch(
      new RegExp(`^---\\nname: ${name}\\ndescription: .+ Use when .+\\nlicense: MIT\\n---\\n`),
    );
    expect(text.length).toBeLessThan(4_000);
  });
});

describe("installing skills", () => {
  test("writes each once, and again changes nothing", () => {
    using lab = setup();
    expect(lab.install()).toEqual(skills.map(() => "installed"));
    expect(readFileSync(lab.at(name), "utf8")).toBe(first?.text ?? "");
    expect(statSync(lab.at(name)).mode & 0o777).toBe(0o600);
    expect(lab.install()).toEqual(skills.map(() => "unchanged"));
  });

  test("a newer version replaces what an older one wrote, and what stands beside it stays", () => {
    using lab = setup();
    lab.install();
    const beside = join(lab.home, "skills", name, "notes.md");
    writeFileSync(beside, "mine");
    expect(lab.install("copy", newer)).toEqual(skills.map(() => "updated"));
    expect([readFileSync(lab.at(name), "utf8"), existsSync(beside)]).toEqual([newer[0]?.text ?? "", true]);
  });

  test("what a person edited or made is kept, also by a newer version", () => {
    using lab = setup();
    mkdirSync(join(lab.home, "skills", name), { recursive: true });
    writeFileSync(lab.at(name), "my own skill");
    const [second] = skills.slice(1);
    expect(lab.install()[0]).toBe("kept foreign");
    writeFileSync(lab.at(second?.name ?? ""), "edited");
    expect(lab.install("copy", newer).slice(0, 3)).toEqual(["kept foreign", "kept edited", "updated"]);
    expect(readFileSync(lab.at(name), "utf8")).toBe("my own skill");
    expect(readFileSync(lab.at(second?.name ?? ""), "utf8")).toBe("edited");
  });

  test("links lead to one copy, and turn into files and back without a trace", () => {
    using lab = setup();
    expect(lab.install("symlink")).toEqual(skills.map(() => "installed"));
    expect(lstatSync(join(lab.home, "skills", name)).isSymbolicLink()).toBe(true);
    expect(readFileSync(lab.at(name), "utf8")).toBe(first?.text ?? "");
    expect(lab.install("symlink")).toEqual(skills.map(() => "unchanged"));
    expect(lab.install("copy")).toEqual(skills.map(() => "updated"));
    expect(lstatSync(join(lab.home, "skills", name)).isSymbolicLink()).toBe(false);
    writeFileSync(join(lab.home, "skills", name, "notes.md"), "mine");
    expect(lab.install("symlink").slice(0, 2)).toEqual(["kept edited", "updated"]);
  });

  test("a link of a person's own is not followed, nor replaced", () => {
    using lab = setup();
    const own = join(lab.home, "elsewhere");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "SKILL.md"), "my own skill");
    mkdirSync(join(lab.home, "skills"), { recursive: true });
    const link = join(lab.home, "skills", name);
    lab.files.symlink("test", own, link);
    expect(lab.install()[0]).toBe("kept foreign");
    expect(readFileSync(join(own, "SKILL.md"), "utf8")).toBe("my own skill");
  });

  test("a deleted skill comes back", () => {
    using lab = setup();
    lab.install();
    rmSync(join(lab.home, "skills", name), { recursive: true });
    expect(lab.install()[0]).toBe("installed");
  });
});

describe("where a tool's skills live", () => {
  const facts = { named: null, env: {}, cwd: "/project", home: "/home/ann" };
  test.each([
    ["claude", {}, "/project/.claude"],
    ["claude", { CLAUDE_CONFIG_DIR: "/else" }, "/else"],
    ["codex", { CODEX_HOME: "/codex" }, "/codex"],
    ["gemini", {}, "/project/.gemini"],
    ["opencode", {}, "/project/.opencode"],
    ["copilot", {}, "/project/.github"],
    ["kimi", {}, "/project/.kimi-code"],
    ["universal", {}, "/home/ann/.agents"],
  ] as const)("%s with %p: %s", (tool, env, path) => {
    expect(skillHome(tool, { ...facts, env })).toBe(path);
  });

  test("a named home wins, a relative variable is an error", () => {
    expect(skillHome("claude", { ...facts, named: "/named", env: { CLAUDE_CONFIG_DIR: "x" } })).toBe(
      "/named",
    );
    expect(() => skillHome("claude", { ...facts, env: { CLAUDE_CONFIG_DIR: "x" } })).toThrow("absolute");
  });
});
