import { Elysia } from "elysia";
import type { CoordinatorInstance } from "../../protocol/coordinator.ts";
import { coordinatorEndpoints, coordinatorStreams } from "../../protocol/coordinator-endpoints.ts";
import { type ForwardedEndpoint, forwardedEndpoints, forwardedStreams } from "../../protocol/endpoints.ts";
import type { HostList, HostListQuery } from "../../protocol/host-states.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { Attention, AttentionStreamItem } from "../../services/attention/attention.ts";
import type { FleetEvents, FleetStreamItem } from "../../services/fleet/fleet-events.ts";
import type { FleetLaunch } from "../../services/fleet/fleet-launch.ts";
import type { FleetStates } from "../../services/fleet/fleet-states.ts";
import type { FleetTurns } from "../../services/fleet/fleet-turns.ts";
import type { FleetView } from "../../services/fleet/fleet-view.ts";
import type { FleetWork } from "../../services/fleet/fleet-work.ts";
import type { Forward } from "../../services/fleet/forward.ts";
import type { Answer } from "../../services/fleet/gateway-client.ts";
import { ServiceError } from "../../system/errors.ts";
import { type FaultReporter, httpErrors } from "../http/errors.ts";
import type { Guard } from "../http/gate.ts";
import { httpGate } from "../http/gate-plugin.ts";
import { type Handlers, idempotencyKeyOf, mount, type Routes } from "../http/mount.ts";
import { createFollowers, heartbeat, renderEvent, streamOf } from "../http/sse.ts";
import { artifactAnswer, toArtifactPart, turnEventsAnswer } from "../http/turn-answers.ts";
import { openApiRoutes } from "../openapi/routes.ts";

const {
  metrics: _metrics,
  fleetLedger: _ledger,
  listDeliveries: _deliveries,
  ...coreEndpoints
} = coordinatorEndpoints;
const { screensEvents: _screens, ...coreStreams } = coordinatorStreams;

/** The services behind the routes of the coordination server. */
export interface CoordinatorServices {
  view: FleetView;
  states: FleetStates;
  attention: Omit<Attention, "stop">;
  hosts: { list(query: HostListQuery): HostList | Promise<HostList> };
  work: FleetWork;
  turns: FleetTurns;
  launches: FleetLaunch;
  forward: Forward;
  events: FleetEvents;
  server: {
    instance(): CoordinatorInstance;
    /** Ends the process after a moment in which the answer is sent. */
    shutdown(): void;
  };
}

/**
 * The HTTP app of the coordination server; a server calls its `fetch`. Source: contract 4.4.
 */
export function createCoordinatorApp(options: {
  services: CoordinatorServices;
  guards: readonly Guard[];
  faults: FaultReporter;
  /** As of `httpErrors`. */
  advice: (remedy: Remedy) => string;
  /** Answers requests for agents of other hosts, after the gate; undefined for other requests. */
  relay?: (request: Request) => Promise<Response | undefined>;
  /** Routes that extensions add. */
  extensions?: readonly Routes[];
}) {
  const { services } = options;
  const app = new Elysia({ name: "coordinator", normalize: false });
  app
    .use(httpErrors({ faults: options.faults, advice: options.advice, routes: () => app.routes }))
    .use(httpGate(options.guards))
    .use(relayPlugin(options.relay))
    .use(
      mount({
        name: "coordinator",
        endpoints: coreEndpoints,
        handlers: coordinatorHandlers(services),
        bodyOptional: ["attachAgentGateway"],
      }),
    )
    .use(
      mount({
        name: "coordinator-streams",
        endpoints: coreStreams,
        handlers: streamHandlers(services),
        unchecked: "all",
      }),
    )
    .use(forwardRoutes(services))
    .use(openApiRoutes(async () => (await import("../openapi/documents.ts")).coordinatorOpenApi));
  for (const routes of options.extensions ?? []) app.use(routes);
  return app;
}

export type CoordinatorApp = ReturnType<typeof createCoordinatorApp>;

