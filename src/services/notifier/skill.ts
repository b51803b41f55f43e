import type { Manifest } from "../../protocol/files.ts";
import type { Files } from "../../system/files.ts";
import { readHomes, skillPath } from "../skills/ownership.ts";
import { mailRoundSkill } from "./render.ts";

/**
 * Whether the tool of this session finds the mail-round skill: in a folder that it reads, with the home it was
 * launched with. Source: spec/mailbox-agui.md D.
 */
export function isSkillInstalled(
  files: Pick<Files, "exists">,
  manifest: Manifest,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const { tool, working_directory: cwd, launch_plan } = manifest;
  const { env_var: variable, home_path: chosen } = launch_plan.home_selector;
  const given = variable !== null && chosen !== null ? { ...env, [variable]: chosen } : env;
  const homes = readHomes(tool, { env: given, cwd, home: env["HOME"] ?? cwd });
  return homes.some((home) => files.exists(skillPath(home, mailRoundSkill)));
}
