import { isAbsolute, join, relative, sep } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { parseJson, renderJson } from "../../protocol/json.ts";
import { toTimestamp } from "../../system/clock.ts";
import { childPath, PathRefused } from "../../system/contained-path.ts";
import type { Files } from "../../system/files.ts";
import { demoRecordRoot, type Environment } from "./roots.ts";

/** A conversation of a session's tool: what is needed to find its turns again, also after a restart. */
const Conversation = Type.Object({
  tool: Type.String({ maxLength: 100 }),
  id: Type.String({ maxLength: 200 }),
  /** Names below the tool's own folder of records; null where the id alone says where it is. */
  names: Type.Union([Type.Array(Type.String({ maxLength: 255 }), { maxItems: 16 }), Type.Null()]),
  noted_at_ms: Type.Number(),
});
export type Conversation = Static<typeof Conversation>;

const maxConversations = 200;
/** conversations.json */
const Conversations = Type.Object({
  schema_version: Type.Literal(1),
  conversations: Type.Array(Conversation, { maxItems: maxConversations }),
});

/** Files of a session that this module writes. */
export function transcriptPaths(sessionRoot: string) {
  const root = join(sessionRoot, "transcript");
  return {
    root,
    conversations: join(root, "conversations.json"),
    screen: join(root, "screen-turns.jsonl"),
    screenBefore: join(root, "screen-turns.1.jsonl"),
    lastScreen: join(root, "last-screen.json"),
  };
}

export type Conversations = ReturnType<typeof createConversations>;

/** `home`: that of another home of the tool, when the launch chose one. */
interface RecordRootFacts {
  tool: string;
  env: Environment;
  home: string | null;
}

/**
 * The folder below which a tool keeps the records of its conversations; a path that a tool reports counts
 * only below it. Null for a tool whose records we cannot read. Pure. Source: spec/security.md, rule 1.
 */
export function recordRootOf({ tool, env, home }: RecordRootFacts): string | null {
  const person = absolute(env["HOME"]) ?? "/";
  const chosen = (variable: string) => home ?? absolute(env[variable]);
  switch (tool) {
    case "claude":
      return join(chosen("CLAUDE_CONFIG_DIR") ?? join(person, ".claude"), "projects");
    case "codex":
      return join(chosen("CODEX_HOME") ?? join(person, ".codex"), "sessions");
    case "gemini":
      return join(chosen("GEMINI_CLI_HOME") ?? person, ".gemini", "tmp");
    case "opencode":
      return join(absolute(env["XDG_DATA_HOME"]) ?? join(person, ".local", "share"), "opencode");
    case "demo":
      return demoRecordRoot(env, person);
    default:
      return null;
  }
}

function absolute(value: string | undefined): string | null {
  return value !== undefined && isAbsolute(value) ? value : null;
}

