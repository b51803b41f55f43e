import { jsonValue } from "../../../protocol/json.ts";
import { type Fields, fieldsOf, itemsOf, renderValue, textOf } from "../json-fields.ts";
import type { HeadlessProvider } from "../provider.ts";
import { modelFlags, programOf, promptWithRole, sessionFlags } from "../provider.ts";
import { createStreamParser, passThrough, type StreamReader, type TurnWriter } from "../stream-parser.ts";

/**
 * Kimi Code 2.1.0 in print mode. It takes its prompt as an argument only, and reads files outside of its
 * folder, which its print mode approves by itself. Source: spec/coordination.md "Chat sessions, commands" and
 * "Canonical events".
 */
export const kimi: HeadlessProvider = {
  tool: "kimi",
  ladder: () => ({ levels: [], off: null }),
  command: (turn) => ({
    argv: [
      ...programOf({ ...turn, args: turn.args.filter((arg) => !refusedBesidePrompt.has(arg)) }),
      ...modelFlags(turn),
      ...sessionFlags(turn, { exact: "--session", last: ["--continue"] }),
      "--output-format",
      "stream-json",
      "-p",
      readingPrompt(turn.promptFile),
    ],
    stdin: null,
    env: {},
    promptFile: promptWithRole(turn),
  }),
  parser: ({ turnIndex }) =>
    createStreamParser({ provider: "kimi", turnIndex, writesTerminal: false }, createReader()),
};

/** Its print mode approves without them. */
const refusedBesidePrompt = new Set(["--auto", "--yolo", "-y"]);

const readingPrompt = (path: string) =>
  `Read the file ${JSON.stringify(path)} to its end: it holds my message to you. Answer that message, not this line.`;

function createReader(): StreamReader {
  return {
    read(record, turn) {
      switch (record["role"] ?? record["type"]) {
        case "assistant":
          return readAssistant(record, turn);
        case "tool":
          turn.result("tool", {
            id: textOf(record["tool_call_id"]),
            kind: "tool",
            status: record["is_error"] === true ? "error" : "success",
            output: contentText(record["content"]),
          });
          return;
        case "meta":
          return readMeta(record, turn);
        case "error": {
          const text = textOf(record["message"]) ?? contentText(record["content"]);
          turn.noteError(text);
          turn.emit("diagnostic", "error", text, { severity: "error", text });
          return;
        }
        default:
          passThrough(record, turn);
      }
    },
  };
}

function readAssistant(record: Fields, turn: TurnWriter): void {
  const text = contentText(record["content"]);
  const calls = itemsOf(record["tool_calls"]).map(fieldsOf);
  if (text !== "") turn.answer("assistant", text);
  for (const call of calls) {
    const { name, arguments: given } = fieldsOf(call["function"]);
    turn.request("assistant.tool_call", {
      id: textOf(call["id"]),
      kind: "tool",
      name: textOf(name) ?? "tool",
      arguments: decodedArguments(given),
    });
  }
  if (text === "" && calls.length === 0) passThrough(record, turn);
}

function readMeta(record: Fields, turn: TurnWriter): void {
  const type = textOf(record["type"]) ?? "meta";
  if (type === "session.resume_hint") {
    turn.introduce(type);
  } else if (type === "turn.step.retrying") {
    const summary = contentText(record["content"]) || "retrying";
    turn.emit("progress", type, summary, { summary });
  } else passThrough(record, turn);
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return content === undefined || content === null ? "" : renderValue(content);
  return content.map((part) => textOf(fieldsOf(part)["text"]) ?? "").join("");
}

/** The arguments of a call come as JSON text. */
function decodedArguments(given: unknown): unknown {
  if (typeof given !== "string") return given ?? {};
  const value = jsonValue(given);
  return value === undefined ? given : value;
}
