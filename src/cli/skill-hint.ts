import type { Manifest } from "../protocol/files.ts";
import { isSkillInstalled } from "../services/notifier/skill.ts";
import { ownHomes, skillTools } from "../services/skills/home.ts";
import { quoteShell } from "../services/terminal/shell-word.ts";
import type { Files } from "../system/files.ts";
import type { CliIo } from "./command.ts";

/**
 * What to type so that a session's tool finds the mail-round skill; null where it finds it already, and for a tool
 * whose skills we do not know. The project's folder is read by every tool, whatever its home.
 */
export function skillHint(
  files: Pick<Files, "exists">,
  manifest: Manifest,
  io: Pick<CliIo, "env" | "home" | "cwd">,
): string | null {
  const { tool, working_directory: cwd, launch_plan } = manifest;
  const known = skillTools.find((one) => one === tool);
  if (known === undefined || isSkillInstalled(files, manifest, io.env)) return null;
  const project = ownHomes(known, { env: {}, cwd, home: io.home })[1] ?? cwd;
  const usual = cwd === io.cwd && launch_plan.home_selector.home_path === null;
  const there = usual ? "" : ` --home ${quoteShell(project)}`;
  return `svc-mgr system-skills install --tool ${known}${there}`;
}
