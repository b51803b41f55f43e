import type { Tokens } from "../../../protocol/usage.ts";
import { type Fields, fieldsOf, numberOf, renderValue, textOf } from "../json-fields.ts";
import type { HeadlessProvider, TurnUsage } from "../provider.ts";
import { modelFlags, promptWithRole, sessionFlags } from "../provider.ts";
import {
  createStreamParser,
  passThrough,
  type StreamReader,
  type TurnWriter,
  usageOf,
} from "../stream-parser.ts";
import { addTokens, hasTokens, noTokens, opencodeTokens } from "../turn-usage.ts";

/** opencode `run`. Recordings: tests/streams/opencode. Source: reference/real-clis.md 6. */
export const opencode: HeadlessProvider = {
  tool: "opencode",
  ladder: () => ({ levels: [], off: null }),
  command: (turn) => ({
    argv: [
      turn.executable,
      "run",
      ...turn.args,
      "--format",
      "json",
      ...modelFlags(turn),
      ...sessionFlags(turn, { exact: "--session", last: ["--continue"] }),
    ],
    stdin: promptWithRole(turn),
    env: {},
  }),
  parser: ({ turnIndex }) =>
    createStreamParser({ provider: "opencode", turnIndex, writesTerminal: false }, createReader()),
};

/** A turn is a row of steps; the step that stops by itself ends it, and no separate event does. */
function createReader(): StreamReader {
  let introduced = false;
  let total: TurnUsage | null = null;
  let tokens: Tokens = noTokens;

  function readFinish(part: Fields, turn: TurnWriter): void {
    const reason = textOf(part["reason"]) ?? "unknown";
    total = add(total, usageOfStep(part["tokens"]));
    turn.count(total);
    tokens = addTokens(tokens, opencodeTokens(part["tokens"]));
    // With each step: a turn that is interrupted has no last one.
    const counted = hasTokens(tokens) ? { tokens: [{ model: null, ...tokens }] } : {};
    const summary = `step finished: ${reason}`;
    turn.emit("progress", "step_finish", summary, { summary, ...counted });
    if (reason !== "stop") return;
    turn.complete(
      "step_finish",
      { status: "success", resultText: null, usage: total },
      { stop_reason: reason, ...counted },
    );
  }

  return {
    read(record, turn) {
      if (!introduced && turn.sessionId() !== null) {
        introduced = true;
        const id = turn.sessionId();
        turn.emit("session", textOf(record["type"]) ?? "unknown", `session ${id}`, { session_id: id });
      }
      const part = fieldsOf(record["part"]);
      const text = textOf(part["text"]) ?? "";
      const type = textOf(record["type"]) ?? "";
      switch (type) {
        case "step_start":
          turn.reopen();
          turn.emit("progress", type, "step started", { summary: "step started" });
          return;
        case "text":
          turn.answer(type, text);
          return;
        case "reasoning":
          turn.emit("reasoning", type, text, { text });
          return;
        case "tool_use":
          if (!readTool(part, turn)) passThrough(record, turn);
          return;
        case "step_finish":
          return readFinish(part, turn);
        case "error":
          return readError(record, turn, total);
        default:
          passThrough(record, turn);
      }
    },
  };
}

/** A tool is reported when it is done: its request and its result come together. */
function readTool(part: Fields, turn: TurnWriter): boolean {
  const state = fieldsOf(part["state"]);
  const status = textOf(state["status"]) ?? "unknown";
  if (status !== "completed" && status !== "error") return false;
  const id = textOf(part["callID"]);
  const name = textOf(part["tool"]) ?? "tool";
  turn.request("tool_use", { id, kind: "tool", name, arguments: state["input"] ?? {} });
  const exitCode = numberOf(fieldsOf(state["metadata"])["exit"]);
  const output = state["output"] ?? state["error"] ?? "";
  turn.result("tool_use", {
    id,
    kind: "tool",
    status: status === "completed" ? "success" : "error",
    output: renderValue(output),
    ...(exitCode === null ? {} : { details: { exit_code: exitCode } }),
  });
  return true;
}

function readError(record: Fields, turn: TurnWriter, usage: TurnUsage | null): void {
  const error = fieldsOf(record["error"]);
  const name = textOf(error["name"]) ?? "error";
  const message = textOf(fieldsOf(error["data"])["message"]) ?? textOf(error["message"]);
  const errorText = message === null ? name : `${name}: ${message}`;
  turn.complete("error", { status: "error", errorText, usage });
}

function usageOfStep(tokens: unknown): TurnUsage | null {
  const usage = usageOf(tokens, {
    input_tokens: "input",
    output_tokens: "output",
    total_tokens: "total",
    reasoning_tokens: "reasoning",
  });
  return usage && { ...usage, cached_input_tokens: numberOf(fieldsOf(fieldsOf(tokens)["cache"])["read"]) };
}

function add(left: TurnUsage | null, right: TurnUsage | null): TurnUsage | null {
  if (left === null || right === null) return left ?? right;
  const sum = (key: keyof TurnUsage) =>
    left[key] === null && right[key] === null ? null : (left[key] ?? 0) + (right[key] ?? 0);
  return {
    input_tokens: sum("input_tokens"),
    cached_input_tokens: sum("cached_input_tokens"),
    output_tokens: sum("output_tokens"),
    total_tokens: sum("total_tokens"),
    reasoning_tokens: sum("reasoning_tokens"),
  };
}
