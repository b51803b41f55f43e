import type { Manifest } from "../../../../protocol/files.ts";
import type { ToolReport } from "../../../../protocol/tool-report.ts";
import { type Clock, sleep } from "../../../../system/clock.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import type { Log } from "../../../diagnostics/gateway-log.ts";
import { createTurnDirectories } from "../../../headless/turn-directory.ts";
import { createTurnReader } from "../../../headless/turn-reader.ts";
import { createConversations, transcriptPaths } from "../../../sessions/conversations.ts";
import type { Environment } from "../../../sessions/roots.ts";
import { keyOfText } from "../../../terminal/keys.ts";
import type { CompiledProfile } from "../../../terminal/profiles/profile.ts";
import { createHeadlessSource } from "./headless-source.ts";
import { saveLastScreen } from "./last-screen.ts";
import { readScreenTurn, type ScreenCapture, type ScreenTurnLine } from "./screen-turn.ts";
import { createSessionSources, type SessionSources } from "./session-sources.ts";
import { cutText } from "./transcript.ts";
import type { TurnSource } from "./turn-source.ts";

/** After the end of a turn, until its record must be there: claude writes within 100 ms of its hook. */
const looksMs = [150, 300, 600, 1000, 2000] as const;
/** The tool's time of a person's prompt, against the moment at which the screen showed work. */
const beforeMs = 3000;
/** A turn that goes on so soon after its end had not ended. */
const resumedWithinMs = 1000;
const maxAnswerBytes = 256 * 1024;
const maxPromptBytes = 64 * 1024;
const maxFileBytes = 4 * 1024 * 1024;

interface Ended {
  startedMs: number;
  endedMs: number;
  typed: string | null;
  abort: AbortController;
}

function createTurnRecorder(deps: {
  files: Files;
  clock: Clock;
  sessionRoot: string;
  profile: CompiledProfile | null;
  sources: SessionSources;
  /** The terminal as it is now; null when it cannot be read. */
  capture: () => Promise<ScreenCapture | null>;
  onProblem: (what: string) => void;
}) {
  const { files, clock, sources } = deps;
  const paths = transcriptPaths(deps.sessionRoot);
  const underWay = new Set<Promise<void>>();
  let typed: { text: string; atMs: number } | null = null;
  let startedMs: number | null = null;
  let ended: Ended | null = null;

  async function keepScreen(): Promise<ScreenCapture | null> {
    const capture = await deps.capture().catch(() => null);
    if (capture) await saveLastScreen(deps, deps.sessionRoot, capture);
    return capture;
  }

  async function record(turn: Ended): Promise<void> {
    const capture = await keepScreen();
    for (const [index, delayMs] of looksMs.entries()) {
      await sleep(clock, delayMs, turn.abort.signal);
      if (turn.abort.signal.aborted || (await isRecorded(turn))) return;
      // Nothing will come of a tool whose record is not known.
      if (index === 0 && sources.ofTool().length === 0) break;
    }
    const seen = capture && deps.profile ? readScreenTurn(capture, deps.profile) : null;
    // Work that nobody asked for is no turn: codex is busy while it starts its MCP servers.
    if (turn.typed === null && seen?.prompt == null) return;
    append({
      schema_version: 1,
      started_at_ms: turn.startedMs,
      ended_at_ms: turn.endedMs,
      prompt: cutText(turn.typed ?? seen?.prompt ?? "", 0, maxPromptBytes).text,
      answer: seen?.answer == null ? null : cutText(seen.answer, 0, maxAnswerBytes).text,
    });
  }

  async function isRecorded(turn: Ended): Promise<boolean> {
    // No prompt of ours is older than the moment before it was typed.
    const sinceMs = turn.typed === null ? turn.startedMs - beforeMs : turn.startedMs;
    for (const source of sources.ofTool()) {
      const heads = await source.heads();
      if ((heads.at(-1)?.startedMs ?? Number.NEGATIVE_INFINITY) >= sinceMs) return true;
    }
    return turn.typed !== null && sources.discover(keyOfText(turn.typed), sinceMs);
  }

  function append(line: ScreenTurnLine): void {
    files.ensureDirectory("file:transcript-folder", paths.root);
    if ((files.stat(paths.screen)?.size ?? 0) >= maxFileBytes) {
      const [from, to] = ["screen-turns.jsonl", "screen-turns.1.jsonl"].map((name) =>
        files.contained(paths.root, name, "file"),
      );
      if (from !== undefined && to !== undefined) files.rename("file:transcript-rotate", from, to);
    }
    files.append("file:transcript-screen", paths.screen, `${JSON.stringify(line)}\n`);
  }

  return {
    /** A prompt is about to be typed. */
    promptTyped(text: string): void {
      typed = { text, atMs: clock.nowMs() };
    },
    turnBegan(): void {
      const nowMs = clock.nowMs();
      const resumed = ended !== null && typed === null && nowMs - ended.endedMs < resumedWithinMs;
      if (ended && resumed) {
        ended.abort.abort();
        startedMs = ended.startedMs;
        typed = ended.typed === null ? null : { text: ended.typed, atMs: startedMs };
      } else startedMs = typed?.atMs ?? nowMs;
    },
    turnEnded(): void {
      if (startedMs === null) return;
      const turn: Ended = {
        startedMs,
        endedMs: clock.nowMs(),
        typed: typed?.text ?? null,
        abort: new AbortController(),
      };
      [ended, startedMs, typed] = [turn, null, null];
      const task = record(turn)
        .catch((error) => deps.onProblem(`what the screen showed of a turn is not kept: ${messageOf(error)}`))
        .finally(() => underWay.delete(task));
      underWay.add(task);
    },
    /** Turns that ended and are not looked up yet are lost. */
    async stop(): Promise<void> {
      ended?.abort.abort();
      await Promise.all(underWay);
      await keepScreen().catch((error) => deps.onProblem(`the last screen is not kept: ${messageOf(error)}`));
    },
  };
}

