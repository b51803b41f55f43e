import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { AguiMessage, AguiRunInput } from "../../protocol/agui.ts";
import { ChatSession, Execution } from "../../protocol/gateway.ts";
import { chatSessionProblem } from "../queue/admission.ts";
import { isObject, withoutNulls } from "./json.ts";
import { renderPrompt } from "./prompt.ts";

/** The work that a run asks for. */
export interface RunTask {
  prompt: string;
  chatSession?: ChatSession;
  execution?: Execution;
}

export type Converted = { ok: true; task: RunTask } | { ok: false; reason: string };

/** The work of a run, or why there is none in it, as a clause for people. Pure. Source: spec/mailbox-agui.md C. */
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

/** The text of a message: its parts of type text on lines of their own. */
function textOf({ content }: AguiMessage): string {
  if (typeof content === "string") return content;
  return Array.isArray(content)
    ? content
        .filter(isTextPart)
        .map((part) => part.text)
        .join("\n")
    : "";
}
