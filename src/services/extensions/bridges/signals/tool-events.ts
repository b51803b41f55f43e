import { jsonValue } from "../../../../protocol/json.ts";
import type { ToolReport, toolReportKinds } from "../../../../protocol/tool-report.ts";

type Kind = (typeof toolReportKinds)[number];
type Payload = Readonly<Record<string, unknown>>;

/** What an event of a tool says, before it gets its id and time. `prompt` is whole. */
type ReportedEvent = Pick<
  ToolReport,
  "kind" | "session_id" | "turn_id" | "prompt" | "message" | "action" | "transcript_path" | "background"
>;

/**
 * What the payload of a hook of `tool` reports, or null for an event that says nothing to us. Never throws: a
 * payload may be of another version than the ones recorded in tests/signals. Pure.
 */
export function toReportedEvent(tool: string, payload: unknown): ReportedEvent | null {
  if (payload === null || typeof payload !== "object" || Array.isArray(payload)) return null;
  const read = Object.hasOwn(readers, tool) ? readers[tool] : undefined;
  return read?.(payload as Payload) ?? null;
}

/** The events of each tool with command hooks, by the tool's own names; the launch asks for exactly these. */
export const claudeEvents: Readonly<Record<string, Kind>> = {
  SessionStart: "session_started",
  UserPromptSubmit: "prompt_submitted",
  PreToolUse: "tool_started",
  PermissionRequest: "question_asked",
  PostToolUse: "tool_finished",
  Stop: "turn_ended",
  StopFailure: "turn_failed",
  SessionEnd: "session_ended",
};

/**
 * The first version that knows an event which 2.0.0 does not: an earlier one refuses the whole file that
 * names it.
 */
export const claudeEventsSince: Readonly<Partial<Record<string, string>>> = {
  PermissionRequest: "2.0.45",
  StopFailure: "2.1.78",
};

const geminiEvents: Readonly<Record<string, Kind>> = {
  SessionStart: "session_started",
  BeforeAgent: "prompt_submitted",
  BeforeTool: "tool_started",
  Notification: "question_asked",
  AfterTool: "tool_finished",
  AfterAgent: "turn_ended",
  SessionEnd: "session_ended",
};

const readers: Readonly<Record<string, (payload: Payload) => ReportedEvent | null>> = {
  claude: (payload) => commandHook(claudeEvents, payload),
  gemini: (payload) => commandHook(geminiEvents, payload),
  codex: codexNotification,
  // The scripted agent speaks the same language.
  demo: (payload) => commandHook(claudeEvents, payload),
};

function commandHook(events: Readonly<Record<string, Kind>>, payload: Payload): ReportedEvent | null {
  const name = text(payload, "hook_event_name") ?? "";
  const known = Object.hasOwn(events, name) ? events[name] : undefined;
  if (known === undefined) return null;
  // Claude Code 2.1.332 begins a turn by itself when background work has ended.
  const isOwn = known === "prompt_submitted" && isNotice(text(payload, "prompt") ?? "");
  const kind = isOwn ? "own_turn_started" : known;
  const background = kind === "turn_ended" ? backgroundOf(payload["background_tasks"]) : null;
  return {
    kind,
    session_id: text(payload, "session_id"),
    turn_id: text(payload, "prompt_id"),
    prompt: kind === "prompt_submitted" ? text(payload, "prompt") : null,
    message:
      text(payload, "last_assistant_message") ??
      text(payload, "prompt_response") ??
      text(payload, "message") ??
      (kind === "question_asked" ? subjectOf(payload["tool_input"]) : null),
    action: text(payload, "tool_name"),
    transcript_path: text(payload, "transcript_path"),
    ...(background === null ? {} : { background }),
  };
}

const isNotice = (prompt: string) => /^\s*<task-notification\b/.test(prompt);

/** What still runs of the tasks of a turn's end, a line each; null for nothing. */
function backgroundOf(tasks: unknown): string[] | null {
  if (!Array.isArray(tasks)) return null;
  const running = tasks.filter(
    (task): task is Payload => task !== null && typeof task === "object" && task["status"] === "running",
  );
  if (running.length === 0) return null;
  return running.slice(0, 20).map((task) => {
    const words = [text(task, "type") ?? "task", text(task, "description")].filter((one) => one !== null);
    return words.join(": ").slice(0, 200).toWellFormed();
  });
}

/** What a tool call is about, of the input that asks for leave: never what it writes. */
function subjectOf(input: unknown): string | null {
  if (input === null || typeof input !== "object") return null;
  const fields = input as Payload;
  return (
    ["command", "file_path", "notebook_path", "url"]
      .map((key) => text(fields, key))
      .find((one) => one !== null) ?? null
  );
}

/**
 * Codex notifies at the end of a turn only, neither of an interrupted nor of a failed one. `input-messages`
 * are all of the thread, the turn's own last. Beside the first turn it runs a separate one in another thread,
 * which asks the model for a title, and notifies of that too.
 */
function codexNotification(payload: Payload): ReportedEvent | null {
  if (payload["type"] !== "agent-turn-complete") return null;
  const messages = payload["input-messages"];
  const prompt: unknown = Array.isArray(messages) ? messages.at(-1) : null;
  if (typeof prompt === "string" && prompt.startsWith(codexTitlePrompt)) return null;
  return {
    kind: "turn_ended",
    session_id: text(payload, "thread-id"),
    turn_id: text(payload, "turn-id"),
    prompt: typeof prompt === "string" ? prompt : null,
    message: text(payload, "last-assistant-message"),
    action: null,
    transcript_path: null,
  };
}

const codexTitlePrompt = "Generate a concise, single-line task title";

function text(payload: Payload, key: string): string | null {
  const value = payload[key];
  return typeof value === "string" && value !== "" ? value : null;
}

/**
 * The payload of a hook from its text. Of one that was cut off only what comes before the long fields is
 * taken: the tools put their ids first.
 */
export function parsePayload(given: string): unknown {
  const payload = jsonValue(given);
  if (payload !== undefined) return payload;
  const end = given.search(longField);
  return end < 0 ? null : (jsonValue(`${given.slice(0, end)}}`) ?? null);
}

/** The first field that can be long: no text of a tool's payload comes before it. */
const longField = /,"(?:prompt|prompt_response|last_assistant_message|message|tool_input|tool_response)":/;
