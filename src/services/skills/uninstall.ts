import type { Files } from "../../system/files.ts";
import type { Skill } from "./catalog.ts";
import { readOwned, skillFolder, stateOf, type ToolPlace, writeOwned } from "./ownership.ts";

/** What became of one skill. `kept`: somebody else made or edited it, so it was left alone. */
export type RemovalOutcome =
  | { name: string; outcome: "removed" | "absent" }
  | { name: string; outcome: "kept"; why: "edited" | "foreign" };

/**
 * Removes from a place what we put there and nobody changed, skills of older versions included. What a person made,
 * edited or laid beside a skill stays; so does the record of what was kept. Idempotent. Returns what became of each
 * skill: those of `skills` first, in order. Throws `precondition_failed` for a place that cannot be read.
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
