import { childPath, isOneName } from "../../../../system/contained-path.ts";
import type { Files } from "../../../../system/files.ts";
import {
  type Conversation,
  type Conversations,
  dayFolders,
  transcriptPaths,
} from "../../../sessions/conversations.ts";
import { isSamePrompt, type PromptKey } from "../../../terminal/keys.ts";
import { createOpencodeSource } from "./opencode-source.ts";
import { createRecordFile } from "./record-file.ts";
import { lineReaders } from "./record-lines.ts";
import { readScreenLine } from "./screen-turn.ts";
import type { TurnHead, TurnSource } from "./turn-source.ts";

/** Where the turns of an agent in a terminal are read. */
export type SessionSources = ReturnType<typeof createSessionSources>;

/** Of the newest records that are looked into. */
const maxCandidates = 8;

export function createSessionSources(deps: {
  files: Files;
  sessionRoot: string;
  tool: string;
  workdir: string;
  conversations: Conversations;
  nowMs: () => number;
}) {
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
    /** Records of the tool alone, oldest first. */
    ofTool,
    // A file of ours that was never written is nothing that is missing.
    /** Those, and the turns that were read from the screen and that no record of the tool has. */
    all(): TurnSource[] {
      const recorded = ofTool();
      const isThere = (at: number) => files.exists(at === 0 ? paths.screenBefore : paths.screen);
      return [
        ...recorded,
        ...screen.filter((_, at) => isThere(at)).map((source) => leaveOut(source, recorded)),
      ];
    },
    /**
     * Looks among the newest records of the tool for one with this prompt since `sinceMs`, and notes its
     * conversation: for a tool that does not report which one is its own. True when one was found.
     */
    async discover(prompt: PromptKey, sinceMs: number): Promise<boolean> {
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
        const id = readConversationId(files, names.at(-1) ?? "", path());
        conversations.note(id, childPath(recordRoot, ...names));
        return true;
      }
      return false;
    },
  };
}

/** A tool's own time of a prompt, before and after the moment at which we saw its turn begin. */
const [beforeMs, afterMs] = [3000, 5000];

/**
 * The turns of `screen` that none of `recorded` has. A turn is read from the screen where the tool's record
 * is not known some moments after its end; a tool that reports late makes it known then.
 */
function leaveOut(screen: TurnSource, recorded: readonly TurnSource[]): TurnSource {
  return {
    ...screen,
    async heads() {
      const heads = await screen.heads();
      if (heads.length === 0) return heads;
      const others = (await Promise.all(recorded.map((source) => source.heads()))).flat();
      return heads.filter(({ promptKey, startedMs }) => {
        const isSame = (other: TurnHead) =>
          startedMs !== null &&
          other.startedMs !== null &&
          other.startedMs >= startedMs - beforeMs &&
          other.startedMs <= startedMs + afterMs &&
          isSamePrompt(other.promptKey, promptKey);
        return !others.some(isSame);
      });
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
        .filter((name) => files.read(childPath(recordRoot, name, ".project_root"))?.trim() === workdir)
        .map((name) => [name, "chats"]);
    default:
      return [];
  }
}

/** Of a record's first line, in bytes: enough for what it says of the conversation. */
const firstLineBytes = 1024;

/**
 * The id with which the tool continues the conversation of a record. It is the end of the record's name; Gemini
 * CLI puts eight characters of it there and the whole one into the first line. Otherwise the name.
 */
function readConversationId(files: Files, name: string, path: string): string {
  const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
  const stem = name.replace(/\.jsonl$/, "");
  const inName = new RegExp(`${id.source}$`).exec(stem)?.[0];
  if (inName !== undefined) return inName;
  const start = new TextDecoder().decode(files.readPart(path, 0, firstLineBytes));
  return new RegExp(`^\\{"sessionId":"(${id.source})"`).exec(start)?.[1] ?? stem;
}
