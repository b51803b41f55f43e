import { Type } from "@sinclair/typebox";
import { AgentStateList, AgentStatesQuery } from "./agent-states.ts";
import {
  AgentHistory,
  AgentIdentity,
  AgentList,
  AgentState,
  AgentStateDetail,
  AgentSubmission,
} from "./agents.ts";
import {
  AttentionAnswered,
  AttentionAnswerRequest,
  AttentionEvent,
  AttentionList,
  AttentionQuery,
  attentionEventKinds,
} from "./attention.ts";
import { maxScreens, ScreenEvent, ScreensQuery, screenEventKinds } from "./console.ts";
import { consoleEndpoints } from "./console-endpoints.ts";
import {
  AgentListQuery,
  AgentRelaunched,
  AgentRequest,
  AgentStopped,
  CoordinatorHealth,
  CoordinatorInstance,
  FleetEvent,
  fleetEventKinds,
  HeadlessLaunch,
  HeadlessLaunched,
  RemoteAttach,
  ShutdownAnswer,
  TurnHandle,
  TurnInterruption,
  TurnSubmission,
} from "./coordinator.ts";
import { documentEndpoints } from "./core-endpoints.ts";
import { DeliveryList, DeliveryQuery } from "./delivery.ts";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { forwardedEndpoints, forwardedStreams } from "./endpoints.ts";
import { eventKinds, eventNames, eventStream, maxFollowers } from "./events.ts";
import { FleetLedger, FleetLedgerQuery } from "./fleet-ledger.ts";
import { GatewayStatus } from "./gateway.ts";
import { HostList, HostListQuery } from "./host-states.ts";
import { MailResolveLive } from "./mail.ts";
import { TurnEvents, TurnStatusRecord, turnArtifactEndpoints, turnEndpoints } from "./turns.ts";
import { ErrorBody, outcomeUnknownStatus, Strict, ValidationErrorBody } from "./wire.ts";

const agent = "/svc/agents/:agent_ref" as const;
const turn = `${agent}/turns/:turn_id` as const;

/** Unknown agent; alias of several agents. */
const ofAgent = { 404: ErrorBody, 409: ErrorBody } as const;
/** As above, or the agent cannot be looked at or reached now. */
const ofReachable = { ...ofAgent, 503: ErrorBody } as const;
/** As above, of a route that terminal agents do not have. */
const ofHeadless = { ...ofAgent, 400: ErrorBody } as const;

