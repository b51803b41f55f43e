import {
  type Fields,
  fieldsOf,
  itemsOf,
  numberOf,
  readableError,
  renderValue,
  textOf,
} from "../json-fields.ts";
import type { HeadlessProvider, ProviderTurn } from "../provider.ts";
import { presetOf, programOf } from "../provider.ts";
import {
  createStreamParser,
  passThrough,
  type StreamReader,
  type TurnWriter,
  usageOf,
} from "../stream-parser.ts";
import { codexTokens } from "../turn-usage.ts";

/** Codex `exec`. Recordings: tests/streams/codex. Source: reference/real-clis.md 4. */
export const codex: HeadlessProvider = {
  tool: "codex",
  ladder: (model) => ({
    levels: newerFamily.test(model ?? "")
      ? ["low", "medium", "high", "xhigh", "max", "ultra"]
      : ["low", "medium", "high", "xhigh"],
    off: null,
  }),
  command(turn) {
    const resumes = turn.session.mode !== "new";
    return {
      argv: [
        ...programOf(turn),
        ...configFlags(turn),
        "exec",
        "--json",
        "--skip-git-repo-check",
        ...(resumes ? ["resume"] : []),
        ...(turn.session.mode === "exact" ? [turn.session.id] : resumes ? ["--last"] : []),
        // The dash is the prompt's place: it is read from standard input.
        "-",
      ],
      stdin: turn.prompt,
      env: {},
    };
  },
  parser: ({ turnIndex }) =>
    createStreamParser({ provider: "codex", turnIndex, writesTerminal: true }, createReader()),
};

/** Source: spec/gateway.md "Reasoning": newer families have max and ultra. */
const newerFamily = /^gpt-(5\.[3-9]|[6-9])/i;

function configFlags({ model, args, rolePrompt }: ProviderTurn): string[] {
  const preset = presetOf(codex, { model, args });
  const config = (key: string, value: string) => `--config=${key}=${JSON.stringify(value)}`;
  return [
    ...(model?.name ? [config("model", model.name)] : []),
    ...(preset === null ? [] : [config("model_reasoning_effort", preset)]),
    ...(rolePrompt === null ? [] : [config("developer_instructions", rolePrompt)]),
  ];
}

/** Items that are actions: started is their request, completed their result. */
const actionItems = ["command_execution", "mcp_tool_call", "collab_tool_call", "web_search", "file_change"];

function createReader(): StreamReader {
  // Some actions are reported only when they are done; their request then comes with the result.
  const requested = new Set<string>();

  function readItem(type: string, item: Fields, turn: TurnWriter): boolean {
    const itemType = textOf(item["type"]) ?? "";
    if (actionItems.includes(itemType)) return readAction(type, item, turn);
    if (itemType === "todo_list") {
      const summary = todoSummary(item);
      turn.emit("progress", `${type}:todo_list`, summary, { summary });
      return true;
    }
    if (type !== "item.completed") return false;
    const text = textOf(item["text"]) ?? textOf(item["message"]) ?? "";
    switch (itemType) {
      case "agent_message":
        turn.answer(`${type}:agent_message`, text);
        return true;
      case "reasoning":
        turn.emit("reasoning", `${type}:reasoning`, text, { text });
        return true;
      case "error":
        // A warning: only turn.failed is a failure.
        turn.emit("diagnostic", `${type}:error`, text, { severity: "warning", text });
        return true;
      default:
        return false;
    }
  }

  function readAction(type: string, item: Fields, turn: TurnWriter): boolean {
    if (type === "item.updated") return false;
    const id = textOf(item["id"]);
    const kind = textOf(item["type"]) ?? "";
    const typeName = `${type}:${kind}`;
    if (id === null || !requested.has(id)) {
      if (id !== null) requested.add(id);
      turn.request(typeName, { id, kind, name: actionName(item), arguments: actionArguments(item) });
    }
    if (type === "item.completed") {
      if (id !== null) requested.delete(id);
      turn.result(typeName, {
        id,
        kind,
        status: statusOf(item),
        output: actionOutput(item),
        ...("exit_code" in item ? { details: { exit_code: numberOf(item["exit_code"]) } } : {}),
      });
    }
    return true;
  }

  return {
    read(record, turn) {
      const type = textOf(record["type"]) ?? "";
      switch (type) {
        case "thread.started":
          turn.introduce(type);
          return;
        case "turn.started":
          turn.emit("progress", type, "turn started", { summary: "turn started" });
          return;
        case "item.started":
        case "item.updated":
        case "item.completed":
          if (!readItem(type, fieldsOf(record["item"]), turn)) passThrough(record, turn);
          return;
        case "turn.completed":
          turn.complete(
            type,
            { status: "success", resultText: null, usage: usageOfTurn(record) },
            tokensIn(record),
          );
          return;
        case "turn.failed": {
          const reason = textOf(fieldsOf(record["error"])["message"]);
          const errorText = reason === null ? null : readableError(reason);
          turn.complete(type, { status: "error", errorText, usage: usageOfTurn(record) }, tokensIn(record));
          return;
        }
        case "error": {
          const text = readableError(textOf(record["message"]) ?? "error");
          turn.noteError(text);
          turn.emit("diagnostic", type, text, { severity: "error", text });
          return;
        }
        default:
          passThrough(record, turn);
      }
    },
  };
}

/** Counts of the whole conversation once it was resumed. */
function usageOfTurn(record: Fields) {
  return usageOf(record["usage"], {
    input_tokens: "input_tokens",
    cached_input_tokens: "cached_input_tokens",
    output_tokens: "output_tokens",
    reasoning_tokens: "reasoning_output_tokens",
  });
}

function tokensIn(record: Fields): Record<string, unknown> {
  if (record["usage"] === undefined) return {};
  return { tokens: [{ model: null, ...codexTokens(record["usage"]) }], tokens_of: "conversation" };
}

/** In the words that all tools share: success, error, or the tool's own for anything else. */
function statusOf(item: Fields): string {
  const status = textOf(item["status"]) ?? "completed";
  if (status === "completed") return "success";
  return status === "failed" || status === "declined" ? "error" : status;
}

function actionName(item: Fields): string {
  const tool = textOf(item["tool"]);
  const server = textOf(item["server"]);
  if (tool !== null) return server === null ? tool : `${server}.${tool}`;
  return textOf(item["type"]) ?? "action";
}

const argumentKeys = ["command", "query", "changes", "prompt"];

function actionArguments(item: Fields): unknown {
  if ("arguments" in item) return item["arguments"];
  return Object.fromEntries(argumentKeys.filter((key) => key in item).map((key) => [key, item[key]]));
}

function actionOutput(item: Fields): string {
  const error = textOf(fieldsOf(item["error"])["message"]);
  if (error !== null) return error;
  const output = item["aggregated_output"] ?? item["result"];
  return output === undefined || output === null ? "" : renderValue(output);
}

function todoSummary(item: Fields): string {
  const items = itemsOf(item["items"]).map(fieldsOf);
  return `${items.filter((one) => one["completed"] === true).length} of ${items.length} tasks done`;
}