/** Handlers for the server, the agents and their work (contract 4.4). */
const coordinatorHandlers = ({
  server,
  view,
  states,
  hosts,
  attention,
  work,
  launches,
  turns,
}: CoordinatorServices): Handlers<typeof coreEndpoints> => ({
  health: () => ({ status: "ok", svc_service: "svc-coord" }),
  currentInstance: () => server.instance(),
  shutdown: () => {
    server.shutdown();
    return { status: "ok" };
  },
  listAgents: ({ query }) => view.list(query),
  listAgentStates: ({ query: { agents, max_age_ms: maxAgeMs = 0, attention: asks } }) =>
    states.list({
      ...(agents === undefined ? {} : { agents: agents.split(",") }),
      maxAgeMs,
      attention: asks === "true",
    }),
  listHosts: ({ query }) => hosts.list(query),
  listAttention: ({ query }) => attention.list(query),
  answerAttention: async ({ params, body }) => bodyOf(await attention.answer(params.attention_id, body)),
  readAgent: ({ params }) => view.identity(params.agent_ref),
  agentState: ({ params }) => view.state(params.agent_ref),
  agentStateDetail: ({ params }) => view.detail(params.agent_ref),
  agentHistory: ({ params, query }) => view.history(params.agent_ref, query.limit),
  submitAgentRequest: async ({ params, body, request }) =>
    bodyOf(await work.submit(params.agent_ref, body, idempotencyKeyOf(request))),
  agentGateway: ({ params }) => view.gateway(params.agent_ref),
  attachAgentGateway: ({ params }) => notOffered(view, params.agent_ref, "attach"),
  detachAgentGateway: ({ params }) => notOffered(view, params.agent_ref, "detach"),
  agentMailResolveLive: ({ params }) => view.resolveLive(params.agent_ref),
  stopAgent: ({ params }) => work.stop(params.agent_ref),
  relaunchAgent: ({ params, request }) => work.relaunch(params.agent_ref, idempotencyKeyOf(request)),
  launchHeadless: ({ body }) => launches.launch(body),
  submitTurn: async ({ params, body, request }) =>
    bodyOf(await turns.submit(params.agent_ref, body, idempotencyKeyOf(request))),
  readAgentTurn: ({ params }) => turns.read(params.agent_ref, params.turn_id),
  agentTurnEvents: async ({ params: { agent_ref, turn_id }, query, request }) => {
    const { trackedId, events } = await turns.events(agent_ref, turn_id, query.after);
    return turnEventsAnswer({ tracked_agent_id: trackedId, turn_id }, events, query, request.method);
  },
  interruptAgent: ({ params }) => turns.interrupt(params.agent_ref),
});

function relayPlugin(relay: ((request: Request) => Promise<Response | undefined>) | undefined) {
  const plugin = new Elysia({ name: "relay", seed: relay });
  return relay ? plugin.onRequest(({ request }) => relay(request)) : plugin;
}

/** Handlers for the artifacts of turns and the event streams. */
function streamHandlers({
  turns,
  events,
  attention,
}: Pick<CoordinatorServices, "turns" | "events" | "attention">): Handlers<typeof coreStreams> {
  const followers = createFollowers();
  const artifact = async (
    name: "stdout" | "stderr",
    { agent_ref, turn_id }: { agent_ref: string; turn_id: string },
    { query, request }: { query: { offset: number; max_bytes?: number }; request: Request },
  ) => {
    const part = toArtifactPart(query);
    return artifactAnswer(await turns.artifact(agent_ref, turn_id, name, part), part, request.method);
  };
  return {
    agentTurnStdout: ({ params, query, request }) => artifact("stdout", params, { query, request }),
    agentTurnStderr: ({ params, query, request }) => artifact("stderr", params, { query, request }),
    fleetEvents: ({ request, query }) => {
      // The header of the protocol wins over the query.
      const after = request.headers.get("last-event-id") ?? query.after ?? null;
      const items = followers.admit(request.signal, (signal) => events.follow({ after, signal }));
      const render = (item: FleetStreamItem) =>
        item.item === "heartbeat" ? heartbeat : renderEvent(item.id, item.event);
      return streamOf(items, render, { method: request.method });
    },
    attentionEvents: ({ request }) => {
      const items = followers.admit(request.signal, (signal) => attention.follow({ signal }));
      const render = (item: AttentionStreamItem) =>
        item.item === "heartbeat" ? heartbeat : renderEvent(item.event.at_utc, item.event);
      return streamOf(items, render, { method: request.method });
    },
  };
}

async function notOffered(
  view: CoordinatorServices["view"],
  ref: string,
  verb: "attach" | "detach",
): Promise<never> {
  const { agent_id } = await view.identity(ref);
  const code = `${verb}_gateway` as const;
  throw new ServiceError("not_implemented", `a gateway is ${verb}ed on the agent's machine`, {
    data: { remedy: { code, agent_id: agent_id ?? ref } as Remedy },
  });
}

/** The body of a successful answer, or the refusal of a gateway, unchanged. */
function bodyOf<T>(answer: Answer<T>): T | Response {
  if (answer.kind === "done") return answer.body;
  return Response.json(answer.body, { status: answer.status });
}

/**
 * The routes of the forwarded operations. They read only the destination of a request; the gateway validates
 * it.
 */
function forwardRoutes({ forward }: Pick<CoordinatorServices, "forward">) {
  const app = new Elysia({ name: "coordinator-forward" });
  for (const route of [...Object.values(forwardedEndpoints), ...Object.values(forwardedStreams)]) {
    app.route(
      route.method,
      route.path,
      ({ params, request }) => {
        const values = params as Record<string, string>;
        return forward.send(route, values["agent_ref"] ?? "", {
          ...(request.method === "HEAD" ? { method: "HEAD" } : {}),
          target: targetOf(route, values, request.url),
          headers: request.headers,
          body: request.body,
          signal: request.signal,
        });
      },
      { parse: "none" },
    );
  }
  return app;
}

/** Path and query of the operation at the gateway, with the same parameters and the same query. Pure. */
function targetOf(route: ForwardedEndpoint, params: Readonly<Record<string, string>>, url: string): string {
  const path = route.gatewayPath.replace(/:([a-z_]+)/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  );
  return path + new URL(url).search;
}
