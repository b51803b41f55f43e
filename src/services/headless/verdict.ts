import { toSummary } from "./display.ts";
import type { TurnSummary } from "./provider.ts";

export interface VerdictFacts {
  summary: TurnSummary;
  /** Null when a signal ended the process, or when its end was not seen. */
  exitCode: number | null;
  signal: string | null;
  interruptRequested: boolean;
  /** False: the process is gone and nothing shows how it ended. */
  exited: boolean;
  /** The last line of standard error: some tools say only there why they did not begin. */
  lastStderr?: string | null;
}

export interface Verdict {
  status: "completed" | "failed" | "interrupted";
  /** Why it is not completed, on one line. */
  error: string | null;
  /** Which fact decided. */
  completionSource: "terminal_event" | "process_exit" | "interrupt_request" | "missing_evidence";
}

/**
 * How a turn ended, once its process is gone: the tool's terminal event first, then the exit code, then our
 * own record that we interrupted. An error after our interrupt, and an end without a terminal event after it,
 * is `interrupted`; a success stays `completed`. An exit code of 0 is a success only for tools that have no
 * terminal event. Source: spec/coordination.md "Finalize"; reference/real-clis.md 7.
 */
export function decideVerdict(facts: VerdictFacts): Verdict {
  const { summary, interruptRequested } = facts;
  if (summary.terminal === "success") {
    return { status: "completed", error: null, completionSource: "terminal_event" };
  }
  if (summary.terminal === "error") {
    const error = summary.errorText ?? describeEnd(facts, "the tool reported an error without a reason");
    return {
      status: interruptRequested ? "interrupted" : "failed",
      error,
      completionSource: "terminal_event",
    };
  }
  if (!summary.writesTerminal && facts.exitCode === 0) {
    return { status: "completed", error: null, completionSource: "process_exit" };
  }
  if (interruptRequested) {
    return {
      status: "interrupted",
      error: describeEnd(facts, wordless),
      completionSource: "interrupt_request",
    };
  }
  return {
    status: "failed",
    error: summary.errorText ?? describeEnd(facts, wordless),
    completionSource: facts.exited ? "process_exit" : "missing_evidence",
  };
}

const wordless = "the tool ended without a terminal event";

function describeEnd({ exited, exitCode, signal, lastStderr }: VerdictFacts, what: string): string {
  if (!exited) return "the process is gone and left no exit code";
  const how = signal === null ? `exit code ${exitCode ?? "unknown"}` : `signal ${signal}`;
  const said = toSummary(lastStderr ?? "");
  return `${what} (${how})${said === "" ? "" : `: ${said}`}`;
}
