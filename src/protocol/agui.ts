import { type Static, Type } from "@sinclair/typebox";
import { maxPage, Nullable, Strict, shortList, Words } from "./wire.ts";

/**
 * What GUI clients of the AG-UI protocol send and get (contract 4.1; spec/mailbox-agui.md C). Their keys are in camel
 * case; keys that we do not know are let through, since each version of the protocol adds some (ruling 11).
 */

const open = { additionalProperties: true };

const identifier = (description: string) =>
  Type.String({ minLength: 1, maxLength: 1024, pattern: "\\S", description });

/** One message of the conversation. What else a role carries stays in it. */
export const AguiMessage = Type.Object(
  {
    id: Type.String(),
    role: Type.String({
      description: "developer, system, assistant, user, tool, activity, reasoning; open set",
    }),
    content: Type.Optional(
      Type.Unknown({ description: "text, or parts of type text; an object for activity" }),
    ),
    toolCallId: Type.Optional(Nullable(Type.String())),
  },
  { description: "one message", ...open },
);
export type AguiMessage = Static<typeof AguiMessage>;

const inputFields = {
  threadId: identifier("the conversation in the GUI"),
  runId: identifier("names this run; one that was seen before is refused"),
  parentRunId: Type.Optional(Nullable(Type.String())),
  messages: Type.Array(AguiMessage, {
    ...shortList,
    description: "the last user or tool message is the task",
  }),
  tools: Type.Optional(
    Nullable(Type.Array(Type.Unknown(), { maxItems: maxPage, description: "told to the agent as text" })),
  ),
  context: Type.Optional(
    Nullable(Type.Array(Type.Unknown(), { maxItems: maxPage, description: "told to the agent as text" })),
  ),
  state: Type.Optional(Type.Unknown({ description: "told to the agent as text, without our own key svc" })),
  forwardedProps: Type.Optional(
    Type.Unknown({
      description: "svc.chatSession and svc.execution act; of other keys the agent is told the name only",
    }),
  ),
  resume: Type.Optional(Nullable(Type.Array(Type.Unknown(), { maxItems: maxPage }))),
};

export const AguiRunInput = Type.Object(inputFields, {
  description: "RunAgentInput of the AG-UI protocol",
  ...open,
});
export type AguiRunInput = Static<typeof AguiRunInput>;

export const AguiConnectInput = Type.Object(
  {
    ...inputFields,
    lastSeenEventId: Type.Optional(
      Nullable(Type.Union([Type.String(), Type.Number()], { description: "told back; nothing is replayed" })),
    ),
  },
  { description: "RunAgentInput of the AG-UI protocol; no work is submitted", ...open },
);
export type AguiConnectInput = Static<typeof AguiConnectInput>;

export const AguiTargetFamily = Words(["headless", "tui", "http_rest", "unknown"]);
export type AguiTargetFamily = Static<typeof AguiTargetFamily>;

const flags = <const Names extends readonly string[]>(names: Names) =>
  Type.Object(
    Object.fromEntries(names.map((name) => [name, Type.Boolean()])) as {
      [Name in Names[number]]: ReturnType<typeof Type.Boolean>;
    },
  );

export const AguiCapabilities = Strict(
  {
    capabilities: Type.Object({
      identity: Type.Object({
        name: Type.String(),
        type: Type.String(),
        provider: Type.String(),
        metadata: Type.Record(Type.String(), Type.Unknown()),
      }),
      transport: flags(["streaming", "websocket", "httpBinary", "pushNotifications", "resumable"]),
      tools: Type.Object({
        supported: Type.Boolean(),
        items: Type.Array(Type.Unknown(), shortList),
        parallelCalls: Type.Boolean(),
        clientProvided: Type.Boolean(),
      }),
      output: Type.Object({
        structuredOutput: Type.Boolean(),
        supportedMimeTypes: Type.Array(Type.String(), shortList),
      }),
      state: flags(["snapshots", "deltas", "memory", "persistentState"]),
      multimodal: Type.Object({
        input: flags(["image", "audio", "video", "pdf", "file"]),
        output: flags(["image", "audio"]),
      }),
      execution: flags(["codeExecution", "sandboxed"]),
      humanInTheLoop: flags(["supported", "approvals", "interventions", "feedback"]),
      custom: Type.Record(Type.String(), Type.Unknown()),
    }),
    svc: Type.Object({
      schemaVersion: Type.Literal(1),
      agentLifecycleManagedByGui: Type.Literal(false),
      lifecycleBoundary: Type.String(),
      replaySupport: Type.Literal("current_snapshot_only"),
      connectStreamKeepalive: Type.Literal("sse_comment_heartbeat"),
      features: flags([
        "httpSse",
        "guiConnect",
        "textInputParsing",
        "stateSnapshots",
        "taskRunSubmission",
        "stateDeltas",
        "frontendToolExecution",
        "generatedGraphics",
        "openGenerativeUi",
        "multimodalInput",
      ]),
      gateway: Type.Object({
        attachIdentity: Type.String(),
        backend: Type.String(),
        targetTransportFamily: AguiTargetFamily,
        activeExecution: Type.String(),
      }),
    }),
  },
  { description: "what a GUI may expect of this gateway" },
);
export type AguiCapabilities = Static<typeof AguiCapabilities>;

const detachFields = {
  connectionId: Type.String(),
  detail: Type.String(),
};
export const AguiDetached = Strict({
  status: Type.Literal("detached"),
  ...detachFields,
  detached: Type.Literal(true),
});
export const AguiNotConnected = Strict({
  status: Type.Literal("not_found"),
  ...detachFields,
  detached: Type.Literal(false),
});

/** Any JSON object. */
export type AguiObject = Record<string, unknown>;

/** An event of our streams, by the names of the AG-UI protocol. Absent fields are left out, never null. */
export type AguiEvent =
  | { type: "RUN_STARTED"; threadId: string; runId: string; parentRunId?: string; input?: AguiObject }
  | { type: "RUN_FINISHED"; threadId: string; runId: string; result?: AguiObject }
  | { type: "RUN_ERROR"; message: string; code: AguiErrorCode }
  | { type: "STATE_SNAPSHOT"; snapshot: AguiObject }
  | { type: "TEXT_MESSAGE_START"; messageId: string; role: "assistant" }
  | { type: "TEXT_MESSAGE_CONTENT"; messageId: string; delta: string }
  | { type: "TEXT_MESSAGE_END"; messageId: string }
  | { type: "TOOL_CALL_START"; toolCallId: string; toolCallName: string }
  | { type: "TOOL_CALL_ARGS"; toolCallId: string; delta: string }
  | { type: "TOOL_CALL_END"; toolCallId: string }
  | { type: "TOOL_CALL_RESULT"; messageId: string; toolCallId: string; role: "tool"; content: string }
  | {
      type: "ACTIVITY_SNAPSHOT";
      messageId: string;
      activityType: AguiActivityType;
      content: AguiObject;
      replace: true;
    }
  | { type: "CUSTOM"; name: AguiCustomName; value: AguiObject };

export type AguiErrorCode = "svc_gateway_request_failed" | "svc_run_stream_failed";
export type AguiActivityType = "svc.gateway.progress" | "svc.gateway.completion" | "svc.tui.status";
export type AguiCustomName = "svc.reasoning_redacted" | "svc.gateway.diagnostic" | "svc.gateway.event";
