import { Type } from "@sinclair/typebox";
import { parseJson } from "../../protocol/json.ts";
import { maxListed, NonBlank, SchemaVersion1, Strict } from "../../protocol/wire.ts";
import type { Files } from "../../system/files.ts";

/** Where an answer comes from: `unknown` is a tool of an agent whose session is not known. */
export type Answerer = { is: "person" } | { is: "unknown" } | { is: "agent"; id: string; name: string };

/** The operator's own file; no folder of an agent has one. */
const AnswersFile = Strict({
  schema_version: SchemaVersion1,
  permissions_by: Type.Array(NonBlank("name of an agent that may grant permissions to others"), {
    maxItems: maxListed,
  }),
});

/**
 * The agents that the operator lets grant permissions. A file that another user can change, or that is
 * damaged, lets none.
 */
export function readGranters(files: Pick<Files, "readOwn">, path: string): readonly string[] {
  return parseJson(AnswersFile, files.readOwn(path))?.permissions_by ?? [];
}

/**
 * Why this one may not answer, or null. No agent answers its question: a user has to decide it. A permission
 * is for people, unless the operator lets the agent grant them to others. Pure.
 */
export function refuseAnswerer(
  by: Answerer,
  asked: { agentId: string | null; isPermission: boolean },
  granters: readonly string[],
): string | null {
  if (by.is === "person") return null;
  if (by.is === "unknown") return "only the session of an agent that svc runs can answer, and this is none";
  if (by.id === asked.agentId) return `"${by.name}" cannot answer its own question: a person answers it`;
  if (!asked.isPermission || granters.includes(by.name)) return null;
  return `"${by.name}" may not grant permissions: a person answers, or the operator lists it under permissions_by in answers.json of svc's configuration folder`;
}
