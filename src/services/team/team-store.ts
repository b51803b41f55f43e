import { basename, dirname } from "node:path";
import { Value } from "@sinclair/typebox/value";
import type { TeamOwner } from "../../protocol/files.ts";
import { renderJson } from "../../protocol/json.ts";
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

/** The name under which an agent of a file runs. Pure. */
export function prefixedName(prefix: string, member: string): string {
  return prefix === "" ? member : `${prefix}-${member}`;
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
    const { agents, prefix } = readRecord(files, `${teamFolder(folder, teamFile)}/agents.json`) ?? {};
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
    const entry = readRecord(files, `${teamFolder(folder, file)}/agents.json`)?.agents[member];
    return entry && !entry.owned ? entry.agent_id : null;
  } catch {
    return null;
  }
}

/** Null where there is none. Throws `precondition_failed` for one that cannot be read. */
function readRecord(files: Pick<Files, "exists" | "read">, path: string): TeamRecord | null {
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

/** `folder`: of this team. Throws `precondition_failed` when the record is there and cannot be read. */
export function createTeamStore(files: Files, folder: string, teamFile: string) {
  const path = `${folder}/agents.json`;

  const read = () => readRecord(files, path)?.agents ?? {};
  const prefix = () => readRecord(files, path)?.prefix ?? "";

  function write(change: Pick<TeamRecord, "agents" | "prefix">): void {
    files.ensureDirectory("file:team-folder", folder);
    const record: TeamRecord = { schema_version: 1, team_file: teamFile, ...change };
    files.write("file:team", path, renderJson(record));
  }

  const set = (agent: string, entry: TeamRecord["agents"][string]) =>
    write({ agents: { ...read(), [agent]: entry }, prefix: prefix() });

  return {
    read,
    /** Before the names of all agents of the file; empty without one. */
    prefix,
    setPrefix: (wanted: string): void => write({ agents: read(), prefix: wanted }),
    set,
    /** `made` null: it is gone. */
    setReminder(agent: string, name: string, made: { reminder_id: string; sha256: string } | null): void {
      const entry = read()[agent];
      if (!entry) return;
      const others = Object.entries(entry.reminders ?? {}).filter(([other]) => other !== name);
      const reminders = Object.fromEntries([...others, ...(made ? [[name, made] as const] : [])]);
      set(agent, { ...entry, reminders });
    },
  };
}