export function createConversations(deps: {
  files: Files;
  sessionRoot: string;
  record: RecordRootFacts;
  nowMs: () => number;
  /** Called for each kind of problem; the text has no path of the machine. */
  onProblem: (what: string) => void;
}) {
  const { files, record } = deps;
  const paths = transcriptPaths(deps.sessionRoot);
  const recordRoot = recordRootOf(record);
  let known: Conversation[] | null = null;

  function load(): Conversation[] {
    const text = files.read(paths.conversations);
    if (text === null) return [];
    const kept = parseJson(Conversations, text);
    if (kept) return kept.conversations;
    deps.onProblem("conversations.json is damaged: turns of earlier conversations are not found");
    return [];
  }

  const list = () => {
    known ??= load();
    return known;
  };

  /** The names of a reported path below the tool's folder, by the words or by real paths. */
  function namesBelow(path: string): string[] | null {
    if (recordRoot === null || !isAbsolute(path)) return null;
    const roots = [recordRoot, files.realPath(recordRoot)];
    for (const root of roots) {
      const names = root === null ? [] : relative(root, path).split(sep);
      if (names.length > 0 && names[0] !== "" && !names.includes("..")) return names;
    }
    return null;
  }

  function save(): void {
    files.ensureDirectory("file:transcript-folder", paths.root);
    const kept: Static<typeof Conversations> = {
      schema_version: 1,
      conversations: list().slice(-maxConversations),
    };
    files.write("file:transcript-conversations", paths.conversations, renderJson(kept), { durable: false });
  }

  return {
    /** The tool's folder of records; null for a tool that keeps none that we can read. */
    recordRoot,
    /** Oldest first. */
    list,
    /** Keeps it unless it is known. `path`: as the tool named it; null where its id says where it is. */
    note(id: string, path: string | null): void {
      if (recordRoot === null || id.length > 200) return;
      const names = path === null ? null : namesBelow(path);
      if (path !== null && names === null) {
        deps.onProblem("the tool names a record outside its own folder: it is not read");
        return;
      }
      const before = list().find((one) => one.id === id);
      if (before && (names === null || JSON.stringify(before.names) === JSON.stringify(names))) return;
      const entry: Conversation = { tool: record.tool, id, names, noted_at_ms: deps.nowMs() };
      known = [...list().filter((one) => one.id !== id), entry];
      try {
        save();
      } catch {
        deps.onProblem("the conversation of the tool is not noted: after a restart its turns are not found");
      }
    },
    /** Where the record of a conversation is; throws `PathRefused` when it leads out of the tool's folder. */
    pathOf(conversation: Conversation): string {
      if (recordRoot === null)
        throw new PathRefused(conversation.id, "its tool keeps no records that are read");
      const names = conversation.names ?? findByName(files, recordRoot, conversation);
      if (names === null) throw new PathRefused(conversation.id, "no record has this conversation's id");
      return files.contained(recordRoot, names, "file");
    },
  };
}

/**
 * The conversation that a session's tool wrote to last, or null where none is known or none of the known ones
 * has a record. Never one of another agent that works in the same folder. Writes nothing.
 */
export function lastConversation(files: Files, sessionRoot: string, record: RecordRootFacts): string | null {
  const ignored = { nowMs: () => 0, onProblem: () => {} };
  const conversations = createConversations({ files, sessionRoot, record, ...ignored });
  let last: { id: string; atMs: number } | null = null;
  for (const conversation of conversations.list()) {
    if (conversation.tool !== record.tool) continue;
    const atMs = modifiedMs(() => files.stat(conversations.pathOf(conversation))?.modifiedMs);
    if (atMs !== null && atMs >= (last?.atMs ?? 0)) last = { id: conversation.id, atMs };
  }
  return last?.id ?? null;
}

/** Null where there is no record, or it leads out of the tool's folder. */
function modifiedMs(look: () => number | undefined): number | null {
  try {
    return look() ?? null;
  } catch (error) {
    if (error instanceof PathRefused) return null;
    throw error;
  }
}

/**
 * Codex names its record by day and conversation: the id begins with the time, and the day is the machine's
 * own.
 */
function findByName(files: Files, root: string, { tool, id, noted_at_ms }: Conversation): string[] | null {
  if (tool !== "codex" || !/^[0-9a-f-]{36}$/.test(id)) return null;
  const createdMs = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
  for (const atMs of [createdMs, noted_at_ms]) {
    for (const offsetMs of [0, -dayMs, dayMs]) {
      const day = dayFolders(atMs + offsetMs);
      if (day === null) continue;
      const name = files.list(childPath(root, ...day)).find((one) => one.endsWith(`-${id}.jsonl`));
      if (name !== undefined) return [...day, name];
    }
  }
  return null;
}

const dayMs = 86_400_000;

/** Year, month and day of a moment in UTC, as names of folders; null for no moment. */
export function dayFolders(atMs: number): [string, string, string] | null {
  if (!(Math.abs(atMs) < 8.64e15)) return null;
  const [year = "", month = "", day = ""] = toTimestamp(atMs).slice(0, 10).split("-");
  return [year, month, day];
}
