import type { AguiRunInput } from "../../protocol/agui.ts";
import { isObject } from "./json.ts";

/**
 * What the agent is given: the text of the task first, then what else the GUI sent, a section of JSON for each thing
 * that is there. A task that comes alone is given word for word. `primary.at`: its place among the messages. Pure.
 * Source: spec/mailbox-agui.md C.
 */
export function renderPrompt(input: AguiRunInput, primary: { at: number; text: string }): string {
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
