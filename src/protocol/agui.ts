import { type Static, type TBoolean, type TProperties, Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { eventStream } from "./events.ts";
import { BackendName, Detail } from "./fields.ts";
import {
  describe,
  ErrorBody,
  maxPage,
  Nullable,
  Strict,
  StringEnum,
  shortList,
  ValidationErrorBody,
} from "./wire.ts";

/**
 * Requests and events of the AG-UI protocol (contract 4.1; spec/mailbox-agui.md C). Keys are in camel case.
 * Unknown keys are accepted, since each version of the protocol adds some (ruling 11).
 */

const open = { additionalProperties: true };

const identifier = (description: string) =>
  Type.String({ minLength: 1, maxLength: 1024, pattern: "\\S", description });

/** One message of the conversation. Unknown keys of its role are kept. */
export const AguiMessage = Type.Object(
  {
    id: Type.String({ description: "id of the message in the conversation" }),
    role: Type.String({
      description: "developer, system, assistant, user, tool, activity, reasoning; open set",
    }),
    content: Type.Optional(
      Type.Unknown({ description: "text, or parts of type text; an object for activity" }),
    ),
    toolCallId: Type.Optional(
      Nullable(Type.String({ description: "id of the call that a tool message answers" })),
    ),
  },
  { description: "one message", ...open },
);
export type AguiMessage = Static<typeof AguiMessage>;

const inputFields = {
  threadId: identifier("the conversation in the GUI"),
  runId: identifier("id of this run; an id that was used before is refused"),
  parentRunId: Type.Optional(Nullable(Type.String({ description: "the run that this one follows" }))),
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
      description:
        "svc.chatSession and svc.execution take effect; the agent gets only the names of other keys",
    }),
  ),
  resume: Type.Optional(
    Nullable(
      Type.Array(Type.Unknown(), {
        description: "answers to interrupts of the protocol; ignored",
        maxItems: maxPage,
      }),
    ),
  ),
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

export const AguiTargetFamily = StringEnum(["headless", "tui", "http_rest", "unknown"], {
  description: "what kind of agent the gateway serves",
});
export type AguiTargetFamily = Static<typeof AguiTargetFamily>;

/** An object of booleans, each described. */
const flags = <Name extends string>(description: string, texts: Readonly<Record<Name, string>>) =>
  Type.Object(
    Object.fromEntries(
      Object.entries<string>(texts).map(([name, text]) => [name, Type.Boolean({ description: text })]),
    ) as Record<Name, TBoolean>,
    { description },
  );

