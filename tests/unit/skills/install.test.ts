import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { mailRoundSkill } from "../../../src/services/notifier/render.ts";
import { type Skill, skills } from "../../../src/services/skills/catalog.ts";
import { installSkills, type Projection, uninstallSkills } from "../../../src/services/skills/install.ts";
import { skillStates } from "../../../src/services/skills/ownership.ts";
import type { Files } from "../../../src/system/files.ts";
import { createScratch } from "../../support/scratch.ts";

function setup() {
  const scratch = createScratch();
  const home = scratch.path(".claude");
  const deps = {
    files: scratch.files,
    storeRoot: scratch.path("store"),
  };
  const install = (to: string, projection: Projection, given: readonly Skill[]) =>
    installSkills(deps, { tool: "claude", home: to, projection, skills: given }).outcomes.map(
      (one) => `${one.outcome}${one.outcome === "kept" ? ` ${one.why}` : ""}`,
    );
  return {
    home,
    files: scratch.files,
    at: (name: string) => join(home, "skills", name, "SKILL.md"),
    install: (projection: Projection = "copy", given = skills) => install(home, projection, given),
    /** As links, into another home. */
    installTo: (other: string) => install(other, "symlink", skills),
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
    using fixture = setup();
    expect(fixture.install()).toEqual(skills.map(() => "installed"));
    expect(readFileSync(fixture.at(name), "utf8")).toBe(first?.text ?? "");
    expect(statSync(fixture.at(name)).mode & 0o777).toBe(0o600);
    expect(fixture.install()).toEqual(skills.map(() => "unchanged"));
  });

  test("a newer version replaces what an older one wrote, and what is beside it stays", () => {
    using fixture = setup();
    fixture.install();
    const beside = join(fixture.home, "skills", name, "notes.md");
    writeFileSync(beside, "mine");
    expect(fixture.install("copy", newer)).toEqual(skills.map(() => "updated"));
    expect([readFileSync(fixture.at(name), "utf8"), existsSync(beside)]).toEqual([
      newer[0]?.text ?? "",
      true,
    ]);
  });

  test("what a person edited or made is kept, also by a newer version", () => {
    using fixture = setup();
    mkdirSync(join(fixture.home, "skills", name), { recursive: true });
    writeFileSync(fixture.at(name), "my own skill");
    const [second] = skills.slice(1);
    expect(fixture.install()[0]).toBe("kept foreign");
    writeFileSync(fixture.at(second?.name ?? ""), "edited");
    expect(fixture.install("copy", newer).slice(0, 3)).toEqual(["kept foreign", "kept edited", "updated"]);
    expect(readFileSync(fixture.at(name), "utf8")).toBe("my own skill");
    expect(readFileSync(fixture.at(second?.name ?? ""), "utf8")).toBe("edited");
  });

  test("links lead to one copy, and turn into files and back without a trace", () => {
    using fixture = setup();
    expect(fixture.install("symlink")).toEqual(skills.map(() => "installed"));
    expect(lstatSync(join(fixture.home, "skills", name)).isSymbolicLink()).toBe(true);
    expect(readFileSync(fixture.at(name), "utf8")).toBe(first?.text ?? "");
    expect(fixture.install("symlink")).toEqual(skills.map(() => "unchanged"));
    expect(fixture.install("copy")).toEqual(skills.map(() => "updated"));
    expect(lstatSync(join(fixture.home, "skills", name)).isSymbolicLink()).toBe(false);
    writeFileSync(join(fixture.home, "skills", name, "notes.md"), "mine");
    expect(fixture.install("symlink").slice(0, 2)).toEqual(["kept edited", "updated"]);
  });

  test("a link of a person's own is not followed, nor replaced", () => {
    using fixture = setup();
    const own = join(fixture.home, "elsewhere");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "SKILL.md"), "my own skill");
    mkdirSync(join(fixture.home, "skills"), { recursive: true });
    const link = join(fixture.home, "skills", name);
    fixture.files.symlink("test", own, link);
    expect(fixture.install()[0]).toBe("kept foreign");
    expect(readFileSync(join(own, "SKILL.md"), "utf8")).toBe("my own skill");
  });

  test("a deleted skill comes back", () => {
    using fixture = setup();
    fixture.install();
    rmSync(join(fixture.home, "skills", name), { recursive: true });
    expect(fixture.install()[0]).toBe("installed");
  });
});

