import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { eventStream } from "./events.ts";
import { ErrorBody, maxPage, Nullable, Strict, StringEnum, shortList, ValidationErrorBody } from "./wire.ts";

/**
 * What GUI clients of the AG-UI protocol send and get (contract 4.1; spec/mailbox-agui.md C). Their keys are
 * in camel case; keys that we do not know are let through, since each version of the protocol adds some
 * (ruling 11).
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
    Nullable(Type.Array(Type.Unknown(), { maxItems: maxPage, description: "given to the agent as text" })),
  ),
  context: Type.Optional(
    Nullable(Type.Array(Type.Unknown(), { maxItems: maxPage, description: "given to the agent as text" })),
  ),
  state: Type.Optional(Type.Unknown({ description: "given to the agent as text, without our own key svc" })),
  forwardedProps: Type.Optional(
    Type.Unknown({
      description: "svc.chatSession and svc.execution act; of other keys the agent gets the name only",
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
      Nullable(Type.Union([Type.String(), Type.Number()], { description: "echoed; nothing is replayed" })),
    ),
  },
  { description: "RunAgentInput of the AG-UI protocol; no work is submitted", ...open },
);
export type AguiConnectInput = Static<typeof AguiConnectInput>;

export const AguiTargetFamily = StringEnum(["headless", "tui", "http_rest", "unknown"]);
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
const AnyObject = Type.Record(Type.String(), Type.Unknown());
export type AguiObject = Static<typeof AnyObject>;

export const AguiErrorCode = StringEnum(["svc_gateway_request_failed", "svc_run_stream_failed"]);
export type AguiErrorCode = Static<typeof AguiErrorCode>;
export const AguiActivityType = StringEnum([
  "svc.gateway.progress",
  "svc.gateway.completion",
  "svc.tui.status",
]);
export type AguiActivityType = Static<typeof AguiActivityType>;
export const AguiCustomName = StringEnum([
  "svc.reasoning_redacted",
  "svc.gateway.diagnostic",
  "svc.gateway.event",
]);
export type AguiCustomName = Static<typeof AguiCustomName>;

const event = <const Name extends string, P extends TProperties>(type: Name, properties: P) =>
  Strict({ type: Type.Literal(type), ...properties });
const run = { threadId: Type.String(), runId: Type.String() };
const message = { messageId: Type.String() };
const toolCall = { toolCallId: Type.String() };

export const AguiRunStarted = event("RUN_STARTED", {
  ...run,
  parentRunId: Type.Optional(Type.String()),
  input: Type.Optional(AnyObject),
});
export const AguiRunFinished = event("RUN_FINISHED", { ...run, result: Type.Optional(AnyObject) });
export const AguiRunError = event("RUN_ERROR", { message: Type.String(), code: AguiErrorCode });
export const AguiStateSnapshot = event("STATE_SNAPSHOT", { snapshot: AnyObject });
export const AguiTextMessageStart = event("TEXT_MESSAGE_START", {
  ...message,
  role: Type.Literal("assistant"),
});
export const AguiTextMessageContent = event("TEXT_MESSAGE_CONTENT", { ...message, delta: Type.String() });
export const AguiTextMessageEnd = event("TEXT_MESSAGE_END", message);
export const AguiToolCallStart = event("TOOL_CALL_START", { ...toolCall, toolCallName: Type.String() });
export const AguiToolCallArgs = event("TOOL_CALL_ARGS", { ...toolCall, delta: Type.String() });
export const AguiToolCallEnd = event("TOOL_CALL_END", toolCall);
export const AguiToolCallResult = event("TOOL_CALL_RESULT", {
  ...message,
  ...toolCall,
  role: Type.Literal("tool"),
  content: Type.String(),
});
export const AguiActivitySnapshot = event("ACTIVITY_SNAPSHOT", {
  ...message,
  activityType: AguiActivityType,
  content: AnyObject,
  replace: Type.Literal(true),
});
export const AguiCustom = event("CUSTOM", { name: AguiCustomName, value: AnyObject });

/** An event of our streams, by the names of the AG-UI protocol. Absent fields are left out, never null. */
export const AguiEvent = Type.Union([
  AguiRunStarted,
  AguiRunFinished,
  AguiRunError,
  AguiStateSnapshot,
  AguiTextMessageStart,
  AguiTextMessageContent,
  AguiTextMessageEnd,
  AguiToolCallStart,
  AguiToolCallArgs,
  AguiToolCallEnd,
  AguiToolCallResult,
  AguiActivitySnapshot,
  AguiCustom,
]);
export type AguiEvent = Static<typeof AguiEvent>;

/** What our AG-UI streams hold, by the type of the event. */
export const aguiEventKinds = {
  RUN_STARTED: "a run begins",
  RUN_FINISHED: "a run ended well",
  RUN_ERROR: "a run or its stream ended otherwise",
  STATE_SNAPSHOT: "the state of the gateway and its agent",
  TEXT_MESSAGE_START: "the agent begins a message",
  TEXT_MESSAGE_CONTENT: "a part of that message",
  TEXT_MESSAGE_END: "the message is complete",
  TOOL_CALL_START: "the agent calls one of its tools",
  TOOL_CALL_ARGS: "the arguments of that call",
  TOOL_CALL_END: "the call is complete",
  TOOL_CALL_RESULT: "what the tool answered",
  ACTIVITY_SNAPSHOT: "progress, completion or the state of the terminal",
  CUSTOM: "a diagnostic, an event of the gateway, or reasoning without its text",
} as const satisfies Record<AguiEvent["type"], string>;

const aguiEvents = eventStream({ item: AguiEvent, kinds: aguiEventKinds });

/** What GUI clients ask besides their streams. */
export const aguiEndpoints = {
  aguiCapabilities: endpoint({
    method: "GET",
    path: "/v1/ag-ui/capabilities",
    summary: "What a GUI client may expect",
    status: 200,
    response: AguiCapabilities,
  }),
  aguiDetach: endpoint({
    method: "DELETE",
    path: "/v1/ag-ui/connections/:connection_id",
    summary: "Detach a GUI stream",
    description: "Its stream is finished; the agent is left as it is.",
    status: 200,
    response: AguiDetached,
    errors: { 404: AguiNotConnected },
  }),
} as const;

/** Streams of the AG-UI protocol: each event a line `data`, a comment in silence. */
export const aguiStreamEndpoints = {
  aguiConnect: endpoint({
    method: "POST",
    path: "/v1/ag-ui/connect",
    summary: "Attach a GUI client, as an AG-UI event stream",
    description:
      "The state of the gateway and its agent now, and again whenever it changes, until the client leaves or is detached. Submits no work and replays nothing. The header x-svc-connection-id names the connection. At most 64 are attached at once; 503 then.",
    body: AguiConnectInput,
    status: 200,
    response: aguiEvents,
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
  aguiRun: endpoint({
    method: "POST",
    path: "/v1/ag-ui/runs",
    summary: "Run a task from a GUI client, as an AG-UI event stream",
    description:
      "The task becomes an ordinary request of the queue; the stream carries what the agent says and does until its turn has ended. A client that leaves ends the stream, not the task. Refused while anything waits or runs.",
    body: AguiRunInput,
    status: 200,
    response: aguiEvents,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
} as const;
