import type { Manifest } from "../../protocol/files.ts";
import type { ToolReport } from "../../protocol/tool-report.ts";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { createTurnDirectories } from "../headless/turn-directory.ts";
import { createTurnReader } from "../headless/turn-reader.ts";
import type { Environment } from "../sessions/roots.ts";
import type { CompiledProfile } from "../terminal/profile.ts";
import { createConversations } from "./conversations.ts";
import { createHeadlessSource } from "./headless-source.ts";
import type { ScreenCapture } from "./screen-turn.ts";
import { createSessionSources } from "./session-sources.ts";
import { createTurnRecorder, type TurnRecorder } from "./turn-recorder.ts";
import type { TurnSource } from "./turn-source.ts";

/** What a gateway must do while its agent works, so that the text of each turn is found later. */
export interface SessionTranscript {
  sources(): TurnSource[];
  /** `bound`: the conversation that the tracker takes for the agent's own. */
  reported(report: ToolReport, bound: string | null): void;
  recorder: TurnRecorder;
}

/** The transcript of an agent in a terminal. */
export function createSessionTranscript(deps: {
  files: Files;
  clock: Clock;
  log: Log;
  manifest: Manifest;
  sessionRoot: string;
  env: Environment;
  profile: CompiledProfile | null;
  capture: () => Promise<ScreenCapture | null>;
}): SessionTranscript {
  const { files, clock, log, manifest, sessionRoot } = deps;
  const { tool } = manifest;
  const logged = new Set<string>();
  const onProblem = (what: string) => {
    if (!logged.has(what)) log.line(what);
    logged.add(what);
  };
  const nowMs = clock.nowMs;
  const { home_path: home } = manifest.launch_plan.home_selector;
  const record = { tool, env: deps.env, home };
  const conversations = createConversations({ files, sessionRoot, record, nowMs, onProblem });
  const workdir = manifest.launch_plan.working_directory;
  const sources = createSessionSources({ files, sessionRoot, tool, workdir, conversations, nowMs });
  return {
    sources: sources.all,
    reported({ session_id: id, transcript_path: path }, bound) {
      if (id === null || (bound !== null && id !== bound)) return;
      if (tool === "opencode") {
        const { recordRoot } = conversations;
        conversations.note(id, recordRoot === null ? null : `${recordRoot}/opencode.db`);
      } else conversations.note(id, path);
    },
    recorder: createTurnRecorder({ ...deps, sources, onProblem }),
  };
}

/** The sources of a headless agent. */
export function headlessSources(files: Files, sessionRoot: string): () => TurnSource[] {
  const directories = createTurnDirectories({ files, sessionRoot });
  const reader = createTurnReader({ files, turns: directories });
  const source = createHeadlessSource({ directories, reader });
  return () => [source];
}
