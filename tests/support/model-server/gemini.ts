import {
  eventFrame,
  type Frame,
  items,
  type Json,
  member,
  type Protocol,
  resultsSincePerson,
  type Said,
  textOf,
  type Understood,
} from "./protocol.ts";
import type { Purpose } from "./records.ts";
import { type Speech, spokenText } from "./scenario.ts";
import type { ModelUsage } from "./usage.ts";

/** The Gemini API: `POST /v1beta/models/<model>:<method>`, streamed as unnamed events without a last mark. */
export const gemini: Protocol = {
  name: "gemini",
  accepts: (method, path) => method === "POST" && path.startsWith("/v1beta/models/"),
  understand({ path, body }) {
    const contents = items(member(body, "contents")).filter((content) => member(content, "role") === "user");
    const userTexts = contents.flatMap(personTexts);
    const said = contents.flatMap(saidIn);
    return {
      purpose: purposeOf(path, body, userTexts.at(-1) ?? ""),
      model: /models\/([^:?]+)/.exec(path)?.[1] ?? "",
      streamed: path.includes(":streamGenerateContent"),
      headless: null,
      userTexts,
      toolAnswered: partsOf(contents.at(-1)).some((part) => member(part, "functionResponse") !== undefined),
      toolResults: resultsSincePerson(said),
      skillTexts: said.map(({ text }) => text).filter((text) => text.startsWith("<activated_skill ")),
    };
  },
  sideText: ({ purpose }) => (purpose === "router" ? routerAnswer : null),
  frames,
  whole: (speech, understood, usage) =>
    understood.purpose === "count_tokens"
      ? { totalTokens: usage.input }
      : chunk({ understood, usage }, [{ text: spokenText(speech) }], "STOP"),
  failure: (status) => ({
    error: {
      code: status,
      message: `scripted failure ${status}`,
      status: errorStatuses[status] ?? "UNAVAILABLE",
    },
  }),
};

const errorStatuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
};

/** One object for every question that Gemini CLI asks beside a turn. */
const routerAnswer = JSON.stringify({
  model_choice: "flash",
  complexity_score: 10,
  complexity_reasoning: "scripted",
  reasoning: "scripted",
  next_speaker: "user",
});

function* frames(speech: Speech, understood: Understood, usage: ModelUsage): Generator<Frame> {
  const frame = (parts: object[], afterMs = 0, finish?: string): Frame => ({
    afterMs,
    text: eventFrame(chunk({ understood, usage }, parts, finish)),
  });
  for (const { afterMs, text } of speech.words) yield { ...frame([{ text }], afterMs), word: true };
  if (speech.command) {
    const args = { command: speech.command.command, description: "Run a command" };
    yield frame([{ functionCall: { name: "run_shell_command", args } }]);
  }
  if (speech.mcp) {
    const { tool, input } = speech.mcp;
    yield frame([{ functionCall: { name: `mcp_svc_${tool}`, args: input } }]);
  }
  if (speech.skill !== null) {
    yield frame([{ functionCall: { name: "activate_skill", args: { name: speech.skill } } }]);
  }
  yield frame([{ text: "" }], 0, "STOP");
}

function chunk(
  { understood, usage }: { understood: Understood; usage: ModelUsage },
  parts: object[],
  finishReason?: string,
) {
  return {
    candidates: [{ content: { role: "model", parts }, index: 0, ...(finishReason ? { finishReason } : {}) }],
    usageMetadata: {
      promptTokenCount: usage.input,
      cachedContentTokenCount: usage.cached,
      candidatesTokenCount: usage.output - usage.reasoning,
      thoughtsTokenCount: usage.reasoning,
      totalTokenCount: usage.input + usage.output,
    },
    modelVersion: understood.model,
  };
}

function partsOf(content: Json | undefined): readonly Json[] {
  return items(member(content, "parts"));
}

function personTexts(content: Json): string[] {
  const texts = partsOf(content).map((part) => textOf(member(part, "text")));
  // A file that a prompt names follows it in parts of its own, up to the end of the turn.
  const files = texts.findIndex((text) => text.startsWith("\n--- Content from referenced files"));
  const said = files === -1 ? texts : texts.slice(0, files);
  return said.filter((text) => text !== "" && !notes.some((note) => text.startsWith(note)));
}

function saidIn(content: Json): Said[] {
  const answers = partsOf(content).map((part) => member(member(part, "functionResponse"), "response"));
  const results = answers.filter((answer) => answer !== undefined);
  return [
    ...results.map((answer) => ({ by: "tool" as const, text: textOf(member(answer, "output")) })),
    ...personTexts(content).map((text) => ({ by: "person" as const, text })),
  ];
}

/** What Gemini CLI itself says in the user's role. */
const notes = ["<session_context>", "\n<system_note>"];

function purposeOf(path: string, body: Json, newest: string): Purpose {
  if (path.includes(":countTokens")) return "count_tokens";
  if (newest.includes("<state_snapshot>")) return "compaction";
  if (path.includes(":generateContent")) {
    const config = member(body, "generationConfig");
    return member(config, "responseMimeType") === "application/json" ? "router" : "other";
  }
  return "turn";
}
