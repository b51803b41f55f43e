import type { ProtocolName } from "./records.ts";

/** How a client of one protocol asks, and how it reads the answer. */
interface Ask {
  protocol: ProtocolName;
  path: string;
  /** The body of a streamed turn whose user texts are `texts`; `tools: false` makes it a side request. */
  body: (
    texts: readonly string[],
    options?: { tools?: boolean; toolResult?: boolean; stream?: boolean },
  ) => object;
  /** The words of a streamed answer. */
  words: (stream: string) => string;
  /** What stands at the end of a whole stream. */
  lastMark: string;
  toolMark: string;
  /**
   * How the client has a skill opened by the model, and how its text comes; null where that was never seen.
   */
  skill: { callMark: string | null; body: (text: string) => object } | null;
}

/** One sample client per protocol. */
export const asks: readonly Ask[] = [
  {
    protocol: "anthropic_messages",
    path: "/v1/messages?beta=true",
    body: (texts, { tools = true, toolResult = false, stream = true } = {}) => ({
      model: "m",
      stream,
      tools: tools ? [{ name: "Bash" }] : [],
      messages: [
        ...texts.map((text) => ({
          role: "user",
          content: [
            { type: "text", text: "<system-reminder>a note</system-reminder>" },
            { type: "text", text },
          ],
        })),
        ...(toolResult
          ? [{ role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "done" }] }]
          : []),
      ],
    }),
    words: (stream) =>
      events(stream)
        .map((event) => event?.delta?.text ?? "")
        .join(""),
    lastMark: "message_stop",
    toolMark: '"tool_use"',
    skill: {
      callMark: '"Skill"',
      body: (text) => ({
        tools: [{ name: "Skill" }],
        messages: [
          { role: "user", content: [{ type: "text", text: "hello" }] },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "t", content: "Launching skill: s" },
              { type: "text", text: `Base directory for this skill: /s\n\n${text}` },
            ],
          },
        ],
      }),
    },
  },
  {
    protocol: "openai_responses",
    path: "/v1/responses",
    body: (texts, { tools = true, toolResult = false, stream = true } = {}) => ({
      model: "m",
      stream,
      tools: tools ? [{ name: "exec_command" }] : [],
      input: [
        {
          role: "user",
          content: [{ type: "input_text", text: "<environment_context>x</environment_context>" }],
        },
        ...texts.map((text) => ({ role: "user", content: [{ type: "input_text", text }] })),
        ...(toolResult ? [{ type: "function_call_output", call_id: "c", output: "done" }] : []),
      ],
    }),
    words: (stream) =>
      events(stream)
        .map((event) => (event?.type === "response.output_text.delta" ? event.delta : ""))
        .join(""),
    lastMark: "response.completed",
    toolMark: '"exec_command"',
    skill: {
      callMark: null,
      body: (text) => ({
        tools: [{ name: "exec_command" }],
        input: ["hello", `<skill>\n<name>s</name>\n${text}</skill>`].map((said) => ({
          role: "user",
          content: [{ type: "input_text", text: said }],
        })),
      }),
    },
  },
  {
    protocol: "gemini",
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: (texts, { toolResult = false } = {}) => ({
      contents: [
        { role: "user", parts: [{ text: "<session_context>x</session_context>" }] },
        ...texts.map((text) => ({ role: "user", parts: [{ text }] })),
        ...(toolResult
          ? [{ role: "user", parts: [{ functionResponse: { name: "t", response: { output: "done" } } }] }]
          : []),
      ],
    }),
    words: (stream) =>
      events(stream)
        .map((event) => event?.candidates?.[0]?.content.parts[0]?.text ?? "")
        .join(""),
    lastMark: '"finishReason":"STOP"',
    toolMark: '"functionCall"',
    skill: {
      callMark: '"activate_skill"',
      body: (text) => {
        const response = { output: `<activated_skill name="s">${text}` };
        return {
          contents: [
            { role: "user", parts: [{ text: "hello" }] },
            { role: "user", parts: [{ functionResponse: { name: "activate_skill", response } }] },
          ],
        };
      },
    },
  },
  {
    protocol: "chat_completions",
    path: "/v1/chat/completions",
    body: (texts, { tools = true, toolResult = false, stream = true } = {}) => ({
      model: "m",
      stream,
      tools: tools ? [{ type: "function", function: { name: "bash" } }] : [],
      messages: [
        { role: "system", content: tools ? "you are an agent" : "You are a title generator" },
        ...texts.map((text) => ({ role: "user", content: text })),
        ...(toolResult ? [{ role: "tool", tool_call_id: "c", content: "done" }] : []),
      ],
    }),
    words: (stream) =>
      events(stream)
        .map((event) => event?.choices?.[0]?.delta?.content ?? "")
        .join(""),
    lastMark: "data: [DONE]",
    toolMark: '"tool_calls":[',
    skill: null,
  },
];

// biome-ignore lint/suspicious/noExplicitAny: a test reads four foreign shapes
function events(stream: string): any[] {
  return [...stream.matchAll(/^data: (\{.*)$/gm)].map((match) => JSON.parse(match[1] ?? "null"));
}
