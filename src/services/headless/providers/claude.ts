import type { TokenUsage } from "../../../protocol/usage.ts";
import { type Fields, fieldsOf, isFields, itemsOf, numberOf, renderValue, textOf } from "../json-fields.ts";
import type { HeadlessProvider, ProviderTurn } from "../provider.ts";
import { modelFlags, presetOf, programOf, sessionFlags } from "../provider.ts";
import {
  createStreamParser,
  passThrough,
  type StreamReader,
  type TurnWriter,
  usageOf,
} from "../stream-parser.ts";
import { addTokens, claudeTokens, hasTokens, noTokens } from "../turn-usage.ts";

/** Claude Code in print mode. Recordings: tests/streams/claude. Source: reference/real-clis.md 3. */
export const claude: HeadlessProvider = {
  tool: "claude",
  ladder: (model) => ({
    levels:
      model !== null && /opus/i.test(model) ? ["low", "medium", "high", "max"] : ["low", "medium", "high"],
    off: null,
  }),
  command(turn) {
    const preset = presetOf(claude, turn);
    return {
      argv: [
        ...programOf(turn),
        ...modelFlags(turn),
        ...(preset === null ? [] : ["--effort", preset]),
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        ...sessionFlags(turn, { exact: "--resume", last: ["--continue"] }),
        ...roleFlags(turn),
      ],
      stdin: turn.prompt,
      env: {},
    };
  },
  parser: ({ turnIndex }) =>
    createStreamParser({ provider: "claude", turnIndex, writesTerminal: true }, createReader()),
};

/** With each turn: 2.1.197 does not keep it in the conversation, measured in the lab. */
function roleFlags({ rolePrompt }: ProviderTurn): string[] {
  return rolePrompt === null ? [] : ["--append-system-prompt", rolePrompt];
}

function createReader(): StreamReader {
  let model: string | null = null;
  return {
    read(record, turn) {
      switch (record["type"]) {
        case "system":
          if (record["subtype"] === "init") model = textOf(record["model"]);
          return readSystem(record, turn);
        case "assistant":
          return readBlocks(record, turn, readAssistantBlock);
        case "user":
          return readBlocks(record, turn, readUserBlock);
        case "stream_event":
          return readPartial(record, turn);
        case "result":
          return readResult(record, turn, model);
        default:
          return passThrough(record, turn);
      }
    },
  };
}

function readSystem(record: Fields, turn: TurnWriter): void {
  const subtype = textOf(record["subtype"]) ?? "system";
  const type = `system.${subtype}`;
  if (subtype === "init") {
    turn.introduce(type, { model: textOf(record["model"]) });
    return;
  }
  const summary = [subtype, textOf(record["status"]) ?? ""].join(" ").trim();
  turn.emit("progress", type, summary, { summary });
}

type BlockReader = (block: Fields, turn: TurnWriter) => boolean;

/** Text alone stands for one block of text. A record of which no block is understood passes through. */
function readBlocks(record: Fields, turn: TurnWriter, read: BlockReader): void {
  const content = fieldsOf(record["message"])["content"];
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : itemsOf(content);
  let understood = 0;
  for (const block of blocks) if (isFields(block) && read(block, turn)) understood += 1;
  if (understood === 0) passThrough(record, turn);
}

function readAssistantBlock(block: Fields, turn: TurnWriter): boolean {
  switch (block["type"]) {
    case "text":
      turn.answer("assistant.text", textOf(block["text"]) ?? "");
      return true;
    case "thinking": {
      const text = textOf(block["thinking"]) ?? "";
      turn.emit("reasoning", "assistant.thinking", text, { text });
      return true;
    }
    case "tool_use":
    case "server_tool_use":
      turn.request("assistant.tool_use", {
        id: textOf(block["id"]),
        kind: "tool",
        name: textOf(block["name"]) ?? "tool",
        arguments: block["input"] ?? {},
      });
      return true;
    default:
      return false;
  }
}

