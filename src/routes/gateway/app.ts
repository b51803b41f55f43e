import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { gatewayEndpoints } from "../../protocol/endpoints.ts";
import { protocolVersion } from "../../protocol/gateway.ts";
import type { AgentTurns } from "../../services/agent/turns.ts";
import { refuseRequest } from "../../services/queue/admission.ts";
import { ServiceError } from "../../system/errors.ts";
import { numbersIn, repliesOf } from "../http/declared.ts";
import { type FaultReporter, httpErrors } from "../http/errors.ts";
import { type GateOptions, httpGate } from "../http/gate.ts";
import { jsonBody } from "../http/json-body.ts";
import type { HttpObservation } from "../http/observe.ts";
import { openApiRoutes } from "../openapi/routes.ts";
import { aguiRoutes } from "./agui.ts";
import { controlRoutes } from "./control.ts";
import { eventRoutes } from "./events.ts";
import { headlessRoutes } from "./headless.ts";
import { mailRoutes } from "./mail.ts";
import { notifierRoutes } from "./notifier.ts";
import { gatewayOpenApi } from "./openapi.ts";
import { reminderRoutes } from "./reminders.ts";
import type { GatewayServices } from "./services.ts";

const endpoints = gatewayEndpoints;

const statusRoutes = ({ board }: Pick<GatewayServices, "board">) =>
  new Elysia({ name: "gateway-status" })
    // Without a check of what it answers: building one takes 4 ms of a gateway's start, which ends with this answer.
    .get(
      endpoints.health.path,
      (): Static<typeof endpoints.health.reply> => ({
        protocol_version: protocolVersion,
        status: "ok",
      }),
    )
    .get(endpoints.status.path, () => board.status(), { response: repliesOf(endpoints.status) });

const requestRoutes = ({ queue, board, agent }: GatewayServices) =>
  new Elysia({ name: "gateway-requests" })
    .use(jsonBody)
    .post(
      endpoints.submitRequest.path,
      async ({ body, status }) => {
        const presence = agent.presence();
        const refusal = refuseRequest(body, {
          reconciliationRequired: board.reconciliationRequired(),
          connected: presence.connected,
          presenceDetail: presence.detail,
          headless: agent.turns ? turnFacts(agent.turns, queue) : null,
        });
        if (refusal) throw refusal;
        return status(202, await queue.accept(body));
      },
      {
        parse: "limitedJson",
        body: endpoints.submitRequest.body,
        response: repliesOf(endpoints.submitRequest),
      },
    )
    .get(
      endpoints.listRequests.path,
      ({ query }) => ({
        schema_version: 1 as const,
        requests: queue.list({ limit: query.limit, ...(query.state ? { state: query.state } : {}) }),
      }),
      {
        query: endpoints.listRequests.query,
        transform: numbersIn(endpoints.listRequests.query),
        response: repliesOf(endpoints.listRequests),
      },
    )
    .get(
      endpoints.readRequest.path,
      ({ params }) => {
        const record = queue.record(params.request_id);
        if (!record) throw new ServiceError("not_found", "no request with this id");
        return record;
      },
      { response: repliesOf(endpoints.readRequest) },
    );

function turnFacts(turns: AgentTurns, queue: Pick<GatewayServices["queue"], "claimsTurn">) {
  return {
    turnTaken: (turnId: string) => queue.claimsTurn(turnId) || turns.exists(turnId),
    executionProblem: turns.refuseExecution,
  };
}

/**
 * The HTTP surface of one gateway as an edge-style handler: `app.fetch(request)` is all a server needs. Source:
 * contract 4.1.
 */
export function createGatewayApp(options: {
  services: GatewayServices;
  gate: GateOptions;
  faults: FaultReporter;
  observation?: HttpObservation;
}) {
  const { services } = options;
  const app = new Elysia({ name: "gateway", normalize: false });
  if (options.observation) app.use(options.observation.plugin);
  return app
    .use(httpErrors({ faults: options.faults, routes: () => app.routes }))
    .use(httpGate(options.gate))
    .use(statusRoutes(services))
    .use(requestRoutes(services))
    .use(controlRoutes(services))
    .use(mailRoutes(services))
    .use(notifierRoutes(services))
    .use(reminderRoutes(services))
    .use(headlessRoutes(services))
    .use(eventRoutes(services))
    .use(aguiRoutes(services))
    .use(openApiRoutes(gatewayOpenApi));
}

export type GatewayApp = ReturnType<typeof createGatewayApp>;
