import type { TokenUsage } from "../../../protocol/usage.ts";
import { type Fields, fieldsOf, numberOf, readableError, renderValue, textOf } from "../json-fields.ts";
import type { HeadlessProvider } from "../provider.ts";
import { modelFlags, programOf, promptWithRole, sessionFlags } from "../provider.ts";
import {
  createStreamParser,
  passThrough,
  type StreamReader,
  type TurnWriter,
  usageOf,
} from "../stream-parser.ts";
import { hasTokens } from "../turn-usage.ts";

/** Gemini CLI. Recordings: tests/streams/gemini. Source: reference/real-clis.md 5. */
export const gemini: HeadlessProvider = {
  tool: "gemini",
  ladder: () => ({ levels: [], off: null }),
  command: (turn) => ({
    argv: [
      ...programOf(turn),
      ...modelFlags(turn),
      ...sessionFlags(turn, { exact: "--resume", last: ["--resume", "latest"] }),
      "--output-format",
      "stream-json",
    ],
    stdin: promptWithRole(turn),
    env: {},
  }),
  parser: ({ turnIndex }) =>
    createStreamParser({ provider: "gemini", turnIndex, writesTerminal: true }, createReader()),
};

/** An answer comes in pieces; it is reported whole where it ends, or when this much has gathered. */
const maxAnswerLength = 1_048_576;

function createReader(): StreamReader {
  let answer = "";

  function finishAnswer(turn: TurnWriter): void {
    if (answer === "") return;
    turn.answer("message.assistant", answer);
    answer = "";
  }

  function readMessage(record: Fields, turn: TurnWriter): void {
    const content = textOf(record["content"]);
    if (record["role"] !== "assistant" || content === null) {
      passThrough(record, turn);
      return;
    }
    if (record["delta"] !== true) {
      finishAnswer(turn);
      turn.answer("message.assistant", content);
      return;
    }
    turn.piece("message.assistant", content);
    answer += content;
    if (answer.length > maxAnswerLength) finishAnswer(turn);
  }

  return {
    read(record, turn) {
      if (record["type"] === "message") return readMessage(record, turn);
      finishAnswer(turn);
      const type = textOf(record["type"]) ?? "";
      switch (type) {
        case "init":
          turn.introduce(type, { model: textOf(record["model"]) });
          return;
        case "tool_use":
          turn.request(type, {
            id: textOf(record["tool_id"]),
            kind: "tool",
            name: textOf(record["tool_name"]) ?? "tool",
            arguments: record["parameters"] ?? {},
          });
          return;
        case "tool_result":
          turn.result(type, {
            id: textOf(record["tool_id"]),
            kind: "tool",
            status: textOf(record["status"]) ?? "unknown",
            output: outputOf(record),
          });
          return;
        case "error": {
          const text = readableError(textOf(record["message"]) ?? "error");
          const severity = record["severity"] === "warning" ? "warning" : "error";
          if (severity === "error") turn.noteError(text);
          turn.emit("diagnostic", type, text, { severity, text });
          return;
        }
        case "result":
          return readResult(record, turn);
        default:
          passThrough(record, turn);
      }
    },
    finish: finishAnswer,
  };
}

function outputOf(record: Fields): string {
  const output = record["output"] ?? fieldsOf(record["error"])["message"];
  return output === undefined || output === null ? "" : renderValue(output);
}

function readResult(record: Fields, turn: TurnWriter): void {
  const stats = fieldsOf(record["stats"]);
  const usage = usageOf(record["stats"], {
    input_tokens: "input_tokens",
    cached_input_tokens: "cached",
    output_tokens: "output_tokens",
    total_tokens: "total_tokens",
  });
  const details = {
    duration_ms: stats["duration_ms"] ?? null,
    tool_calls: stats["tool_calls"] ?? null,
    tokens: Object.entries(fieldsOf(stats["models"]))
      .map(([model, counts]) => tokensOfModel(model, fieldsOf(counts)))
      .filter(hasTokens),
  };
  if (record["status"] === "success") {
    turn.complete("result.success", { status: "success", resultText: null, usage }, details);
    return;
  }
  const reason = textOf(fieldsOf(record["error"])["message"]);
  const errorText = reason === null ? null : readableError(reason);
  turn.complete("result.error", { status: "error", errorText, usage }, details);
}

/**
 * What the total has beyond input and output are thoughts. Calls of its router are counted under their own
 * model.
 */
function tokensOfModel(model: string, counts: Fields): TokenUsage {
  const count = (name: string) => Math.max(0, Math.trunc(numberOf(counts[name]) ?? 0));
  const [input, output] = [count("input_tokens"), count("output_tokens")];
  const thoughts = Math.max(0, count("total_tokens") - input - output);
  return {
    model,
    input_tokens: input,
    cached_input_tokens: count("cached"),
    cache_write_tokens: 0,
    output_tokens: output + thoughts,
    reasoning_tokens: thoughts,
  };
}
