import { readFileSync } from "node:fs";
import { join } from "node:path";

export const loopGuide = "docs/guides/loops.md";

/** A skill that the loop guide shows in full. */
export interface GuideSkill {
  name: string;
  description: string;
  /** What stands below the front matter. */
  body: string;
  /** As a SKILL.md. */
  text: string;
}

/** The example skills of the loop guide, in its order. */
export function guideSkills(): GuideSkill[] {
  const guide = readFileSync(join(import.meta.dir, "../..", loopGuide), "utf8");
  return [...guide.matchAll(/^````markdown\n([\s\S]*?)^````$/gm)].map((match) => parseSkill(match[1] ?? ""));
}

export function parseSkill(text: string): GuideSkill {
  const [, name = "", description = "", body = ""] =
    /^---\nname: (.+)\ndescription: (.+)\n---\n([\s\S]*)$/.exec(text) ?? [];
  return { name, description, body, text };
}
