import { join } from "node:path";
import type { Manifest } from "../../protocol/files.ts";
import type { Files } from "../../system/files.ts";
import { mailRoundSkill } from "./render.ts";

/**
 * Whether the tool of this session finds the mail-round skill: in the home it was launched with, else in its own or
 * the universal folder of the person or of the working directory. Source: spec/mailbox-agui.md D.
 */
export function isSkillInstalled(
  files: Pick<Files, "exists">,
  manifest: Manifest,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const { tool, working_directory, launch_plan } = manifest;
  const chosen = launch_plan.home_selector.home_path;
  const folders = [`.${tool}`, ".agents"];
  const parents = [env["HOME"], working_directory].filter((path) => path !== undefined);
  const homes = chosen ? [chosen] : parents.flatMap((path) => folders.map((folder) => join(path, folder)));
  return homes.some((home) => files.exists(join(home, "skills", mailRoundSkill, "SKILL.md")));
}
