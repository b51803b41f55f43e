import { Type } from "@sinclair/typebox";
import type { RegistryRecord, TeamOwner } from "../../protocol/files.ts";
import { parseJson } from "../../protocol/json.ts";
import { maxListed, NonBlank, SchemaVersion1, Strict } from "../../protocol/wire.ts";
import type { Files } from "../../system/files.ts";
import type { FoundAgent } from "../sessions/find.ts";

/**
 * Where an answer comes from: `unknown` is a tool of an agent whose session is not known. `team`: null for an
 * agent that was launched by hand, undefined for one without a record: no entry means it.
 */
export type Answerer =
  | { is: "person" }
  | { is: "unknown" }
  | { is: "agent"; id: string; name: string; team: TeamOwner | null | undefined };

/**
 * The agent that a session is of. Its record says who it is: the manifest may lie in a folder that the agent
 * writes. Pure.
 */
export function toAnswerer(
  { manifest, manifestPath }: Pick<FoundAgent, "manifest" | "manifestPath">,
  records: readonly RegistryRecord[],
): Answerer {
  const record = records.find(({ runtime }) => runtime.manifest_path === manifestPath);
  const { agent_id: id, agent_name: name } = record ?? manifest;
  return { is: "agent", id, name, team: record && (record.team ?? null) };
}

/** An agent that was launched by hand, by its name, or an agent of a team, by its name in this file. */
type Granter = string | { name: string; team_file: string };

/** The operator's own file; no folder of an agent has one. */
const AnswersFile = Strict({
  schema_version: SchemaVersion1,
  permissions_by: Type.Array(
    Type.Union([
      NonBlank("name of an agent that was launched by hand and may grant permissions to others"),
      Strict({
        name: NonBlank("name of an agent in the team's file"),
        team_file: NonBlank("path of that svc.yaml, without links"),
      }),
    ]),
    { maxItems: maxListed },
  ),
});

/** Who may grant permissions. `fault`: why the file counts for nothing, as a sentence. */
interface Granters {
  entries: readonly Granter[];
  fault: string | null;
}

/**
 * The agents that the operator lets grant permissions. A file that another user can change, or that is
 * damaged, lets none.
 */
export function readGranters(files: Pick<Files, "exists" | "read">, path: string): Granters {
  if (!files.exists(path)) return { entries: [], fault: null };
  const file = parseJson(AnswersFile, files.read(path));
  if (file) return { entries: file.permissions_by, fault: null };
  return { entries: [], fault: `${path} lets no agent do so: it is damaged, or not this user's alone` };
}

/**
 * Why this one may not answer, or null. No agent answers its question: a user has to decide it. A permission
 * is for people, unless the operator lets the agent grant them to others. Pure.
 */
export function refuseAnswerer(
  by: Answerer,
  asked: { agentId: string | null; isPermission: boolean },
  granters: Granters,
): string | null {
  if (by.is === "person") return null;
  if (by.is === "unknown") return "only the session of an agent that svc runs can answer, and this is none";
  if (by.id === asked.agentId) return `"${by.name}" cannot answer its own question: a person answers it`;
  if (!asked.isPermission || granters.entries.some((one) => means(one, by))) return null;
  const fault = granters.fault === null ? "" : `. ${granters.fault}`;
  return `"${by.name}" may not grant permissions: a person answers, or the operator lists it under permissions_by in answers.json of svc's configuration folder${fault}`;
}

/** A name alone means no agent of a team: the author of a svc.yaml chooses the names in it. */
function means(granter: Granter, by: { name: string; team: TeamOwner | null | undefined }): boolean {
  if (typeof granter === "string") return by.team === null && granter === by.name;
  return by.team?.member === granter.name && by.team.file === granter.team_file;
}
