import type { DemoLogRecord } from "./log.ts";

/**
 * The payloads of the scripted agent's hook command, in the shape of Claude Code 2.1.330. An interrupted turn has no end
 * event, as in that version. The returned function takes each record of the log in order.
 */
export function createHookPayloads(
  pid: number,
  recordPath: string,
): (record: DemoLogRecord) => Record<string, unknown>[] {
  const texts = new Map<number, string>();
  let turnId = "";
  const event = (name: string, facts: Record<string, unknown> = {}) => [
    { session_id: `demo-${pid}`, transcript_path: recordPath, hook_event_name: name, ...facts },
  ];

  return (record) => {
    switch (record.kind) {
      case "started":
        return event("SessionStart", { source: "startup" });
      case "submitted":
        if (!record.command) texts.set(record.prompt, record.text);
        return [];
      case "turn_started": {
        turnId = `demo-${pid}-${record.turn}`;
        const prompt = record.prompts.map((one) => texts.get(one) ?? "").join("\n");
        for (const one of record.prompts) texts.delete(one);
        return event("UserPromptSubmit", { prompt_id: turnId, prompt });
      }
      case "menu_opened":
        return event("PermissionRequest", { prompt_id: turnId, tool_name: "menu", message: record.question });
      case "turn_ended":
        if (record.result === "interrupted") return [];
        return event(record.result === "error" ? "StopFailure" : "Stop", { prompt_id: turnId });
      case "exited":
        return event("SessionEnd", { reason: record.why });
      default:
        return [];
    }
  };
}

/**
 * The lines of the scripted agent's record of its conversation, in the shape of Claude Code 2.1.330. The returned function
 * takes each record of the log in order; `said`: what the agent answered in the turn that has just ended, or null.
 */
export function createRecordLines(): (
  record: DemoLogRecord,
  said: string | null,
  atUtc: string,
) => Record<string, unknown>[] {
  const texts = new Map<number, string>();
  return (record, said, timestamp) => {
    const user = (content: string) => ({ type: "user", timestamp, message: { role: "user", content } });
    const assistant = (text: string, more: object = {}) => ({
      type: "assistant",
      timestamp,
      message: { role: "assistant", content: [{ type: "text", text }], stop_reason: "end_turn" },
      ...more,
    });
    switch (record.kind) {
      case "submitted":
        if (!record.command) texts.set(record.prompt, record.text);
        return [];
      case "turn_started": {
        const asked = record.prompts.map((one) => texts.get(one) ?? "").join("\n");
        for (const one of record.prompts) texts.delete(one);
        return [user(asked)];
      }
      case "turn_ended": {
        const answer = said === null ? [] : [assistant(said)];
        if (record.result === "interrupted") return [...answer, user("[Request interrupted by user]")];
        return record.result === "error"
          ? [assistant("the turn failed", { isApiErrorMessage: true })]
          : answer;
      }
      default:
        return [];
    }
  };
}
