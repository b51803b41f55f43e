import { describe, expect, test } from "bun:test";
import type { TurnSummary } from "../../../src/services/headless/provider.ts";
import { decideVerdict, type Verdict, type VerdictFacts } from "../../../src/services/headless/verdict.ts";

const silent: TurnSummary = {
  sessionId: "s",
  terminal: null,
  writesTerminal: true,
  errorText: null,
  resultText: null,
  historySummary: null,
  usage: null,
};
const success: TurnSummary = { ...silent, terminal: "success" };
const failure: TurnSummary = { ...silent, terminal: "error", errorText: "model refused" };
/** A tool without a terminal event in every turn. */
const wordless: TurnSummary = { ...silent, writesTerminal: false };

const ended = (summary: TurnSummary, facts: Partial<VerdictFacts> = {}): VerdictFacts => ({
  summary,
  exitCode: 0,
  signal: null,
  interruptRequested: false,
  exited: true,
  ...facts,
});

const table: { id: string; given: VerdictFacts; want: Partial<Verdict> }[] = [
  {
    id: "a success event completes the turn",
    given: ended(success),
    want: { status: "completed", error: null, completionSource: "terminal_event" },
  },
  {
    id: "a success event completes the turn even when we had asked for an interrupt",
    given: ended(success, { interruptRequested: true }),
    want: { status: "completed", completionSource: "terminal_event" },
  },
  {
    id: "a success event completes the turn whatever the exit code says afterwards",
    given: ended(success, { exitCode: 1 }),
    want: { status: "completed", error: null },
  },
  {
    id: "an error event fails the turn with the tool's words",
    given: ended(failure, { exitCode: 1 }),
    want: { status: "failed", error: "model refused", completionSource: "terminal_event" },
  },
  {
    id: "an error event without a reason is told with the exit code and the last line of standard error",
    given: ended({ ...failure, errorText: null }, { exitCode: 3, lastStderr: "quota exceeded" }),
    want: {
      status: "failed",
      error: "the tool reported an error without a reason (exit code 3): quota exceeded",
    },
  },
  {
    id: "an error event fails the turn even with exit code 0",
    given: ended(failure),
    want: { status: "failed", completionSource: "terminal_event" },
  },
  {
    id: "an error event after our interrupt is an interruption (claude)",
    given: ended(failure, { interruptRequested: true }),
    want: { status: "interrupted", completionSource: "terminal_event" },
  },
  {
    id: "an end without a terminal event after our interrupt is an interruption (gemini, exit code 0)",
    given: ended(silent, { interruptRequested: true }),
    want: { status: "interrupted", completionSource: "interrupt_request" },
  },
  {
    id: "so it is with another exit code (codex)",
    given: ended(silent, { exitCode: 1, interruptRequested: true }),
    want: { status: "interrupted" },
  },
  {
    id: "so it is when a signal ended the process (opencode)",
    given: ended(wordless, { exitCode: null, signal: "SIGINT", interruptRequested: true }),
    want: { status: "interrupted" },
  },
  {
    id: "an end without a terminal event and without our interrupt is a failure, exit code 0 included",
    given: ended(silent),
    want: {
      status: "failed",
      error: "the tool ended without a terminal event (exit code 0)",
      completionSource: "process_exit",
    },
  },
  {
    id: "the last line of standard error tells more of such an end",
    given: ended(silent, { exitCode: 1, lastStderr: "\u001b[91mError:\u001b[0m no rollout found\n" }),
    want: { error: "the tool ended without a terminal event (exit code 1): Error: no rollout found" },
  },
  {
    id: "what the tool named as its error goes before that",
    given: ended({ ...silent, errorText: "stream lost" }, { exitCode: 1, lastStderr: "bye" }),
    want: { status: "failed", error: "stream lost" },
  },
  {
    id: "a signal that we did not send is a failure that names it",
    given: ended(silent, { exitCode: null, signal: "SIGKILL" }),
    want: { status: "failed", error: "the tool ended without a terminal event (signal SIGKILL)" },
  },
  {
    id: "exit code 0 stands for the terminal event where the tool has none (opencode after a denied tool)",
    given: ended(wordless),
    want: { status: "completed", error: null, completionSource: "process_exit" },
  },
  {
    id: "exit code 0 there comes before our own record",
    given: ended(wordless, { interruptRequested: true }),
    want: { status: "completed" },
  },
  {
    id: "another exit code fails the turn there",
    given: ended(wordless, { exitCode: 1 }),
    want: { status: "failed", completionSource: "process_exit" },
  },
  {
    id: "a process that is gone without a trace fails the turn and names what is missing",
    given: ended(silent, { exitCode: null, exited: false }),
    want: {
      status: "failed",
      error: "the process is gone and left no exit code",
      completionSource: "missing_evidence",
    },
  },
  {
    id: "the same after our interrupt is an interruption",
    given: ended(wordless, { exitCode: null, exited: false, interruptRequested: true }),
    want: { status: "interrupted" },
  },
  {
    id: "a terminal event outlives the evidence of the exit",
    given: ended(success, { exitCode: null, exited: false }),
    want: { status: "completed" },
  },
];

describe("the verdict of a turn", () => {
  test.each(table)("$id", ({ given, want }) => {
    expect(decideVerdict(given)).toMatchObject(want);
  });
});
