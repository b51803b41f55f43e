import { type Static, Type } from "@sinclair/typebox";

/** Kinds of reports, the same for every tool. */
export const toolReportKinds = [
  "session_started",
  "prompt_submitted",
  "own_turn_started",
  "tool_started",
  "tool_finished",
  "question_asked",
  "turn_ended",
  "turn_failed",
  "session_ended",
] as const;

const text = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/**
 * One line of an agent's report spool: a report that its tool made through a hook, a notification or a
 * plugin. The hook command writes it, the gateway reads it. The tool is not trusted: a report is evidence,
 * never a command.
 */
export const ToolReportSchema = Type.Object(
  {
    schema_version: Type.Literal(1),
    id: Type.String({ minLength: 1, maxLength: 100, description: "Equal for a report that arrives twice." }),
    tool: Type.String({ minLength: 1, maxLength: 100 }),
    kind: Type.Union(toolReportKinds.map((kind) => Type.Literal(kind))),
    at_ms: Type.Number({ description: "Wall clock of the hook, epoch milliseconds." }),
    session_id: text("The tool's own id of its conversation."),
    turn_id: text("The tool's own id of the turn or prompt."),
    prompt: text("The prompt as the tool received it, cut at 64 KiB."),
    prompt_sha256: text("SHA-256 of the whole prompt in UTF-8, hex; null without a prompt."),
    message: text("Last message of the assistant, or the question or failure, cut at 16 KiB."),
    action: text("Name of the tool call that starts, ends or asks, such as `Bash`."),
    transcript_path: text("File with the tool's own transcript, as the tool names it."),
    background: Type.Optional(
      Type.Array(Type.String({ maxLength: 200 }), {
        maxItems: 20,
        description: "At the end of a turn: work that continues, such as a shell or a subagent.",
      }),
    ),
  },
  { additionalProperties: false },
);

export type ToolReport = Static<typeof ToolReportSchema>;
