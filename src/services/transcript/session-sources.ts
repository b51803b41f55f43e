import { Value } from "@sinclair/typebox/value";
import type { TurnEvent, TurnStatusRecord } from "../../protocol/turns.ts";
import { TokenUsage } from "../../protocol/usage.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";
import { fieldsOf, itemsOf, textOf } from "../headless/json-fields.ts";
import type { TurnDirectories, TurnDirectory } from "../headless/turn-directory.ts";
import type { TurnReader } from "../headless/turn-reader.ts";
import { isSamePrompt, keyOfText, type PromptKey } from "../terminal/keys.ts";
import { type Conversation, type Conversations, dayFolders, transcriptPaths } from "./conversations.ts";
import { createOpencodeSource } from "./opencode-source.ts";
import { createRecordFile } from "./record-file.ts";
import { lineReaders } from "./record-lines.ts";
import { readScreenLine } from "./screen-turn.ts";
import { createTurnFold, type TurnItem, type TurnSource } from "./turn-source.ts";

/** More turns than this are not paged through. */
const maxTurns = 5000;

/** The turns of a headless agent, from their own events. */
export function createHeadlessSource(deps: { directories: TurnDirectories; reader: TurnReader }): TurnSource {
  const { directories, reader } = deps;
  const promptOf = (turn: TurnDirectory) => turn.request()?.prompt ?? null;
  return {
    gap: () => null,
    damagedLines: () => 0,
    async heads() {
      return directories
        .list(maxTurns)
        .flatMap((turn) => {
          const request = turn.request();
          if (!request) return [];
          const startedMs = parseTimestamp(request.requested_at_utc);
          return [{ turnId: turn.turnId, startedMs, promptKey: keyOfText(request.prompt) }];
        })
        .reverse();
    },
    async read(turnId) {
      const directory = directories.find(turnId);
      const record = reader.read(turnId);
      if (!directory || !record) return null;
      const fold = createTurnFold();
      const prompt = promptOf(directory);
      if (prompt !== null)
        fold.add({ kind: "prompt", text: prompt, atMs: parseTimestamp(record.started_at_utc) });
      let cut = false;
      for (const event of reader.events(turnId, 0) ?? []) {
        for (const item of readTurnEvent(event)) fold.add(item);
        const { shortened } = event.payload?.data ?? {};
        if (event.kind === "assistant" && Array.isArray(shortened)) cut = true;
      }
      return {
        ...withRecord(fold.turn({ over: record.status !== "active" }), record),
        turnId,
        source: "headless",
        evidence: "the events of the turn, canonical-events.jsonl",
        conversationId: directory.result()?.session_id ?? null,
        cut,
      };
    },
  };
}

/** The record of the turn knows how it ended; its events may not. */
function withRecord<T extends { status: string; error: string | null }>(turn: T, record: TurnStatusRecord) {
  const status = record.status === "active" ? ("running" as const) : record.status;
  const endedMs = record.completed_at_utc === null ? null : parseTimestamp(record.completed_at_utc);
  return { ...turn, status, error: record.error, endedMs };
}

/** What a canonical event says of the turn. Pure. */
function readTurnEvent(event: TurnEvent): TurnItem[] {
  const data = event.payload?.data ?? {};
  const atMs = parseTimestamp(event.timestamp_utc);
  const id = textOf(data["action_id"]);
  switch (event.kind) {
    case "assistant":
      return [{ kind: "text", text: textOf(data["text"]) ?? event.message, key: null, atMs }];
    case "action_request":
      return [
        {
          kind: "tool_call",
          id,
          name: textOf(data["name"]) ?? "action",
          input: data["arguments"] ?? {},
          atMs,
        },
      ];
    case "action_result": {
      const status = textOf(data["status"]);
      const ok = status === "success" || status === "completed" ? true : status === "error" ? false : null;
      const output = textOf(fieldsOf(data)["result_summary"]) ?? "";
      return [{ kind: "tool_result", id, ok, output, atMs }];
    }
    case "completion":
      return itemsOf(data["tokens"]).flatMap((one, at) => {
        if (!Value.Check(TokenUsage, one)) return [];
        const { model, ...tokens } = one;
        return [{ kind: "usage", key: String(at), model, tokens, atMs }];
      });
    default:
      return [];
  }
}

