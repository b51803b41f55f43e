import { renderJson } from "../../../protocol/json.ts";
import type { TeamRecord } from "../../../protocol/team-file.ts";
import type { Files } from "../../../system/files.ts";
import { readTeamRecord } from "../../sessions/team-record.ts";

/** The name under which an agent of a file runs. Pure. */
export function prefixedName(prefix: string, member: string): string {
  return prefix === "" ? member : `${prefix}-${member}`;
}

/** `folder`: of this team. Throws `precondition_failed` when the record is there and cannot be read. */
export function createTeamStore(files: Files, folder: string, teamFile: string) {
  const path = `${folder}/agents.json`;

  const read = () => readTeamRecord(files, path)?.agents ?? {};
  const prefix = () => readTeamRecord(files, path)?.prefix ?? "";

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
