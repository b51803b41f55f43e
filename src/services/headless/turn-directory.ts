import { basename, join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { parseJson, renderJson } from "../../protocol/json.ts";
import { TurnInterrupt, TurnProcess, TurnRequest, TurnResult } from "../../protocol/turn-files.ts";
import type { TurnStatusRecord } from "../../protocol/turns.ts";
import { childPath } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";

/** The paths of one turn. */
export function turnPaths(folder: string) {
  return {
    folder,
    request: join(folder, "request.json"),
    prompt: join(folder, "prompt.txt"),
    lock: join(folder, "turn.lock"),
    process: join(folder, "process.json"),
    stdout: join(folder, "stdout.jsonl"),
    stderr: join(folder, "stderr.log"),
    events: join(folder, "canonical-events.jsonl"),
    interrupt: join(folder, "interrupt.json"),
    result: join(folder, "result.json"),
    exitCode: join(folder, "exitcode"),
  };
}

/** The record of one turn on disk; what is not there yet, or not whole, is null. */
export interface TurnDirectory {
  turnId: string;
  paths: ReturnType<typeof turnPaths>;
  request(): TurnRequest | null;
  process(): TurnProcess | null;
  interrupt(): TurnInterrupt | null;
  result(): TurnResult | null;
  /**
   * Durable for the claim to run the turn; a tool that was started does not outlive what would lose its id.
   */
  saveProcess(process: TurnProcess): void;
  /** The first request counts; later ones change nothing. */
  saveInterrupt(interrupt: TurnInterrupt): void;
  /** The final state, then the exit code as the last file of all. Only under the turn's lock, only once. */
  saveResult(result: TurnResult): void;
  /** Writes the exit code that `result` implies, if its writer ended before; else nothing. Safe anywhere. */
  completeRecord(result: TurnResult): void;
}

export function openTurn(files: Files, folder: string): TurnDirectory {
  const paths = turnPaths(folder);
  const load = <S extends TSchema>(schema: S, path: string) => parseJson(schema, files.read(path));
  const saveExitCode = (result: TurnResult) => {
    // The process of an agent may run on after its turn.
    const ended = result.signal ?? (result.status === "completed" ? "0" : "unknown");
    const code = result.returncode === null ? ended : String(result.returncode);
    files.write("file:turn-exitcode", paths.exitCode, `${code}\n`, { durable: false });
  };
  return {
    turnId: basename(folder),
    paths,
    request: () => load(TurnRequest, paths.request),
    process: () => load(TurnProcess, paths.process),
    interrupt: () => load(TurnInterrupt, paths.interrupt),
    result: () => load(TurnResult, paths.result),
    saveProcess: (process) =>
      files.write("file:turn-process", paths.process, renderJson(process), {
        durable: process.child_pid === null,
      }),
    saveInterrupt(interrupt) {
      if (files.exists(paths.interrupt)) return;
      files.write("file:turn-interrupt", paths.interrupt, renderJson(interrupt));
    },
    saveResult(result) {
      files.write("file:turn-result", paths.result, renderJson(result));
      saveExitCode(result);
    },
    completeRecord(result) {
      if (files.exists(paths.exitCode)) return;
      files.removeLeftovers("file:leftovers", folder);
      saveExitCode(result);
    },
  };
}

/** All turns of one session. */
export type TurnDirectories = ReturnType<typeof createTurnDirectories>;

/** Turns that a file system may date alike. */
const sameMoment = 8;

const turnIdPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

export function createTurnDirectories(deps: { files: Files; sessionRoot: string }) {
  const { files } = deps;
  const root = join(deps.sessionRoot, "manifest.turn-artifacts");
  const folderOf = (turnId: string) => {
    if (!turnIdPattern.test(turnId)) throw new ServiceError("invalid_request", "turn_id: not a turn id");
    return childPath(root, turnId);
  };
  /** A folder behind a link is not ours. */
  const isOurs = (folder: string) => !files.isLink(root) && !files.isLink(folder);
  const all = () =>
    (files.isLink(root) ? [] : files.list(root))
      .filter((name) => turnIdPattern.test(name) && !files.isLink(childPath(root, name)))
      .map((name) => openTurn(files, childPath(root, name)));
  return {
    /** `manifest.turn-artifacts` of the session. */
    root,
    /** Null when there is no such turn; an id that is none of ours names no folder, and a link is no turn. */
    find(turnId: string): TurnDirectory | null {
      if (!turnIdPattern.test(turnId)) return null;
      const folder = childPath(root, turnId);
      return isOurs(folder) && files.exists(turnPaths(folder).request) ? openTurn(files, folder) : null;
    },
    /**
     * Makes the directory with its request.json. Throws `conflict` when the turn exists, `precondition_failed`
     * when the folder of turns is a link.
     */
    create(request: TurnRequest): TurnDirectory {
      const folder = folderOf(request.turn_id);
      if (files.isLink(root)) {
        throw new ServiceError(
          "precondition_failed",
          `${basename(root)} is a symbolic link: put the folder back`,
        );
      }
      if (files.exists(folder) || files.isLink(folder))
        throw new ServiceError("conflict", `turn ${request.turn_id} exists already`);
      files.ensureDirectory("file:turn-folder", folder);
      const turn = openTurn(files, folder);
      files.write("file:turn-request", turn.paths.request, renderJson(request));
      return turn;
    },
    /** In no particular order. */
    all,
    // The request is written once, when the turn gets its number: only the newest need be read.
    /** Newest first, by index. */
    list: (limit: number): TurnDirectory[] =>
      all()
        .map((turn) => ({ turn, writtenMs: files.stat(turn.paths.request)?.modifiedMs ?? 0 }))
        .sort((left, right) => right.writtenMs - left.writtenMs)
        .slice(0, limit + sameMoment)
        .map(({ turn }) => ({ turn, index: turn.request()?.turn_index ?? -1 }))
        .filter(({ index }) => index >= 0)
        .sort((left, right) => right.index - left.index)
        .slice(0, limit)
        .map(({ turn }) => turn),
  };
}

/**
 * The public record of a turn; `active` until it has its final state, `unknown` where that was lost: the exit
 * code is written last. Null for a directory without a request.
 */
export function toTurnStatus(files: Files, turn: TurnDirectory): TurnStatusRecord | null {
  const request = turn.request();
  if (!request) return null;
  // First: the exit code is written after the result, which may come while this is read.
  const hasEnded = files.exists(turn.paths.exitCode);
  const result = turn.result();
  const present = (path: string) => (files.exists(path) ? path : null);
  const lost = hasEnded && result === null;
  return {
    tracked_agent_id: request.tracked_agent_id,
    turn_id: request.turn_id,
    turn_index: request.turn_index,
    status: result?.status ?? (lost ? "unknown" : "active"),
    started_at_utc: turn.process()?.launched_at_utc ?? request.requested_at_utc,
    completed_at_utc: result?.completed_at_utc ?? null,
    returncode: result?.returncode ?? null,
    completion_source:
      result && result.completion_source !== "not_started" ? sourceOf(request, result) : null,
    decided_by: result?.completion_source ?? null,
    stdout_path: present(turn.paths.stdout),
    stderr_path: present(turn.paths.stderr),
    status_path: present(turn.paths.exitCode),
    history_summary: result?.history_summary ?? null,
    error: lost ? "the turn has ended and its result.json is missing or damaged" : (result?.error ?? null),
  };
}

/** What ended a turn: the answer of an agent that runs on, else the end of its process. */
function sourceOf({ acp }: TurnRequest, { completion_source: source }: TurnResult): string {
  return acp && source === "terminal_event" ? "stop_reason" : "process_exit";
}
