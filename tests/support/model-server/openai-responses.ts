import {
  eventFrame,
  type Frame,
  items,
  type Json,
  member,
  mintId,
  type Protocol,
  resultsSincePerson,
  type Said,
  textOf,
  type Understood,
} from "./protocol.ts";
import type { Purpose } from "./records.ts";
import { type Speech, spokenText } from "./scenario.ts";
import type { ModelUsage } from "./usage.ts";

/** OpenAI Responses, as Codex speaks it: `POST /v1/responses`, streamed with numbered events. */
export const openaiResponses: Protocol = {
  name: "openai_responses",
  accepts: (method, path) => method === "POST" && path.startsWith("/v1/responses"),
  understand({ headers, body }) {
    const input = items(member(body, "input"));
    const userTexts = input.filter((item) => member(item, "role") === "user").flatMap(personTexts);
    return {
      purpose: purposeOf(body, userTexts.at(-1) ?? ""),
      model: textOf(member(body, "model")),
      streamed: member(body, "stream") === true,
      headless: headlessOf(headers),
      userTexts,
      toolAnswered: isToolResult(input.at(-1)),
      toolResults: resultsSincePerson(input.flatMap(saidIn)),
      skillTexts: input.flatMap(textsOf).filter((text) => text.startsWith(skillNote)),
    };
  },
  sideText: ({ purpose }) => (purpose === "title" ? JSON.stringify({ title: "Fixture session" }) : null),
  frames,
  whole: (speech, understood, usage) => ({
    ...response(understood),
    status: "completed",
    output: [messageItem(mintId("msg"), spokenText(speech))],
    usage: usageOf(usage),
  }),
  failure: (status) => ({
    error: {
      type:
        status === 400 ? "invalid_request_error" : status === 429 ? "rate_limit_exceeded" : "server_error",
      code: status === 401 ? "invalid_api_key" : null,
      message: `scripted failure ${status}`,
      param: null,
    },
  }),
};

function* frames(speech: Speech, understood: Understood, usage: ModelUsage): Generator<Frame> {
  let sequence = 0;
  const event = (type: string, fields: object, afterMs = 0): Frame => ({
    afterMs,
    text: eventFrame({ type, sequence_number: sequence++, ...fields }, type),
  });
  const base = response(understood);
  const id = mintId("msg");
  const text = spokenText(speech);
  const at = { item_id: id, output_index: 0, content_index: 0 };
  yield event("response.created", { response: base });
  yield event("response.in_progress", { response: base });
  const empty = { ...messageItem(id, ""), status: "in_progress", content: [] };
  yield event("response.output_item.added", { output_index: 0, item: empty });
  yield event("response.content_part.added", { ...at, part: textPart("") });
  for (const { afterMs, text: delta } of speech.words) {
    yield { ...event("response.output_text.delta", { ...at, delta }, afterMs), word: true };
  }
  yield event("response.output_text.done", { ...at, text });
  yield event("response.content_part.done", { ...at, part: textPart(text) });
  yield event("response.output_item.done", { output_index: 0, item: messageItem(id, text) });
  const output: object[] = [messageItem(id, text)];
  const item = callOf(speech);
  if (item) {
    output.push(item);
    yield event("response.output_item.added", { output_index: 1, item: { ...item, status: "in_progress" } });
    yield event("response.output_item.done", { output_index: 1, item });
  }
  const response_ = { ...base, status: "completed", output, usage: usageOf(usage) };
  yield event("response.completed", { response: response_ });
}

function callOf({ command, mcp }: Speech): object | null {
  if (!mcp) return command && callItem(command);
  return {
    type: "function_call",
    id: mintId("fc"),
    call_id: mintId("call"),
    namespace: "mcp__svc",
    name: mcp.tool,
    arguments: JSON.stringify(mcp.input),
    status: "completed",
  };
}

function callItem(command: { command: string; escalate: boolean }) {
  const escalation = {
    sandbox_permissions: "require_escalated",
    justification: "The fixture asks for approval",
  };
  return {
    type: "function_call",
    id: mintId("fc"),
    call_id: mintId("call"),
    name: "exec_command",
    arguments: JSON.stringify({ cmd: command.command, ...(command.escalate ? escalation : {}) }),
    status: "completed",
  };
}

function response(understood: Understood) {
  return {
    id: mintId("resp"),
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status: "in_progress",
    model: understood.model,
    output: [],
    usage: null,
    error: null,
  };
}

function messageItem(id: string, text: string) {
  return { type: "message", id, status: "completed", role: "assistant", content: [textPart(text)] };
}

function textPart(text: string) {
  return { type: "output_text", text, annotations: [] };
}

function usageOf({ input, cached, output, reasoning }: ModelUsage) {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

function textsOf(item: Json): string[] {
  return items(member(item, "content")).map((part) => textOf(member(part, "text")));
}

function personTexts(item: Json): string[] {
  return textsOf(item).filter((text) => text !== "" && !isNote(text));
}

const isToolResult = (item: Json | undefined) => textOf(member(item, "type")).endsWith("_call_output");

function saidIn(item: Json): Said[] {
  if (isToolResult(item)) {
    const output = member(item, "output");
    // Of an MCP tool it is a list of parts.
    const parts = items(output).map((part) => textOf(member(part, "text")));
    return [{ by: "tool", text: textOf(output) || parts.join("") }];
  }
  if (member(item, "role") !== "user") return [];
  return personTexts(item).map((text) => ({ by: "person", text }));
}

/** A skill that a prompt names as `$name`. */
const skillNote = "<skill>\n";
/** Codex tells the model about its surroundings, and hands it skills, in the user's role. */
const notes = ["<environment_context>", "# AGENTS.md instructions", skillNote];
const isNote = (text: string) => notes.some((note) => text.startsWith(note));

function purposeOf(body: Json, newest: string): Purpose {
  if (newest.includes("CONTEXT CHECKPOINT COMPACTION")) return "compaction";
  return items(member(body, "tools")).length === 0 ? "title" : "turn";
}

function headlessOf(headers: Headers): boolean | null {
  const originator = headers.get("originator");
  return originator === null ? null : originator === "codex_exec";
}