/** Where the turns of an agent in a terminal are read. */
export interface SessionSources {
  /** Records of the tool alone, oldest first. */
  ofTool(): TurnSource[];
  /** Those, and the turns that were read from the screen. */
  all(): TurnSource[];
  /**
   * Looks among the newest records of the tool for one with this prompt since `sinceMs`, and notes its conversation: for a
   * tool that does not report which one is its own. True when one was found.
   */
  discover(prompt: PromptKey, sinceMs: number): Promise<boolean>;
}

/** Of the newest records that are looked into. */
const maxCandidates = 8;

export function createSessionSources(deps: {
  files: Files;
  sessionRoot: string;
  tool: string;
  workdir: string;
  conversations: Conversations;
  nowMs: () => number;
}): SessionSources {
  const { files, tool, conversations } = deps;
  const paths = transcriptPaths(deps.sessionRoot);
  const known = new Map<string, TurnSource>();
  const screen = [paths.screenBefore, paths.screen].map((path) =>
    createRecordFile(files, {
      what: "what the screen showed",
      source: "screen",
      conversationId: null,
      reader: readScreenLine,
      path: () => path,
    }),
  );

  function open(conversation: Conversation): TurnSource | null {
    const path = () => conversations.pathOf(conversation);
    if (conversation.tool === "opencode") {
      return createOpencodeSource(files, { path, conversationId: conversation.id });
    }
    const reader = Object.hasOwn(lineReaders, conversation.tool) ? lineReaders[conversation.tool] : undefined;
    if (!reader) return null;
    const what = `the record of ${conversation.tool}`;
    return createRecordFile(files, { what, source: "tool", conversationId: conversation.id, reader, path });
  }

  function ofTool(): TurnSource[] {
    return conversations.list().flatMap((conversation) => {
      const source = known.get(conversation.id) ?? open(conversation);
      if (source) known.set(conversation.id, source);
      return source ?? [];
    });
  }

  return {
    ofTool,
    // A file of ours that was never written is nothing that is missing.
    all: () => [
      ...ofTool(),
      ...screen.filter((_, at) => files.exists(at === 0 ? paths.screenBefore : paths.screen)),
    ],
    async discover(prompt, sinceMs) {
      const { recordRoot } = conversations;
      const reader = Object.hasOwn(lineReaders, tool) ? lineReaders[tool] : undefined;
      if (recordRoot === null || !reader) return false;
      const folders = candidateFolders(files, {
        tool,
        recordRoot,
        workdir: deps.workdir,
        nowMs: deps.nowMs(),
      });
      const newest = folders
        .flatMap((names) =>
          files
            .list(childPath(recordRoot, ...names))
            .filter((name) => isOneName(name) && name.endsWith(".jsonl"))
            .map((name) => [...names, name]),
        )
        .map((names) => ({ names, facts: files.stat(childPath(recordRoot, ...names)) }))
        .filter(({ facts }) => (facts?.modifiedMs ?? 0) >= sinceMs)
        .sort((left, right) => (right.facts?.modifiedMs ?? 0) - (left.facts?.modifiedMs ?? 0))
        .slice(0, maxCandidates);
      for (const { names } of newest) {
        const path = () => files.contained(recordRoot, names, "file");
        const facts = { what: "a record", source: "tool" as const, conversationId: null, reader, path };
        const heads = await createRecordFile(files, facts).heads();
        const own = heads.findLast((head) => isSamePrompt(head.promptKey, prompt));
        if (own?.startedMs == null || own.startedMs < sinceMs) continue;
        conversations.note(toConversationId(names.at(-1) ?? ""), childPath(recordRoot, ...names));
        return true;
      }
      return false;
    },
  };
}

/** Where a tool keeps the records of conversations in a working folder. */
function candidateFolders(
  files: Files,
  { tool, recordRoot, workdir, nowMs }: { tool: string; recordRoot: string; workdir: string; nowMs: number },
): string[][] {
  switch (tool) {
    case "claude":
      return [[workdir.replace(/[^A-Za-z0-9]/g, "-").slice(0, 255)]];
    case "codex":
      return [-1, 0, 1].flatMap((days) => {
        const day = dayFolders(nowMs + days * 86_400_000);
        return day === null ? [] : [day];
      });
    case "gemini":
      return files
        .list(recordRoot)
        .filter(isOneName)
        .filter((name) => files.readOwn(childPath(recordRoot, name, ".project_root"))?.trim() === workdir)
        .map((name) => [name, "chats"]);
    default:
      return [];
  }
}

/** The conversation in a record's name: the last part of it that looks like an id. */
function toConversationId(name: string): string {
  const stem = name.replace(/\.jsonl$/, "");
  return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.exec(stem)?.[0] ?? stem;
}
