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

/** Chat Completions, as opencode speaks it: `POST /v1/chat/completions`, streamed up to `[DONE]`. */
export const chatCompletions: Protocol = {
  name: "chat_completions",
  accepts: (method, path) => method === "POST" && path.startsWith("/v1/chat/completions"),
  understand({ body }) {
    const messages = items(member(body, "messages"));
    const userTexts = messages.filter((message) => member(message, "role") === "user").flatMap(personTexts);
    return {
      purpose: purposeOf(body, messages, userTexts.at(-1) ?? ""),
      model: textOf(member(body, "model")),
      streamed: member(body, "stream") === true,
      headless: null,
      userTexts,
      toolAnswered: member(messages.at(-1), "role") === "tool",
      toolResults: resultsSincePerson(messages.flatMap(saidIn)),
      // Its CLI was never seen to hand over a skill: it fetches a program for that from the network first.
      skillTexts: [],
    };
  },
  sideText: ({ purpose }) => (purpose === "title" ? "Fixture session" : null),
  frames,
  whole: (speech, understood, usage) => ({
    id: mintId("chatcmpl"),
    object: "chat.completion",
    created: seconds(),
    model: understood.model,
    choices: [
      { index: 0, message: { role: "assistant", content: spokenText(speech) }, finish_reason: "stop" },
    ],
    usage: usageOf(usage),
  }),
  failure: (status) => ({
    error: {
      type: status === 400 ? "invalid_request_error" : "server_error",
      message: `scripted failure ${status}`,
    },
  }),
};

function* frames(speech: Speech, understood: Understood, usage: ModelUsage): Generator<Frame> {
  const base = {
    id: mintId("chatcmpl"),
    object: "chat.completion.chunk",
    created: seconds(),
    model: understood.model,
  };
  const frame = (delta: object, afterMs = 0, finish: string | null = null): Frame => ({
    afterMs,
    text: eventFrame({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] }),
  });
  yield frame({ role: "assistant", content: "" });
  for (const { afterMs, text } of speech.words) yield { ...frame({ content: text }, afterMs), word: true };
  const called = callOf(speech);
  if (called) {
    const made = { name: called.name, arguments: JSON.stringify(called.input) };
    yield frame({ tool_calls: [{ index: 0, id: mintId("call"), type: "function", function: made }] });
  }
  yield frame({}, 0, called ? "tool_calls" : "stop");
  yield { afterMs: 0, text: eventFrame({ ...base, choices: [], usage: usageOf(usage) }) };
  yield { afterMs: 0, text: "data: [DONE]\n\n" };
}

function callOf({ command, skill, mcp }: Speech): { name: string; input: object } | null {
  if (mcp) return { name: `svc_${mcp.tool}`, input: mcp.input };
  if (skill !== null) return { name: "skill", input: { name: skill } };
  if (command === null) return null;
  return { name: "bash", input: { command: command.command, description: "Run a command" } };
}

function usageOf({ input, cached, output, reasoning }: ModelUsage) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}

function personTexts(message: Json): string[] {
  const content = member(message, "content");
  const texts =
    typeof content === "string" ? [content] : items(content).map((part) => textOf(member(part, "text")));
  return texts.filter((text) => text !== "");
}

function saidIn(message: Json): Said[] {
  const role = member(message, "role");
  if (role === "tool") return [{ by: "tool", text: textOf(member(message, "content")) }];
  return role === "user" ? personTexts(message).map((text) => ({ by: "person", text })) : [];
}

function purposeOf(body: Json, messages: readonly Json[], newest: string): Purpose {
  const system = messages.filter((message) => member(message, "role") === "system");
  if (system.some((message) => textOf(member(message, "content")).includes("title generator")))
    return "title";
  if (items(member(body, "tools")).length > 0) return "turn";
  return newest.includes("summar") ? "compaction" : "other";
}