function readUserBlock(block: Fields, turn: TurnWriter): boolean {
  if (block["type"] === "tool_result") {
    turn.result("user.tool_result", {
      id: textOf(block["tool_use_id"]),
      kind: "tool",
      status: block["is_error"] === true ? "error" : "success",
      output: outputOf(block["content"]),
    });
    return true;
  }
  const text = textOf(block["text"]);
  if (!text?.startsWith("[Request interrupted")) return false;
  turn.emit("diagnostic", "user.interrupted", text, { severity: "warning", text });
  return true;
}

/** A tool's result: text, or blocks of which those with text count. */
function outputOf(content: unknown): string {
  if (!Array.isArray(content)) return content === undefined ? "" : renderValue(content);
  return content.map((block) => textOf(fieldsOf(block)["text"]) ?? "").join("\n");
}

/** Pieces of an answer, with `--include-partial-messages` among the launch's arguments; the whole follows. */
function readPartial(record: Fields, turn: TurnWriter): void {
  const delta = fieldsOf(fieldsOf(record["event"])["delta"]);
  const text = textOf(delta["text"]);
  if (delta["type"] === "text_delta" && text !== null) turn.piece("stream_event.text_delta", text);
  else passThrough(record, turn);
}

function readResult(record: Fields, turn: TurnWriter, model: string | null): void {
  const subtype = textOf(record["subtype"]) ?? "result";
  const resultText = textOf(record["result"]);
  const usage = usageOf(record["usage"], {
    input_tokens: "input_tokens",
    cached_input_tokens: "cache_read_input_tokens",
    output_tokens: "output_tokens",
  });
  const details = {
    subtype,
    result_text: resultText,
    stop_reason: record["stop_reason"] ?? null,
    duration_ms: record["duration_ms"] ?? null,
    total_cost_usd: record["total_cost_usd"] ?? null,
    num_turns: record["num_turns"] ?? null,
    tokens: tokensOfResult(record, model),
  };
  const type = `result.${subtype}`;
  if (record["is_error"] !== true && subtype === "success") {
    turn.complete(type, { status: "success", resultText, usage }, details);
    return;
  }
  turn.complete(
    type,
    { status: "error", errorText: resultText || describeError(subtype, record), usage },
    details,
  );
}

/**
 * By model where `modelUsage` adds up to `usage`, which is of this turn; else of the model that the stream
 * named. Measured with 2.1.197.
 */
function tokensOfResult(record: Fields, model: string | null): TokenUsage[] {
  const whole = claudeTokens(record["usage"]);
  const byModel = Object.entries(fieldsOf(record["modelUsage"])).map(([name, counts]) =>
    tokensOfModel(name, fieldsOf(counts)),
  );
  const sum = byModel.reduce((all, one) => addTokens(all, one), noTokens);
  const addsUp = sum.input_tokens === whole.input_tokens && sum.output_tokens === whole.output_tokens;
  const counted = byModel.length > 0 && addsUp ? byModel : [{ model, ...whole }];
  return counted.filter(hasTokens);
}

function tokensOfModel(model: string, counts: Fields): TokenUsage {
  const count = (name: string) => Math.max(0, Math.trunc(numberOf(counts[name]) ?? 0));
  const cached = count("cacheReadInputTokens");
  const written = count("cacheCreationInputTokens");
  return {
    model,
    input_tokens: count("inputTokens") + cached + written,
    cached_input_tokens: cached,
    cache_write_tokens: written,
    output_tokens: count("outputTokens"),
    reasoning_tokens: 0,
  };
}

function describeError(subtype: string, record: Fields): string {
  const reason = textOf(record["terminal_reason"]);
  const errors = itemsOf(record["errors"])
    .map(renderValue)
    .filter((error) => !error.startsWith("[ede_diagnostic]"));
  return [reason === null ? subtype : `${subtype} (${reason})`, ...errors].join(": ");
}
