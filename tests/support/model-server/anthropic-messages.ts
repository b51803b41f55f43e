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

/** Anthropic Messages, as Claude Code speaks it: `POST /v1/messages`, streamed with named events. */
export const anthropicMessages: Protocol = {
  name: "anthropic_messages",
  accepts: (method, path) => method === "POST" && path.startsWith("/v1/messages"),
  understand({ path, headers, body }) {
    const messages = items(member(body, "messages")).filter((message) => member(message, "role") === "user");
    const userTexts = messages.flatMap(personTexts);
    return {
      purpose: purposeOf(path, body, userTexts.at(-1) ?? ""),
      model: textOf(member(body, "model")),
      streamed: member(body, "stream") === true,
      headless: headlessOf(headers.get("user-agent") ?? ""),
      userTexts,
      // A prompt after a tool that was refused travels behind the refusal, in the same message.
      toolAnswered: endsInToolResult(messages.at(-1) ?? null),
      toolResults: resultsSincePerson(messages.flatMap(saidIn)),
      skillTexts: messages
        .flatMap((message) => blocksOf(message).map((block) => textOf(member(block, "text"))))
        .filter((text) => text.startsWith(skillNote)),
    };
  },
  sideText: ({ purpose }) => (purpose === "title" ? JSON.stringify({ title: "Fixture session" }) : null),
  frames,
  whole: (speech, understood, usage) =>
    understood.purpose === "count_tokens"
      ? { input_tokens: usage.input }
      : {
          ...message(understood, usage, usage.output),
          content: [{ type: "text", text: spokenText(speech) }],
          stop_reason: "end_turn",
        },
  failure: (status) => ({
    type: "error",
    error: { type: errorTypes[status] ?? "api_error", message: `scripted failure ${status}` },
    request_id: mintId("req"),
  }),
};

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

function* frames(speech: Speech, understood: Understood, usage: ModelUsage): Generator<Frame> {
  const event = (name: string, fields: object, afterMs = 0): Frame => ({
    afterMs,
    text: eventFrame({ type: name, ...fields }, name),
  });
  yield event("message_start", { message: message(understood, usage, 1) });
  yield event("ping", {});
  yield event("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
  for (const { afterMs, text } of speech.words) {
    yield {
      ...event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }, afterMs),
      word: true,
    };
  }
  yield event("content_block_stop", { index: 0 });
  const call = callOf(speech);
  if (call) {
    const { name, input } = call;
    const block = { type: "tool_use", id: mintId("toolu"), name, input: {} };
    yield event("content_block_start", { index: 1, content_block: block });
    const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
    yield event("content_block_delta", { index: 1, delta });
    yield event("content_block_stop", { index: 1 });
  }
  const delta = { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null };
  yield event("message_delta", {
    delta,
    usage: {
      output_tokens: usage.output,
      output_tokens_details: { thinking_tokens: usage.reasoning },
    },
  });
  yield event("message_stop", {});
}

function callOf({ command, skill, mcp, questions }: Speech): { name: string; input: object } | null {
  if (questions) return { name: "AskUserQuestion", input: { questions } };
  if (mcp) return { name: `mcp__svc__${mcp.tool}`, input: mcp.input };
  if (skill !== null) return { name: "Skill", input: { skill } };
  if (command === null) return null;
  return { name: "Bash", input: { command: command.command, description: "Run a command" } };
}

function message(understood: Understood, usage: ModelUsage, output: number) {
  return {
    id: mintId("msg"),
    type: "message",
    role: "assistant",
    model: understood.model,
    content: [],
    stop_reason: null as string | null,
    stop_sequence: null,
    usage: {
      input_tokens: usage.input - usage.cached - usage.cacheWrite,
      output_tokens: output,
      cache_creation_input_tokens: usage.cacheWrite,
      cache_read_input_tokens: usage.cached,
    },
  };
}

function blocksOf(message: Json | undefined): readonly Json[] {
  return items(member(message, "content"));
}

function personTexts(message: Json): string[] {
  const content = member(message, "content");
  const texts =
    typeof content === "string" ? [content] : blocksOf(message).map((block) => textOf(member(block, "text")));
  return texts.filter((text) => text !== "" && !isNote(text));
}

function saidIn(message: Json): Said[] {
  const results = blocksOf(message).filter((block) => member(block, "type") === "tool_result");
  return [
    ...results.map((block) => ({ by: "tool" as const, text: contentText(member(block, "content")) })),
    ...personTexts(message).map((text) => ({ by: "person" as const, text })),
  ];
}

/** Text, or blocks of text. */
function contentText(content: Json | undefined): string {
  return (
    textOf(content) ||
    items(content)
      .map((block) => textOf(member(block, "text")))
      .join("")
  );
}

function endsInToolResult(message: Json): boolean {
  const said = blocksOf(message).filter((block) => !isNote(textOf(member(block, "text"))));
  return member(said.at(-1), "type") === "tool_result";
}

const isNote = (text: string) => notes.some((note) => text.startsWith(note));

/** What Claude Code itself says in the user's role. */
const skillNote = "Base directory for this skill: ";
const notes = ["<system-reminder>", "[Image: source: ", skillNote];

function purposeOf(path: string, body: Json, newest: string): Purpose {
  if (path.startsWith("/v1/messages/count_tokens")) return "count_tokens";
  if (items(member(body, "tools")).length === 0) return "title";
  return newest.includes("create a detailed summary of the conversation") ? "compaction" : "turn";
}

function headlessOf(userAgent: string): boolean | null {
  if (userAgent.includes("sdk-cli")) return true;
  return userAgent.startsWith("claude-cli/") ? false : null;
}
