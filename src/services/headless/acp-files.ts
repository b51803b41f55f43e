import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { AcpAnswer, AcpBridgeRecord, AcpNextTurn, AcpQuestion } from "../../protocol/acp.ts";
import { parseJson, renderJson } from "../../protocol/json.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { isSameProcess, type KnownProcess } from "../sessions/process-tree.ts";

/** Where the bridge of an ACP session and its gateway meet. */
export function bridgePaths(sessionRoot: string) {
  const folder = join(sessionRoot, "acp");
  return {
    folder,
    host: join(folder, "host.json"),
    next: join(folder, "next.json"),
    lock: join(folder, "host.lock"),
  };
}

/** The question of a turn and its answer, in the folder of the turn. */
export const questionPaths = (turnFolder: string) => ({
  question: join(turnFolder, "question.json"),
  answer: join(turnFolder, "answer.json"),
});

const load = <S extends TSchema>(files: Pick<Files, "read">, schema: S, path: string) =>
  parseJson(schema, files.read(path));

export const readBridge = (files: Pick<Files, "read">, sessionRoot: string) =>
  load(files, AcpBridgeRecord, bridgePaths(sessionRoot).host);

export const readNextTurn = (files: Pick<Files, "read">, sessionRoot: string) =>
  load(files, AcpNextTurn, bridgePaths(sessionRoot).next)?.turn_id ?? null;

export const readQuestion = (files: Pick<Files, "read">, turnFolder: string) =>
  load(files, AcpQuestion, questionPaths(turnFolder).question)?.decision ?? null;

export const readAnswer = (files: Pick<Files, "read">, turnFolder: string) =>
  load(files, AcpAnswer, questionPaths(turnFolder).answer);

export function saveNextTurn(files: Files, sessionRoot: string, turnId: string): void {
  const { folder, next } = bridgePaths(sessionRoot);
  files.ensureDirectory("file:acp-folder", folder);
  files.write("file:acp-next", next, renderJson({ schema_version: 1, turn_id: turnId }), { durable: false });
}

/** The bridge that the record names, when it lives. */
export function livingBridge(processes: Processes, record: AcpBridgeRecord | null): KnownProcess | null {
  return record && living(processes, record.runner_pid, record.runner_start);
}

/** The agent process that the record names, when it lives. */
export function livingAgent(processes: Processes, record: AcpBridgeRecord | null): KnownProcess | null {
  return record?.child_pid ? living(processes, record.child_pid, record.child_start) : null;
}

function living(processes: Processes, pid: number, startToken: string | null): KnownProcess | null {
  if (startToken === null) return null;
  const known = { pid, startToken };
  return isSameProcess(processes, known) ? known : null;
}
