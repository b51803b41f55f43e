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

/** Passive observer of an agent. Each method is called at once. */
export interface AgentObserver {
  /**
   * Called right before the first byte of a prompt. Not called for a headless agent, whose turns name their
   * request.
   */
  promptBegins?(submission: Pick<Submission, "prompt" | "requestId">): void;
  /** Called before a prompt that is not a command is typed into the terminal. */
  promptTyped?(text: string): void;
  turnBegan?(): void;
  /** Called before the next turn can begin. */
  turnEnded?(): void;
  /**
   * Called for a report of the agent's tool. `conversation`: the agent's conversation, as the tracker knows
   * it.
   */
  reported?(report: ToolReport, conversation: string | null): void;
  /** Called before this process stops watching the terminal. */
  stop?(): Promise<void>;
}

/** Read access to an agent's terminal. */
export interface ReadableTerminal {
  state(): TerminalState;
  /** The last read of the terminal. */
  observation(): Observation | null;
  /** Calls `listener` after each read. */
  subscribe(listener: (state: TerminalState) => void): () => void;
  /** The live output. `overpaint`: repaint the whole screen when the pane is quiet; default true. */
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

/** The part of an extension that each watched agent gets. */
export interface AgentExtension {
  /** The source of the tool's reports; the first extension with this method provides it. */
  reports?(session: WatchedSession): ReportSource;
  /** `terminal`: null for an agent without one. */
  observe?(session: WatchedSession, terminal: ReadableTerminal | null): AgentObserver;
}