export const AguiCapabilities = Strict(
  {
    capabilities: Type.Object(
      {
        identity: Type.Object(
          {
            name: Type.String({ description: "name of the service" }),
            type: Type.String({ description: "kind of service" }),
            provider: Type.String({ description: "who provides it" }),
            metadata: Type.Record(Type.String(), Type.Unknown(), { description: "more about the gateway" }),
          },
          { description: "the service behind the gateway" },
        ),
        transport: flags("how events reach the client", {
          streaming: "whether events come as a stream",
          websocket: "whether there is a WebSocket",
          httpBinary: "whether events come in binary form",
          pushNotifications: "whether the gateway calls the client",
          resumable: "whether a broken stream can be resumed",
        }),
        tools: Type.Object(
          {
            supported: Type.Boolean({ description: "whether it can be used" }),
            items: Type.Array(Type.Unknown(), { ...shortList, description: "tools that the gateway offers" }),
            parallelCalls: Type.Boolean({ description: "whether several tools are called at once" }),
            clientProvided: Type.Boolean({ description: "whether tools of the client are called" }),
          },
          { description: "which tools the client may use or bring" },
        ),
        output: Type.Object(
          {
            structuredOutput: Type.Boolean({ description: "whether answers follow a schema of the client" }),
            supportedMimeTypes: Type.Array(Type.String(), {
              ...shortList,
              description: "media types of the answers",
            }),
          },
          { description: "which forms the answers have" },
        ),
        state: flags("which forms of state events are sent", {
          snapshots: "whether STATE_SNAPSHOT events are sent",
          deltas: "whether STATE_DELTA events are sent",
          memory: "whether memory is kept",
          persistentState: "whether the client's state is kept",
        }),
        multimodal: Type.Object(
          {
            input: flags("what goes in", {
              image: "whether images are taken or given",
              audio: "whether audio is taken or given",
              video: "whether video is taken",
              pdf: "whether PDF files are taken",
              file: "whether other files are taken",
            }),
            output: flags("what comes out", {
              image: "whether images are taken or given",
              audio: "whether audio is taken or given",
            }),
          },
          { description: "which media go in and come out" },
        ),
        execution: flags("whether code is run for the client", {
          codeExecution: "whether the gateway runs code for the client",
          sandboxed: "whether it would be in a sandbox",
        }),
        humanInTheLoop: flags("how a person takes part", {
          supported: "whether a person can take part at all",
          approvals: "whether approvals are asked for",
          interventions: "whether a run can be changed",
          feedback: "whether feedback is taken",
        }),
        custom: Type.Record(Type.String(), Type.Unknown(), {
          description: "capabilities that the protocol does not name",
        }),
      },
      { description: "the capabilities that the AG-UI protocol defines" },
    ),
    svc: Type.Object(
      {
        schemaVersion: Type.Literal(1),
        agentLifecycleManagedByGui: Type.Literal(false),
        lifecycleBoundary: Type.String({ description: "who starts and stops the agent, in one sentence" }),
        replaySupport: Type.Literal("current_snapshot_only"),
        connectStreamKeepalive: Type.Literal("sse_comment_heartbeat"),
        features: flags("which features of a GUI the gateway serves", {
          httpSse: "whether streams are server-sent events",
          guiConnect: "whether a GUI can attach to a stream",
          textInputParsing: "whether the text of a message becomes the prompt",
          stateSnapshots: "whether STATE_SNAPSHOT events are sent",
          taskRunSubmission: "whether a run is queued as a task",
          stateDeltas: "whether STATE_DELTA events are sent",
          frontendToolExecution: "whether tools of the GUI are called",
          generatedGraphics: "whether graphics are generated",
          openGenerativeUi: "whether the agent draws parts of the GUI",
          multimodalInput: "whether other input than text is taken",
        }),
        gateway: Type.Object(
          {
            attachIdentity: Type.String({ description: "which session the gateway serves" }),
            backend: BackendName,
            targetTransportFamily: AguiTargetFamily,
            activeExecution: Type.String({ description: "whether a request is carried out now" }),
          },
          { description: "the gateway and its agent" },
        ),
      },
      { description: "details of this gateway" },
    ),
  },
  { description: "the capabilities of this gateway for a GUI" },
);
export type AguiCapabilities = Static<typeof AguiCapabilities>;

const detachFields = {
  connectionId: Type.String({ description: "id of the stream, from its header x-svc-connection-id" }),
  detail: Detail,
};
export const AguiDetached = Strict(
  {
    status: Type.Literal("detached"),
    ...detachFields,
    detached: Type.Literal(true),
  },
  { description: "the stream was finished" },
);
export const AguiNotConnected = Strict(
  {
    status: Type.Literal("not_found"),
    ...detachFields,
    detached: Type.Literal(false),
  },
  { description: "no stream has this id" },
);

/** Any JSON object. */
const AnyObject = Type.Record(Type.String(), Type.Unknown());
export type AguiObject = Static<typeof AnyObject>;

export const AguiErrorCode = StringEnum(["svc_gateway_request_failed", "svc_run_stream_failed"], {
  description: "whether the request of the gateway failed, or its stream",
});
export const AguiActivityType = StringEnum(
  ["svc.gateway.progress", "svc.gateway.completion", "svc.tui.status"],
  {
    description: "what an activity is about",
  },
);
export const AguiCustomName = StringEnum(
  ["svc.reasoning_redacted", "svc.gateway.diagnostic", "svc.gateway.event"],
  {
    description: "what a custom event is about",
  },
);
/** The events of our AG-UI streams, by type. */
const aguiEventKinds = {
  RUN_STARTED: "a run begins",
  RUN_FINISHED: "a run succeeded",
  RUN_ERROR: "a run or its stream failed",
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
} as const;

const event = <const Name extends keyof typeof aguiEventKinds, P extends TProperties>(
  type: Name,
  properties: P,
) => Strict({ type: Type.Literal(type), ...properties }, { description: aguiEventKinds[type] });
const run = {
  threadId: Type.String({ description: "the conversation in the GUI" }),
  runId: Type.String({ description: "the run that this belongs to" }),
};
const message = { messageId: Type.String({ description: "id of the message that this belongs to" }) };
const toolCall = { toolCallId: Type.String({ description: "id of the tool call" }) };