interface SourcesDeps {
  files: Files;
  clock: Clock;
  manifest: Manifest;
  sessionRoot: string;
  env: Environment;
  /** Called for each kind of problem. */
  onProblem: (what: string) => void;
}

function openSources({ files, clock, manifest, sessionRoot, env, onProblem }: SourcesDeps) {
  const { tool } = manifest;
  const { nowMs } = clock;
  const { home_path: home } = manifest.launch_plan.home_selector;
  const record = { tool, env, home };
  const conversations = createConversations({ files, sessionRoot, record, nowMs, onProblem });
  const workdir = manifest.launch_plan.working_directory;
  return {
    conversations,
    sources: createSessionSources({ files, sessionRoot, tool, workdir, conversations, nowMs }),
  };
}

/** The turns of an agent that no gateway serves, from its files. Writes nothing. */
export function storedSources(deps: Omit<SourcesDeps, "onProblem">): () => readonly TurnSource[] {
  const { files, manifest, sessionRoot } = deps;
  if (manifest.headless !== undefined) return headlessSources(files, sessionRoot);
  // A gap of the page says what could not be read.
  return openSources({ ...deps, onProblem: () => {} }).sources.all;
}

/**
 * The transcript of an agent in a terminal: what its gateway does while it works, so that the text of each
 * turn is found later.
 */
export function createSessionTranscript(deps: {
  files: Files;
  clock: Clock;
  log: Log;
  manifest: Manifest;
  sessionRoot: string;
  env: Environment;
  profile: CompiledProfile | null;
  capture: () => Promise<ScreenCapture | null>;
}) {
  const { log, manifest } = deps;
  const { tool } = manifest;
  const logged = new Set<string>();
  const onProblem = (what: string) => {
    if (!logged.has(what)) log.line(what);
    logged.add(what);
  };
  const { conversations, sources } = openSources({ ...deps, onProblem });
  return {
    sources: sources.all,
    /** `bound`: the conversation that the tracker takes for the agent's own. */
    reported({ session_id: id, transcript_path: path }: ToolReport, bound: string | null): void {
      if (id === null || (bound !== null && id !== bound)) return;
      if (tool === "opencode") {
        const { recordRoot } = conversations;
        conversations.note(id, recordRoot === null ? null : `${recordRoot}/opencode.db`);
      } else conversations.note(id, path);
    },
    recorder: createTurnRecorder({ ...deps, sources, onProblem }),
  };
}

/** The sources of a headless agent. `newest`: only so many of its turns; default: all. */
export function headlessSources(files: Files, sessionRoot: string, newest?: number): () => TurnSource[] {
  const directories = createTurnDirectories({ files, sessionRoot });
  const reader = createTurnReader({ files, turns: directories });
  const source = createHeadlessSource({ directories, reader, ...(newest === undefined ? {} : { newest }) });
  return () => [source];
}
