import type { AguiEvent } from "../../protocol/agui.ts";
import type { TurnEvent } from "../../protocol/turns.ts";
import { isObject, withoutNulls } from "./json.ts";

/** The canonical events of one headless turn in the words of AG-UI. */
export interface TurnTranslator {
  /** In the order of the turn. */
  translate(event: TurnEvent): AguiEvent[];
  /** Closes what is open: before the end of the run. */
  close(): AguiEvent[];
}

/**
 * Ids are made of the run's and of the event's place in the turn. An answer that comes in pieces is one message, sent
 * as it grows; the whole that follows adds what was missing and closes it. Reasoning is sent without its text. Pure
 * but for the message that is open. Source: spec/mailbox-agui.md C.
 */
export function createTurnTranslator(runId: string): TurnTranslator {
  let sequence = 0;
  let open: { messageId: string; text: string } | null = null;
  let lastCall: string | null = null;

  const idOf = (name: string | number) => `${runId}:${name}`;

  function begin(): { messageId: string; text: string } {
    open = { messageId: idOf(sequence), text: "" };
    return open;
  }

  function close(): AguiEvent[] {
    const closing: AguiEvent[] = open ? [{ type: "TEXT_MESSAGE_END", messageId: open.messageId }] : [];
    open = null;
    return closing;
  }

  function piece(delta: string): AguiEvent[] {
    if (delta === "") return [];
    const started = open === null;
    const message = open ?? begin();
    message.text += delta;
    const { messageId } = message;
    return [
      ...(started ? [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" } as const] : []),
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
    ];
  }

  function answer(text: string): AguiEvent[] {
    if (open && text.startsWith(open.text)) return [...piece(text.slice(open.text.length)), ...close()];
    if (open && text.trim() === open.text.trim()) return close();
    return [...close(), ...(text.trim() === "" ? [] : piece(text)), ...close()];
  }

  function call(data: Record<string, unknown>): AguiEvent[] {
    const toolCallId = idOf(actionOf(data) ?? `call-${sequence}`);
    lastCall = toolCallId;
    return [
      ...close(),
      { type: "TOOL_CALL_START", toolCallId, toolCallName: textOf(data["name"]) ?? "action" },
      { type: "TOOL_CALL_ARGS", toolCallId, delta: toArguments(data) },
      { type: "TOOL_CALL_END", toolCallId },
    ];
  }

  function result(data: Record<string, unknown>, message: string): AguiEvent[] {
    const action = actionOf(data);
    const toolCallId = action === null ? (lastCall ?? idOf(`call-${sequence}`)) : idOf(action);
    const content = textOf(data["result_summary"]) || textOf(data["status"]) || message;
    const messageId = `${toolCallId}:result`;
    return [{ type: "TOOL_CALL_RESULT", messageId, toolCallId, role: "tool", content }];
  }

  return {
    close,
    translate({ kind, message, payload }) {
      sequence += 1;
      const data = payload?.data ?? {};
      switch (kind) {
        case "assistant":
          return answer(textOf(data["text"]) ?? message);
        case "action_request":
          return call(data);
        case "action_result":
          return result(data, message);
        case "reasoning":
          return [{ type: "CUSTOM", name: "svc.reasoning_redacted", value: { sequence } }];
        case "progress": {
          const delta = textOf(data["text_delta"]);
          if (delta !== null) return piece(delta);
          return [activity(idOf("progress"), "svc.gateway.progress", { message })];
        }
        case "completion": {
          const { status, usage } = data;
          const content = withoutNulls({ message, status, usage: isObject(usage) ? usage : null });
          return [...close(), activity(idOf("completion"), "svc.gateway.completion", content)];
        }
        case "diagnostic":
          return [{ type: "CUSTOM", name: "svc.gateway.diagnostic", value: { sequence, message } }];
        case "session":
        case "passthrough":
          return [{ type: "CUSTOM", name: "svc.gateway.event", value: { sequence, kind, message } }];
      }
    },
  };
}

/** One activity of the GUI, replaced by the next of the same id. */
export function activity(
  messageId: string,
  activityType: (AguiEvent & { type: "ACTIVITY_SNAPSHOT" })["activityType"],
  content: Record<string, unknown>,
): AguiEvent {
  return { type: "ACTIVITY_SNAPSHOT", messageId, activityType, content, replace: true };
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

const actionOf = (data: Record<string, unknown>): string | null => textOf(data["action_id"]) || null;

/** A client reads the arguments as a JSON object. */
function toArguments(data: Record<string, unknown>): string {
  const given = data["arguments"] ?? { summary: data["arguments_summary"] ?? "" };
  return JSON.stringify(isObject(given) ? given : { input: given });
}
