import type { Manifest } from "../../protocol/files.ts";
import type { TerminalState } from "../../protocol/terminal.ts";
import type { ToolReport } from "../../protocol/tool-report.ts";
import type { System } from "../../system/system.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { CompiledProfile } from "../terminal/profiles/profile.ts";
import type { ReportSource } from "../terminal/report-source.ts";
import type { Observation } from "../terminal/screen.ts";
import type { PaneFrame } from "../terminal/tmux/pane-stream.ts";
import type { Submission } from "./agent.ts";

/** What happens to an agent, for those that change nothing of it. Each listener is called at once. */
export interface AgentObserver {
  /**
   * Right before the first byte of a prompt. Not called where each turn is a process, which names its
   * request.
   */
  promptBegins?(submission: Pick<Submission, "prompt" | "requestId">): void;
  /** A prompt, and no command, is about to be typed into the terminal. */
  promptTyped?(text: string): void;
  turnBegan?(): void;
  /** Before anybody can begin the next turn. */
  turnEnded?(): void;
  /** The agent's tool reported; `conversation`: the one that the tracker takes for the agent's own. */
  reported?(report: ToolReport, conversation: string | null): void;
  /** Before the terminal is left. */
  stop?(): Promise<void>;
}

/** An agent's terminal, to read. */
export interface ReadableTerminal {
  state(): TerminalState;
  /** What was read last. */
  observation(): Observation | null;
  /** Called when more was read. */
  subscribe(listener: (state: TerminalState) => void): () => void;
  /** Live. `overpaint`: whether the screen is painted over when the pane is quiet, default true. */
  pane(signal: AbortSignal, options?: { overpaint?: boolean }): AsyncGenerator<PaneFrame>;
  /** The screen, with at most `scrolledRows` rows above it; null when it cannot be read. */
  capture(scrolledRows: number): Promise<{ text: string; height: number } | null>;
}

/** The session of an agent that this process watches. */
export interface WatchedSession {
  system: System;
  manifest: Manifest;
  sessionRoot: string;
  /** Null for a tool that no profile describes. */
  profile: CompiledProfile | null;
  log: Log;
  env: Readonly<Record<string, string | undefined>>;
}

/** What an extension adds to each agent that a program watches. */
export interface AgentExtension {
  /** Where the reports of the agent's tool come from; the first extension that has one is asked. */
  reports?(session: WatchedSession): ReportSource;
  /** `terminal`: null for an agent without one. */
  observe?(session: WatchedSession, terminal: ReadableTerminal | null): AgentObserver;
}