/** The routes of the coordination server beside the forwarded ones (contract 4.4). */
export const coordinatorEndpoints = {
  health: endpoint({
    method: "GET",
    path: "/health",
    summary: "Whether the coordination server answers",
    description: "Never asks for a token, nor do `/docs` and `/openapi.json`.",
    status: 200,
    response: CoordinatorHealth,
  }),
  currentInstance: endpoint({
    method: "GET",
    path: "/svc/coord/current-instance",
    summary: "Which process serves, and where",
    status: 200,
    response: CoordinatorInstance,
  }),
  shutdown: endpoint({
    method: "POST",
    path: "/svc/coord/shutdown",
    summary: "End the coordination server",
    description: "Agents and gateways live on. It ends a moment after the answer.",
    status: 200,
    response: ShutdownAnswer,
  }),
  listAgents: endpoint({
    method: "GET",
    path: "/svc/agents",
    summary: "The agents of this user",
    query: AgentListQuery,
    status: 200,
    response: AgentList,
    errors: { 422: ValidationErrorBody },
  }),
  listAgentStates: endpoint({
    method: "GET",
    path: "/svc/agent-states",
    summary: "All agents, and what each does, in one answer",
    description:
      "As `GET /svc/agents/{agent_ref}/state` says it of each agent of this machine that a gateway serves. Other agents have an identity alone, and so has one that did not answer within a second. Unknown ids are left out.",
    query: AgentStatesQuery,
    status: 200,
    response: AgentStateList,
    errors: { 422: ValidationErrorBody },
  }),
  listHosts: endpoint({
    method: "GET",
    path: "/svc/hosts",
    summary: "The other hosts of the fleet, and the ways to them",
    description:
      "Empty for a server that reaches no other host. Heartbeats are counted on this server's clock. With `probe` each live host is asked something, for 3 s at most: `detail` says why one did not answer.",
    query: HostListQuery,
    status: 200,
    response: HostList,
    errors: { 422: ValidationErrorBody },
  }),
  metrics: endpoint({
    method: "GET",
    path: "/metrics",
    summary: "Counters of the fleet in the Prometheus text format",
    description:
      "Asks for the token like every other route; no label holds a prompt, a text of mail, a path or a secret. Counters begin with the process that keeps them. A host that is away keeps its last known mail counters.",
    status: 200,
    response: Type.String({ contentMediaType: "text/plain" }),
  }),
  fleetLedger: endpoint({
    method: "GET",
    path: "/svc/ledger",
    summary: "What the turns of all agents used and cost",
    description:
      "Sums of the agents' ledgers, also of agents without a gateway and of stopped ones; agents of other hosts are asked through their gateways. Prices are those of the user's prices.json, else the shipped ones; a model without a price counts tokens and no money.",
    query: FleetLedgerQuery,
    status: 200,
    response: FleetLedger,
    errors: { 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  listAttention: endpoint({
    method: "GET",
    path: "/svc/attention",
    summary: "What waits for a person, over all agents",
    description:
      "Questions and permissions with the answers that they allow, usage limits, agents and gateways that are dead, agents that are stuck, requests that failed, queues that are closed. Looked at now; an agent that does not answer within 1.5 s is listed as such. A failed request is listed until the agent is given new work. The terminal of an agent without a gateway is not watched.",
    query: AttentionQuery,
    status: 200,
    response: AttentionList,
    errors: { ...ofAgent, 422: ValidationErrorBody },
  }),
  answerAttention: endpoint({
    method: "POST",
    path: "/svc/attention/:attention_id/answers",
    summary: "Answer a question or a permission",
    description:
      "Through the agent's gateway, which compares the question on the screen before each key. When the item waits no more, is about another instance of the agent, or another question is asked by then, the answer is 409 and nothing is pressed.",
    body: AttentionAnswerRequest,
    status: 200,
    response: AttentionAnswered,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  listDeliveries: endpoint({
    method: "GET",
    path: "/svc/attention/deliveries",
    summary: "What was sent to the outside of what waits, newest first",
    description:
      "By the rules of this user's rule file. A pending delivery is attempted again until its target takes it, for a day at most. The newest 20,000 that ended are kept, for 30 days.",
    query: DeliveryQuery,
    status: 200,
    response: DeliveryList,
    errors: { 422: ValidationErrorBody },
  }),
  readAgent: endpoint({
    method: "GET",
    path: agent,
    summary: "Who an agent is",
    description:
      "agent_ref, here and everywhere: tracked_agent_id, terminal_id, session_name, runtime_session_id, agent_name (with or without SVC-) or agent_id. The tracked_agent_id wins, then agents that run; a name that is still ambiguous is refused with the candidates.",
    status: 200,
    response: AgentIdentity,
    errors: ofAgent,
  }),
  agentState: endpoint({
    method: "GET",
    path: `${agent}/state`,
    summary: "What an agent is doing",
    status: 200,
    response: AgentState,
    errors: ofReachable,
  }),
  agentStateDetail: endpoint({
    method: "GET",
    path: `${agent}/state/detail`,
    summary: "What an agent is doing, with the content of its terminal or its turns",
    status: 200,
    response: AgentStateDetail,
    errors: ofReachable,
  }),
  agentHistory: endpoint({
    method: "GET",
    path: `${agent}/history`,
    summary: "What an agent did lately, in coarse steps",
    description:
      "Of a terminal agent, recent transitions kept in memory; of a headless one, its newest turns.",
    query: Strict({
      limit: Type.Integer({ minimum: 1, maximum: 500, default: 100, description: "at most this many" }),
    }),
    status: 200,
    response: AgentHistory,
    errors: { ...ofReachable, 422: ValidationErrorBody },
  }),
  submitAgentRequest: endpoint({
    method: "POST",
    path: `${agent}/requests`,
    summary: "Give an agent a prompt, or interrupt it",
    description:
      "Through its gateway where one serves it. An interrupt that finds nothing to stop is answered with the disposition no_op.",
    body: AgentRequest,
    status: 200,
    response: AgentSubmission,
    errors: { ...ofReachable, 422: RefusedOrInvalid, [outcomeUnknownStatus]: ErrorBody },
  }),
  agentGateway: endpoint({
    method: "GET",
    path: `${agent}/gateway`,
    summary: "The status of an agent's gateway, also while none runs",
    status: 200,
    response: GatewayStatus,
    errors: ofAgent,
  }),
  attachAgentGateway: endpoint({
    method: "POST",
    path: `${agent}/gateway/attach`,
    summary: "Not offered: a gateway is attached on the agent's own machine",
    body: RemoteAttach,
    status: 501,
    response: ErrorBody,
    errors: { ...ofAgent, 422: ValidationErrorBody },
  }),
  detachAgentGateway: endpoint({
    method: "POST",
    path: `${agent}/gateway/detach`,
    summary: "Not offered: a gateway is detached on the agent's own machine",
    status: 501,
    response: ErrorBody,
    errors: ofAgent,
  }),
  agentMailResolveLive: endpoint({
    method: "GET",
    path: `${agent}/mail/resolve-live`,
    summary: "Where an agent's mailbox is and which gateway serves it",
    description: "From the manifest, also while no gateway runs; gateway is then null.",
    status: 200,
    response: MailResolveLive,
    errors: ofReachable,
  }),
  stopAgent: endpoint({
    method: "POST",
    path: `${agent}/stop`,
    summary: "End an agent: its gateway, its processes, its tmux session",
    description: "Its record stays, so that it can be launched again. Harmless to repeat.",
    status: 200,
    response: AgentStopped,
    errors: { ...ofReachable, 502: ErrorBody },
  }),
  relaunchAgent: endpoint({
    method: "POST",
    path: `${agent}/relaunch`,
    summary: "Start the agent's program again, with a new conversation",
    description:
      "In its tmux session while that lives, else in a new one, with the environment of this server. Refused with 409, before anything has changed, when the agent was started with variables that this server has no value for: its own user relaunches it then from a terminal. It is a new instance; when requests wait for the one before, its queue waits for reconcile.",
    status: 200,
    response: AgentRelaunched,
    errors: { ...ofReachable, 422: ErrorBody, 502: ErrorBody },
  }),
  launchHeadless: endpoint({
    method: "POST",
    path: "/svc/agents/headless/launches",
    summary: "Make a headless agent",
    description: "No process of the tool runs until its first turn.",
    body: HeadlessLaunch,
    status: 200,
    response: HeadlessLaunched,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  submitTurn: endpoint({
    method: "POST",
    path: `${agent}/turns`,
    summary: "Begin a turn of a headless agent",
    description: "Refused with 409 while one runs or waits. A gateway is started for it when none serves it.",
    body: TurnSubmission,
    status: 200,
    response: TurnHandle,
    errors: { ...ofHeadless, 422: RefusedOrInvalid, 503: ErrorBody, [outcomeUnknownStatus]: ErrorBody },
  }),
  readAgentTurn: endpoint({
    method: "GET",
    path: turn,
    summary: "One turn of a headless agent: running, or how it ended",
    status: 200,
    response: TurnStatusRecord,
    errors: ofHeadless,
  }),
  agentTurnEvents: endpoint({
    method: "GET",
    path: `${turn}/events`,
    summary: "What a headless agent said and did in a turn, also while it runs",
    query: turnEndpoints.turnEvents.query,
    status: 200,
    response: TurnEvents,
    errors: { ...ofHeadless, 422: ValidationErrorBody },
  }),
  interruptAgent: endpoint({
    method: "POST",
    path: `${agent}/interrupt`,
    summary: "Stop the turn of a headless agent; new callers use /requests",
    status: 200,
    response: TurnInterruption,
    errors: { ...ofHeadless, 503: ErrorBody },
  }),
} as const;

/** Answers in other forms than JSON, or without an end. */
export const coordinatorStreams = {
  agentTurnStdout: {
    ...turnArtifactEndpoints.turnStdout,
    path: `${turn}/artifacts/stdout`,
    errors: { ...ofHeadless, 422: ValidationErrorBody },
  },
  agentTurnStderr: {
    ...turnArtifactEndpoints.turnStderr,
    path: `${turn}/artifacts/stderr`,
    errors: { ...ofHeadless, 422: ValidationErrorBody },
  },
  fleetEvents: endpoint({
    method: "GET",
    path: "/svc/events",
    summary: "Follow what happens at all agents, as server-sent events",
    description: `${eventNames} The events of every gateway, each with the agent it is of, beside agent_seen, agent_changed, agent_gone, gateway_connected and gateway_lost. 160 gateways are followed at most; one event gateway_unfollowed names each agent whose events do not come. Resume with Last-Event-ID or \`after\`; a position that is too old, or of another server, is answered with one event stream_gap and then with later events. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} follow at once; 503 then.`,
    query: Strict({
      after: Type.Optional(Type.String({ description: "send what follows the event with this id" })),
    }),
    status: 200,
    response: eventStream({ item: FleetEvent, kinds: { ...fleetEventKinds, ...eventKinds } }),
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
  attentionEvents: endpoint({
    method: "GET",
    path: "/svc/attention/events",
    summary: "Follow what waits for a person, as server-sent events",
    description: `${eventNames} Each stream begins with attention_list, so that a client that reconnects needs no position; then each item that comes, changes or goes. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} follow at once, together with /svc/events; 503 then.`,
    status: 200,
    response: eventStream({ item: AttentionEvent, kinds: attentionEventKinds }),
    errors: { 503: ErrorBody },
  }),
  screensEvents: endpoint({
    method: "GET",
    path: "/svc/console/screens/events",
    summary: "Follow what the terminals of several agents show, as server-sent events",
    description: `${eventNames} Each agent's whole screen first and then its rows that change, at most every 400 ms for each. A slow reader gets the newest pictures. ${maxScreens} screens are read at the same time for all who look; the others, unknown agents and those without a live gateway are screen_absent. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} follow at once; 503 then.`,
    query: ScreensQuery,
    status: 200,
    response: eventStream({ item: ScreenEvent, kinds: screenEventKinds }),
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
} as const;

/** Every operation of the coordination server, by operation id. */
export const allCoordinatorEndpoints = {
  ...coordinatorEndpoints,
  ...forwardedEndpoints,
  ...coordinatorStreams,
  ...forwardedStreams,
  ...consoleEndpoints,
  ...documentEndpoints,
} as const;
