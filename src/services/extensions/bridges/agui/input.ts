import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { AguiMessage, AguiRunInput } from "../../../../protocol/agui.ts";
import { ChatSession, Execution } from "../../../../protocol/gateway.ts";
import { sha256 } from "../../../../system/digest.ts";
import { chatSessionProblem } from "../../../queue/eligibility.ts";
import { isObject, withoutNulls } from "./snapshot.ts";

/** The work that a run asks for. */
export interface RunTask {
  prompt: string;
  chatSession?: ChatSession;
  execution?: Execution;
}

type Converted = { ok: true; task: RunTask } | { ok: false; reason: string };

/**
 * The work of a run, or why there is none in it, as a clause for people. Pure. Source: spec/mailbox-agui.md
 * C.
 */
export function toRunTask(input: AguiRunInput): Converted {
  const at = input.messages.findLastIndex(({ role }) => role === "user" || role === "tool");
  const primary = input.messages[at];
  if (!primary) return refused("messages: a user or tool message is needed");
  for (const [index, message] of input.messages.entries()) {
    const problem = message.role === "user" ? partsProblem(message) : null;
    if (problem) return refused(`messages.${index}.content: ${problem}`);
  }
  const text = textOf(primary);
  if (!/[^\s\x00-\x1f\x7f-\x9f]/.test(text)) {
    return refused(`messages.${at}.content: the message that is the task is blank`);
  }
  const svc = isObject(input.forwardedProps) ? input.forwardedProps["svc"] : undefined;
  const asked = isObject(svc) ? svc : {};
  const chatSession = optionOf(ChatSession, asked["chatSession"]);
  const problem = chatSession === "invalid" ? "not a chat session" : chatSessionProblem(chatSession);
  if (chatSession === "invalid" || problem) return refused(`forwardedProps.svc.chatSession: ${problem}`);
  const execution = optionOf(Execution, asked["execution"]);
  if (execution === "invalid") return refused("forwardedProps.svc.execution: not an execution");
  return {
    ok: true,
    task: {
      prompt: renderPrompt(input, { at, text }),
      ...(chatSession ? { chatSession } : {}),
      ...(execution ? { execution } : {}),
    },
  };
}

const refused = (reason: string): Converted => ({ ok: false, reason });

/** A null counts as absent. */
function optionOf<S extends TSchema>(schema: S, value: unknown): Static<S> | "invalid" | undefined {
  if (value === undefined || value === null) return undefined;
  const plain = withoutNulls(value);
  return Value.Check(schema, plain) ? plain : "invalid";
}

function partsProblem({ content }: AguiMessage): string | null {
  if (!Array.isArray(content)) {
    return content == null || typeof content === "string" ? null : "text or parts of type text are needed";
  }
  return content.every(isTextPart) ? null : "only parts of type text are taken";
}

const isTextPart = (part: unknown): part is { text: string } =>
  isObject(part) && part["type"] === "text" && typeof part["text"] === "string";

/** The text of a message: its parts of type text on separate lines. */
function textOf({ content }: AguiMessage): string {
  if (typeof content === "string") return content;
  return Array.isArray(content)
    ? content
        .filter(isTextPart)
        .map((part) => part.text)
        .join("\n")
    : "";
}

/**
 * What the agent is given: the text of the task first, then what else the GUI sent, a section of JSON for
 * each thing that is there. A task that comes alone is given word for word. `primary.at`: its place among the
 * messages. Pure. Source: spec/mailbox-agui.md C.
 */
function renderPrompt(input: AguiRunInput, primary: { at: number; text: string }): string {
  const { threadId, runId, parentRunId } = input;
  const task = input.messages[primary.at];
  const sections = [
    section("Messages before", messagesBefore(input, primary.at)),
    section("State", stateOf(input.state)),
    section("Context", input.context),
    section("Tools of the GUI (they cannot be called from here)", input.tools),
    section("Further properties, by name", propertyNames(input.forwardedProps)),
    section("Answers to interrupts", input.resume),
  ].filter((one) => one !== null);
  if (sections.length === 0 && task?.role === "user") return primary.text;
  const ids = {
    threadId,
    runId,
    ...(parentRunId == null ? {} : { parentRunId }),
    ...(task?.role === "tool" && task.toolCallId != null ? { toolCallId: task.toolCallId } : {}),
  };
  return [primary.text, section("Run", ids), ...sections].join("\n\n");
}

/** Null for what is absent or empty. */
function section(title: string, value: unknown): string | null {
  if (value == null || value === "") return null;
  if (typeof value === "object" && Object.keys(value).length === 0) return null;
  return `${title}:\n${JSON.stringify(value)}`;
}

function messagesBefore({ messages }: AguiRunInput, at: number) {
  return messages.filter(({ role }, index) => index !== at && role !== "activity");
}

/** Our own part of the state came from us. */
function stateOf(state: unknown): unknown {
  if (!isObject(state)) return state;
  const { svc: _, ...others } = state;
  return others;
}

/** A value may be a secret of the GUI's own. */
function propertyNames(properties: unknown): string[] {
  if (!isObject(properties)) return [];
  const ours = properties["svc"];
  const acting = ["chatSession", "execution"];
  return [
    ...Object.keys(properties).filter((key) => key !== "svc"),
    ...(isObject(ours) ? Object.keys(ours) : [])
      .filter((key) => !acting.includes(key))
      .map((key) => `svc.${key}`),
  ];
}

const safe = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/**
 * The turn id of a GUI's run: the run id itself where it can name a turn (the usual UUID does), else one made
 * from it. The same for the same run id, so that a repeated one is known again. Never a path. Pure.
 */
export function toTurnId(runId: string): string {
  if (safe.test(runId)) return runId;
  return `run-${sha256(runId).slice(0, 40)}`;
}
