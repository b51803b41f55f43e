import { type Fields, textOf } from "../json-fields.ts";
import type { HeadlessProvider } from "../provider.ts";
import { modelFlags, presetOf, programOf, promptWithRole, sessionFlags } from "../provider.ts";
import {
  createStreamParser,
  passThrough,
  type StreamReader,
  type TurnWriter,
  usageOf,
} from "../stream-parser.ts";
import { hasTokens, noTokens } from "../turn-usage.ts";

/** The scripted agent without a terminal; its stream is described in services/demo/headless-turn.ts. */
export const demo: HeadlessProvider = {
  tool: "demo",
  ladder: () => ({ levels: ["low", "medium", "high"], off: "none" }),
  command(turn) {
    const preset = presetOf(demo, turn);
    return {
      argv: [
        ...programOf(turn),
        "--headless",
        ...modelFlags(turn),
        ...(preset === null ? [] : ["--effort", preset]),
        ...sessionFlags(turn, { exact: "--resume", last: ["--continue"] }),
      ],
      stdin: promptWithRole(turn),
      env: {},
    };
  },
  parser: ({ turnIndex }) =>
    createStreamParser({ provider: "demo", turnIndex, writesTerminal: true }, createReader()),
};

function createReader(): StreamReader {
  let model: string | null = null;
  return {
    read(record, turn) {
      const type = textOf(record["type"]) ?? "";
      const text = textOf(record["text"]) ?? "";
      switch (type) {
        case "session":
          model = textOf(record["model"]);
          turn.introduce(type, { model });
          return;
        case "piece":
          turn.piece(type, text);
          return;
        case "answer":
          turn.answer(type, text);
          return;
        case "thought":
          turn.emit("reasoning", type, text, { text });
          return;
        case "action":
        case "action_done":
          return readAction(type, record, turn);
        case "end":
          return readEnd(record, turn, model);
        default:
          passThrough(record, turn);
      }
    },
  };
}

function readAction(type: string, record: Fields, turn: TurnWriter): void {
  const id = textOf(record["action_id"]);
  if (type === "action") {
    const name = textOf(record["name"]) ?? "action";
    turn.request(type, { id, kind: "tool", name, arguments: record["arguments"] ?? {} });
    return;
  }
  const status = textOf(record["status"]) ?? "unknown";
  turn.result(type, { id, kind: "tool", status, output: textOf(record["output"]) ?? "" });
}

function readEnd(record: Fields, turn: TurnWriter, model: string | null): void {
  const usage = usageOf(record["usage"], { input_tokens: "input_tokens", output_tokens: "output_tokens" });
  const [input, output] = [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0];
  const counted = { ...noTokens, input_tokens: input, output_tokens: output };
  const details = hasTokens(counted) ? { tokens: [{ model, ...counted }] } : {};
  if (record["status"] === "success") {
    turn.complete("end", { status: "success", resultText: null, usage }, details);
    return;
  }
  turn.complete("end", { status: "error", errorText: textOf(record["error"]), usage }, details);
}
