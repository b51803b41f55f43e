import { join } from "node:path";
import { childPath } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";
import type { Skill } from "./catalog.ts";
import {
  digest,
  readOwned,
  recordPath,
  skillFolder,
  stateOf,
  type ToolPlace,
  writeOwned,
} from "./ownership.ts";

export type Projection = "copy" | "symlink";

/** What became of one skill. `kept`: somebody else made or edited it, so it was left alone. */
type SkillOutcome =
  | { name: string; outcome: "installed" | "updated" | "unchanged" }
  | { name: string; outcome: "kept"; why: "edited" | "foreign" };

interface InstallDeps {
  files: Files;
  /** Where linked skills lie; absolute. */
  storeRoot: string;
}

/**
 * Puts `skills` into `<home>/skills/<name>/SKILL.md`, as files or as links to our own store. A folder that we
 * did not make, or whose text was changed since, is never overwritten. Idempotent; a newer version of ours
 * updates what an older one wrote. Returns what became of each, in order, and where the record of ownership
 * lies. Throws `precondition_failed` for a home that cannot be read. Source: spec/mailbox-agui.md D.
 */
export function installSkills(
  deps: InstallDeps,
  wish: ToolPlace & { projection: Projection; skills: readonly Skill[] },
): { outcomes: SkillOutcome[]; configPath: string } {
  const { files } = deps;
  const owned = readOwned(files, wish);
  const outcomes = wish.skills.map((skill) => {
    const outcome = installOne(deps, wish, skill, owned[skill.name]);
    if (outcome.outcome !== "kept") owned[skill.name] = digest(skill.text);
    return outcome;
  });
  if (Object.keys(owned).length > 0) writeOwned(files, wish, owned);
  return { outcomes, configPath: recordPath(wish) };
}

function installOne(
  { files, storeRoot }: InstallDeps,
  wish: { home: string; projection: Projection },
  { name, text }: Skill,
  written: string | undefined,
): SkillOutcome {
  const folder = files.contained(wish.home, ["skills", name]);
  const state = stateOf(files, wish.home, { name, text, written });
  if (state === "edited" || state === "foreign") return { name, outcome: "kept", why: state };
  const linked = files.isLink(folder);
  if (state === "current" && linked === (wish.projection === "symlink"))
    return { name, outcome: "unchanged" };
  const besides = linked ? [] : files.list(folder).filter((file) => file !== "SKILL.md");
  if (wish.projection === "symlink" && besides.length > 0) return { name, outcome: "kept", why: "edited" };
  const present = files.exists(folder) || linked;
  const stored = childPath(storeRoot, digest(text).slice(0, 16), name);
  // What a person changed through the link of another home.
  if (
    wish.projection === "symlink" &&
    (files.read(join(stored, "SKILL.md"), { owner: "anyone" }) ?? text) !== text
  ) {
    return { name, outcome: "kept", why: "edited" };
  }
  // Files that a person put beside a copy of ours stay.
  if (linked || wish.projection === "symlink") files.remove("file:skill", folder);
  if (wish.projection === "copy") {
    writeSkill(files, folder, text);
  } else {
    writeSkill(files, stored, text);
    files.ensureDirectory("file:skill", join(wish.home, "skills"));
    files.symlink("file:skill", stored, folder);
  }
  return { name, outcome: present ? "updated" : "installed" };
}

function writeSkill(files: Files, folder: string, text: string): void {
  files.ensureDirectory("file:skill", folder);
  files.write("file:skill", join(folder, "SKILL.md"), text);
}

/** What became of one skill. `kept`: somebody else made or edited it, so it was left alone. */
type RemovalOutcome =
  | { name: string; outcome: "removed" | "absent" }
  | { name: string; outcome: "kept"; why: "edited" | "foreign" };

/**
 * Removes from a place what we put there and nobody changed, skills of older versions included. What a person
 * made, edited or laid beside a skill stays; so does the record of what was kept. Idempotent. Returns what
 * became of each skill: those of `skills` first, in order. Throws `precondition_failed` for a place that
 * cannot be read.
 */
export function uninstallSkills(files: Files, place: ToolPlace, skills: readonly Skill[]): RemovalOutcome[] {
  const owned = readOwned(files, place);
  const older = Object.keys(owned).filter((name) => !skills.some((skill) => skill.name === name));
  const texts = [...skills, ...older.map((name) => ({ name, text: null }))];
  const outcomes = texts.map(({ name, text }): RemovalOutcome => {
    const written = owned[name];
    const state = stateOf(files, place.home, { name, text, written });
    if (state === "edited" || state === "foreign") return { name, outcome: "kept", why: state };
    // The same text, and yet not from us: somebody carried it here.
    if (written === undefined && state === "current") return { name, outcome: "kept", why: "foreign" };
    delete owned[name];
    // A link of ours may lead nowhere by now.
    const dangling = written !== undefined && files.isLink(skillFolder(place.home, name));
    if (state === "absent" && !dangling) return { name, outcome: "absent" };
    removeSkill(files, place.home, name);
    return { name, outcome: "removed" };
  });
  writeOwned(files, place, owned);
  return outcomes;
}

function removeSkill(files: Files, home: string, name: string): void {
  const folder = files.contained(home, ["skills", name]);
  if (files.isLink(folder)) {
    files.remove("file:skill", folder);
    return;
  }
  files.removeFile("file:skill", files.contained(home, ["skills", name, "SKILL.md"]));
  if (files.list(folder).length === 0) files.remove("file:skill", folder);
}