export const AguiRunStarted = event("RUN_STARTED", {
  ...run,
  parentRunId: Type.Optional(Type.String({ description: "the run that this one follows" })),
  input: Type.Optional(describe(AnyObject, "what the client sent")),
});
export const AguiRunFinished = event("RUN_FINISHED", {
  ...run,
  result: Type.Optional(describe(AnyObject, "the result of the run")),
});
export const AguiRunError = event("RUN_ERROR", {
  message: Type.String({ description: "one line for people" }),
  code: AguiErrorCode,
});
export const AguiStateSnapshot = event("STATE_SNAPSHOT", {
  snapshot: describe(AnyObject, "the whole state; it replaces the one before"),
});
export const AguiTextMessageStart = event("TEXT_MESSAGE_START", {
  ...message,
  role: Type.Literal("assistant"),
});
export const AguiTextMessageContent = event("TEXT_MESSAGE_CONTENT", {
  ...message,
  delta: Type.String({ description: "the next part of the text" }),
});
export const AguiTextMessageEnd = event("TEXT_MESSAGE_END", message);
export const AguiToolCallStart = event("TOOL_CALL_START", {
  ...toolCall,
  toolCallName: Type.String({ description: "name of the tool" }),
});
export const AguiToolCallArgs = event("TOOL_CALL_ARGS", {
  ...toolCall,
  delta: Type.String({ description: "the next part of the arguments, JSON text" }),
});
export const AguiToolCallEnd = event("TOOL_CALL_END", toolCall);
export const AguiToolCallResult = event("TOOL_CALL_RESULT", {
  ...message,
  ...toolCall,
  role: Type.Literal("tool"),
  content: Type.String({ description: "the result of the call" }),
});
export const AguiActivitySnapshot = event("ACTIVITY_SNAPSHOT", {
  ...message,
  activityType: AguiActivityType,
  content: describe(AnyObject, "the data of the activity"),
  replace: Type.Literal(true),
});
export const AguiCustom = event("CUSTOM", {
  name: AguiCustomName,
  value: describe(AnyObject, "the data of the event"),
});

/** An event of our streams, by the names of the AG-UI protocol. Absent fields are left out, never null. */
export const AguiEvent = Type.Union(
  [
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
  ],
  { description: "one event of an AG-UI stream; `type` names the branch" },
);
export type AguiEvent = Static<typeof AguiEvent>;

const aguiEvents = eventStream({ item: AguiEvent, kinds: aguiEventKinds });

/** The AG-UI routes that are not streams. */
export const aguiEndpoints = {
  aguiCapabilities: endpoint({
    method: "GET",
    path: "/v1/ag-ui/capabilities",
    summary: "The capabilities of this gateway for a GUI client",
    status: 200,
    response: AguiCapabilities,
  }),
  aguiDetach: endpoint({
    method: "DELETE",
    path: "/v1/ag-ui/connections/:connection_id",
    withoutKey: true,
    summary: "Detach a GUI stream",
    description: "Ends the stream; the agent does not change.",
    status: 200,
    response: AguiDetached,
    errors: { 404: AguiNotConnected },
  }),
} as const;

/** The AG-UI streams. Each event is one `data` line; a comment is sent in silence. */
export const aguiStreamEndpoints = {
  aguiConnect: endpoint({
    method: "POST",
    path: "/v1/ag-ui/connect",
    withoutKey: true,
    summary: "Attach a GUI client, as an AG-UI event stream",
    description:
      "The state of the gateway and its agent now, and again whenever it changes, until the client leaves or is detached. Submits no work and replays nothing. The header x-svc-connection-id names the connection. At most 64 clients are attached at once; further ones get 503.",
    body: AguiConnectInput,
    status: 200,
    response: aguiEvents,
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
  aguiRun: endpoint({
    method: "POST",
    path: "/v1/ag-ui/runs",
    withoutKey: true,
    summary: "Run a task from a GUI client, as an AG-UI event stream",
    description:
      "The task becomes an ordinary request of the queue; the stream carries what the agent says and does until its turn has ended. A client that leaves ends the stream, not the task. Refused while anything waits or runs.",
    body: AguiRunInput,
    status: 200,
    response: aguiEvents,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
} as const;
