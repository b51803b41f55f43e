import { basename, dirname } from "node:path";
import { Value } from "@sinclair/typebox/value";
import type { TeamOwner } from "../../protocol/files.ts";
import { TeamRecord } from "../../protocol/team-file.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";

/** The folder of one team below `folder`, which is of all teams. Pure. */
export function teamFolder(folder: string, teamFile: string): string {
  return `${folder}/${teamNameOf(teamFile)}-${sha256(teamFile).slice(0, 16)}`;
}

/** How people call a team: the folder that its file is in. Pure. */
export function teamNameOf(teamFile: string): string {
  return basename(dirname(teamFile))
    .replace(/[^\w-]/g, "_")
    .slice(0, 40);
}

/**
 * Names of the file whose agents run under others, because of a prefix. A damaged record has none. `folder`:
 * of all teams.
 */
export function readPrefixed(
  files: Pick<Files, "exists" | "read">,
  folder: string,
  teamFile: string,
): string[] {
  try {
    const { agents, prefix } = readTeamRecord(files, `${teamFolder(folder, teamFile)}/agents.json`) ?? {};
    return prefix ? Object.keys(agents ?? {}) : [];
  } catch {
    return [];
  }
}

/**
 * The id of the agent that an `up` of an earlier version launched for a name of the file: the agent's record
 * does not say who owns it. Null without one; a damaged record has none. `folder`: of all teams.
 */
export function readAgentOfEarlierUp(
  files: Pick<Files, "exists" | "read">,
  folder: string,
  { file, member }: TeamOwner,
): string | null {
  try {
    const entry = readTeamRecord(files, `${teamFolder(folder, file)}/agents.json`)?.agents[member];
    return entry && !entry.owned ? entry.agent_id : null;
  } catch {
    return null;
  }
}

/** Null where there is none. Throws `precondition_failed` for one that cannot be read. */
export function readTeamRecord(files: Pick<Files, "exists" | "read">, path: string): TeamRecord | null {
  if (!files.exists(path)) return null;
  try {
    const stored: unknown = JSON.parse(files.read(path) ?? "");
    if (Value.Check(TeamRecord, stored)) return stored;
  } catch {
    // Reported below.
  }
  throw new ServiceError(
    "precondition_failed",
    `the record of this team is damaged: ${path}. Without it nothing is known to be launched by \`up\`; remove it to begin again`,
  );
}
