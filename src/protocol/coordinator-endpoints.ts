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
/** As above; the agent cannot be observed or reached now. */
const ofReachable = { ...ofAgent, 503: ErrorBody } as const;
/** As `ofAgent`, and 400 for a terminal agent, which has no such route. */
const ofHeadless = { ...ofAgent, 400: ErrorBody } as const;

/** The routes of the coordination server beside the forwarded ones (contract 4.4). */
export const coordinatorEndpoints = {
  health: endpoint({
    method: "GET",
    path: "/health",
    summary: "Whether the coordination server answers",
    description: "Needs no token, like `/docs` and `/openapi.json`.",
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
    withoutKey: true,
    summary: "End the coordination server",
    description: "Agents and gateways keep running. The server ends a moment after the answer.",
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
    summary: "The states of all agents in one answer",
    description:
      "Reports the state of `GET /svc/agents/{agent_ref}/state` for each agent of this machine whose gateway answers within a second; for other agents only the identity. Unknown ids are left out.",
    query: AgentStatesQuery,
    status: 200,
    response: AgentStateList,
    errors: { 422: ValidationErrorBody },
  }),
  listHosts: endpoint({
    method: "GET",
    path: "/svc/hosts",
    summary: "The other hosts of the fleet, and how they are reached",
    description:
      "Empty for a server that reaches no other host. Heartbeats are timed by this server's clock. With `probe` the server calls each live host and waits at most 3 s; `detail` says why a host did not answer.",
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
      "Needs the token like every other route; no label holds a prompt, a text of mail, a path or a secret. Counters start at 0 with their process. A host that is away keeps its last known mail counters.",
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
      "Questions and permissions with the answers that they allow, usage limits, dead agents and gateways, stuck agents, failed requests and closed queues. Each call reads all agents; an agent that does not answer within 1.5 s is listed as such. A failed request is listed until the agent gets new work. The terminal of an agent without a gateway is not watched.",
    query: AttentionQuery,
    status: 200,
    response: AttentionList,
    errors: { ...ofAgent, 422: ValidationErrorBody },
  }),
  answerAttention: endpoint({
    method: "POST",
    path: "/svc/attention/:attention_id/answers",
    withoutKey: true,
    summary: "Answer a question or a permission",
    description:
      "The agent's gateway compares the question on the screen before each key. 409, and no key is pressed, when the item no longer waits, the agent is another instance or it asks another question by then.",
    body: AttentionAnswerRequest,
    status: 200,
    response: AttentionAnswered,
    errors: { 409: ErrorBody, 422: RefusedOrInvalid, 503: ErrorBody },
  }),
  listDeliveries: endpoint({
    method: "GET",
    path: "/svc/attention/deliveries",
    summary: "Deliveries of attention items to the outside, newest first",
    description:
      "The rules are those of this user's rule file. A pending delivery is attempted again until its target takes it, for a day at most. The newest 20,000 ended deliveries are kept for 30 days.",
    query: DeliveryQuery,
    status: 200,
    response: DeliveryList,
    errors: { 422: ValidationErrorBody },
  }),
  readAgent: endpoint({
    method: "GET",
    path: agent,
    summary: "The identity of an agent",
    description:
      "agent_ref, in every route: tracked_agent_id, terminal_id, session_name, runtime_session_id, agent_name (with or without SVC-) or agent_id. The tracked_agent_id wins, then running agents; a name that is still ambiguous is refused with the candidates.",
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
    summary: "The recent transitions of an agent",
    description:
      "For a terminal agent: transitions that the server keeps in memory. For a headless agent: its newest turns.",
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
      "The agent's gateway takes it when one serves the agent. An interrupt that finds nothing to stop has the disposition no_op.",
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
    withoutKey: true,
    summary: "Not offered: a gateway is attached on the agent's own machine",
    body: RemoteAttach,
    status: 501,
    response: ErrorBody,
    errors: { ...ofAgent, 422: ValidationErrorBody },
  }),
  detachAgentGateway: endpoint({
    method: "POST",
    path: `${agent}/gateway/detach`,
    withoutKey: true,
    summary: "Not offered: a gateway is detached on the agent's own machine",
    status: 501,
    response: ErrorBody,
    errors: ofAgent,
  }),
  agentMailResolveLive: endpoint({
    method: "GET",
    path: `${agent}/mail/resolve-live`,
    summary: "Where an agent's mailbox is and which gateway serves it",
    description: "Read from the manifest; `gateway` is null while no gateway runs.",
    status: 200,
    response: MailResolveLive,
    errors: ofReachable,
  }),
  stopAgent: endpoint({
    method: "POST",
    path: `${agent}/stop`,
    withoutKey: true,
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
      "The program starts in the agent's tmux session, or in a new one when that is gone, with the environment of this server. Refused with 409, before anything has changed, when the agent was started with variables that this server has no value for; relaunch it from a terminal then. The agent is a new instance afterwards; when requests wait for the previous instance, the queue stays closed until reconcile.",
    status: 200,
    response: AgentRelaunched,
    errors: { ...ofReachable, 422: ErrorBody, 502: ErrorBody },
  }),
  launchHeadless: endpoint({
    method: "POST",
    path: "/svc/agents/headless/launches",
    withoutKey: true,
    summary: "Create a headless agent",
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
    description:
      "Refused with 409 while a turn runs or waits. Starts a gateway for the agent when none serves it.",
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
    withoutKey: true,
    summary: "Stop the turn of a headless agent; new callers use /requests",
    status: 200,
    response: TurnInterruption,
    errors: { ...ofHeadless, 503: ErrorBody },
  }),
} as const;

/** Answers that are not JSON or that are streams. */
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
    description: `${eventNames} The events of every gateway, each with its agent, and agent_seen, agent_changed, agent_gone, gateway_connected and gateway_lost. The server follows 160 gateways at most; one event gateway_unfollowed names each agent whose events are missing. Resume with Last-Event-ID or \`after\`; for a position that is too old, or of another server, one event stream_gap precedes the later events. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} clients follow at once; further ones get 503.`,
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
    description: `${eventNames} Each stream begins with attention_list, so that a client that reconnects needs no position; an event follows for each item that is added, changed or removed. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} clients follow at once, together with /svc/events; further ones get 503.`,
    status: 200,
    response: eventStream({ item: AttentionEvent, kinds: attentionEventKinds }),
    errors: { 503: ErrorBody },
  }),
  screensEvents: endpoint({
    method: "GET",
    path: "/svc/console/screens/events",
    summary: "Follow what the terminals of several agents show, as server-sent events",
    description: `${eventNames} The whole screen of each agent comes first, then its changed rows, at most every 400 ms for each agent. A slow reader gets the newest screens. The server reads ${maxScreens} screens at the same time for all viewers; the others, unknown agents and agents without a live gateway are screen_absent. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} clients follow at once; further ones get 503.`,
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