describe("what is found in a home", () => {
  const states = (fixture: ReturnType<typeof setup>, given = skills) =>
    skillStates(fixture.files, { tool: "claude", home: fixture.home }, given).map(({ state }) => state);

  test("is absent, current, outdated, edited or foreign", () => {
    using fixture = setup();
    expect(states(fixture)).toEqual(skills.map(() => "absent"));
    fixture.install();
    expect([states(fixture), states(fixture, newer)]).toEqual([
      skills.map(() => "current"),
      skills.map(() => "outdated"),
    ]);
    const [one, two, three, four] = skills.map((skill) => skill.name);
    writeFileSync(fixture.at(one ?? ""), "edited");
    rmSync(fixture.at(two ?? ""));
    rmSync(join(fixture.home, ".svc"), { recursive: true });
    writeFileSync(fixture.at(three ?? ""), "mine");
    rmSync(join(fixture.at(four ?? ""), ".."), { recursive: true });
    writeFileSync(join(fixture.at(four ?? ""), ".."), "a file where the folder would be");
    expect(states(fixture)).toEqual(["foreign", "foreign", "foreign", "foreign"]);
  });

  test("a change made through the link of one home is not lost by another", () => {
    using fixture = setup();
    fixture.install("symlink");
    writeFileSync(fixture.at(name), "edited");
    const other = fixture.installTo(join(fixture.home, "other"));
    expect(other.slice(0, 2)).toEqual(["kept edited", "installed"]);
    expect([readFileSync(fixture.at(name), "utf8"), states(fixture)[0]]).toEqual(["edited", "edited"]);
  });
});

describe("a home that this user may not read", () => {
  const refused = () => {
    throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES", syscall: "open" });
  };
  test.each([
    { id: "its skills", hides: /SKILL\.md$/ },
    { id: "the record of what is ours", hides: /svc-skill-config\.json$/ },
  ])("is reported with the next step, and nothing there is called foreign: $id", ({ hides }) => {
    using fixture = setup();
    fixture.install();
    const files: Files = {
      ...fixture.files,
      read: (path, policy) => (hides.test(path) ? refused() : fixture.files.read(path, policy)),
    };
    const place = { tool: "claude", home: fixture.home };
    const advice = `${fixture.home} cannot be read by this user (EACCES). Make it readable, or name another home with --home`;
    const storeRoot = join(fixture.home, "store");
    expect(() => installSkills({ files, storeRoot }, { ...place, projection: "copy", skills })).toThrow(
      advice,
    );
    expect(() => uninstallSkills(files, place, skills)).toThrow(advice);
    expect(skillStates(files, place, skills).map(({ state }) => state)).toEqual(
      skills.map(() => "unreadable"),
    );
  });
});

describe("uninstalling skills", () => {
  const uninstall = (fixture: ReturnType<typeof setup>, given = skills) =>
    uninstallSkills(fixture.files, { tool: "claude", home: fixture.home }, given).map(
      (one) => `${one.outcome}${one.outcome === "kept" ? ` ${one.why}` : ""}`,
    );

  test.each(["copy", "symlink"] as const)("as %s leaves nothing of ours behind", (projection) => {
    using fixture = setup();
    fixture.install(projection);
    expect(uninstall(fixture)).toEqual(skills.map(() => "removed"));
    expect([readdirSync(fixture.home), readdirSync(join(fixture.home, "skills"))]).toEqual([["skills"], []]);
    expect(uninstall(fixture)).toEqual(skills.map(() => "absent"));
  });

  test("an older version's text goes too, and skills that this version no longer has", () => {
    using fixture = setup();
    fixture.install("copy", [...newer, { name: "svc-former", text: "former" }]);
    expect(uninstall(fixture)).toEqual([...skills, first].map(() => "removed"));
    expect(readdirSync(join(fixture.home, "skills"))).toEqual([]);
  });

  test("what a person edited, made or laid beside stays, and is reported each time", () => {
    using fixture = setup();
    const [one, two, three] = skills.map((skill) => skill.name);
    mkdirSync(join(fixture.at(one ?? ""), ".."), { recursive: true });
    writeFileSync(fixture.at(one ?? ""), "my own");
    fixture.install();
    writeFileSync(fixture.at(two ?? ""), "edited");
    writeFileSync(join(fixture.at(three ?? ""), "../notes.md"), "mine");
    expect(uninstall(fixture)).toEqual(["kept foreign", "kept edited", "removed", "removed"]);
    expect(readFileSync(fixture.at(two ?? ""), "utf8")).toBe("edited");
    expect(readdirSync(join(fixture.at(three ?? ""), ".."))).toEqual(["notes.md"]);
    // A file of a person's own in the folder of a skill that is gone is the person's.
    expect(uninstall(fixture)).toEqual(["kept foreign", "kept edited", "kept foreign", "absent"]);
  });

  test("the same text that somebody carried here is not ours", () => {
    using fixture = setup();
    fixture.install();
    rmSync(join(fixture.home, ".svc"), { recursive: true });
    expect(uninstall(fixture)).toEqual(skills.map(() => "kept foreign"));
  });

  test("a link whose target is gone is removed", () => {
    using fixture = setup();
    fixture.install("symlink");
    rmSync(join(fixture.home, "..", "store"), { recursive: true });
    expect(uninstall(fixture)).toEqual(skills.map(() => "removed"));
    expect(readdirSync(join(fixture.home, "skills"))).toEqual([]);
  });
});
