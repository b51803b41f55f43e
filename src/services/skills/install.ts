import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { renderJson } from "../../protocol/json.ts";
import { Strict } from "../../protocol/wire.ts";
import type { Files } from "../../system/files.ts";
import type { Skill } from "./catalog.ts";

export type Projection = "copy" | "symlink";

/** What became of one skill. `kept`: somebody else made or edited it, so it was left alone. */
export type SkillOutcome =
  | { name: string; outcome: "installed" | "updated" | "unchanged" }
  | { name: string; outcome: "kept"; why: "edited" | "foreign" };

/** Which skills in a home are ours, by the sha256 of what we wrote. */
const OwnershipRecord = Strict({
  schema_version: Type.Literal(1),
  tool: Type.String(),
  skills: Type.Record(Type.String(), Type.String({ description: "sha256 of SKILL.md as we wrote it" })),
});

export interface InstallDeps {
  files: Files;
  /** Where linked skills lie; absolute. */
  storeRoot: string;
}

/**
 * Puts `skills` into `<home>/skills/<name>/SKILL.md`, as files or as links to our own store. A folder that we did not
 * make, or whose text was changed since, is never overwritten. Idempotent; a newer version of ours updates what an
 * older one wrote. Returns what became of each, in order, and where the record of ownership lies. Source:
 * spec/mailbox-agui.md D.
 */
export function installSkills(
  deps: InstallDeps,
  wish: { tool: string; home: string; projection: Projection; skills: readonly Skill[] },
): { outcomes: SkillOutcome[]; configPath: string } {
  const { files } = deps;
  const folder = join(wish.home, ".svc", "system-skills", wish.tool);
  const configPath = join(folder, "svc-skill-config.json");
  const owned = readOwned(files, configPath);
  const outcomes = wish.skills.map((skill) => {
    const outcome = installOne(deps, wish, skill, owned[skill.name]);
    if (outcome.outcome !== "kept") owned[skill.name] = digest(skill.text);
    return outcome;
  });
  files.ensureDirectory("file:skill-record", folder);
  const record = { schema_version: 1, tool: wish.tool, skills: owned };
  files.write("file:skill-record", configPath, renderJson(record));
  return { outcomes, configPath };
}

function installOne(
  { files, storeRoot }: InstallDeps,
  wish: { home: string; projection: Projection },
  { name, text }: Skill,
  written: string | undefined,
): SkillOutcome {
  const folder = join(wish.home, "skills", name);
  const path = join(folder, "SKILL.md");
  const present = files.exists(folder) || files.isLink(folder);
  const found = files.read(path);
  if (present && written === undefined && found !== text) return { name, outcome: "kept", why: "foreign" };
  if (found !== null && written !== undefined && digest(found) !== written && found !== text) {
    return { name, outcome: "kept", why: "edited" };
  }
  const linked = files.isLink(folder);
  if (found === text && linked === (wish.projection === "symlink")) return { name, outcome: "unchanged" };
  const besides = linked ? [] : files.list(folder).filter((file) => file !== "SKILL.md");
  if (wish.projection === "symlink" && besides.length > 0) return { name, outcome: "kept", why: "edited" };
  // Files that a person put beside a copy of ours stay.
  if (linked || wish.projection === "symlink") files.remove("file:skill", folder);
  if (wish.projection === "copy") {
    writeSkill(files, folder, text);
  } else {
    const stored = join(storeRoot, digest(text).slice(0, 16), name);
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

/** Empty when there is no record that can be read: then nothing there counts as ours. */
function readOwned(files: Files, path: string): Record<string, string> {
  try {
    const record: unknown = JSON.parse(files.read(path) ?? "null");
    return Value.Check(OwnershipRecord, record) ? { ...record.skills } : {};
  } catch {
    return {};
  }
}

function digest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
