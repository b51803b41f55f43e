import { Elysia, t } from "elysia";
import { gatewayEndpoints } from "../../protocol/endpoints.ts";
import { protocolVersion, RequestState } from "../../protocol/gateway.ts";
import { ErrorBody, ValidationErrorBody } from "../../protocol/wire.ts";
import { refuseRequest } from "../../services/queue/admission.ts";
import { ServiceError } from "../../system/errors.ts";
import { type FaultReporter, httpErrors } from "../http/errors.ts";
import { type GateOptions, httpGate } from "../http/gate.ts";
import { jsonBody } from "../http/json-body.ts";
import { controlRoutes } from "./control.ts";
import type { GatewayServices } from "./services.ts";

const endpoints = gatewayEndpoints;

const statusRoutes = ({ board }: Pick<GatewayServices, "board">) =>
  new Elysia({ name: "gateway-status" })
    .get(endpoints.health.path, () => ({ protocol_version: protocolVersion, status: "ok" as const }), {
      response: { 200: endpoints.health.reply },
    })
    .get(endpoints.status.path, () => board.status(), { response: { 200: endpoints.status.reply } });

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
        });
        if (refusal) throw refusal;
        return status(202, await queue.accept(body));
      },
      {
        parse: "limitedJson",
        body: endpoints.submitRequest.body,
        response: {
          202: endpoints.submitRequest.reply,
          409: ErrorBody,
          422: ValidationErrorBody,
          503: ErrorBody,
        },
      },
    )
    .get(
      endpoints.listRequests.path,
      ({ query }) => ({
        schema_version: 1 as const,
        requests: queue.list({ limit: query.limit, ...(query.state ? { state: query.state } : {}) }),
      }),
      {
        query: t.Object(
          {
            limit: t.Numeric({ minimum: 1, maximum: 1000, multipleOf: 1, default: 100 }),
            state: t.Optional(RequestState),
          },
          { additionalProperties: false },
        ),
        response: { 200: endpoints.listRequests.reply, 422: ValidationErrorBody },
      },
    )
    .get(
      endpoints.readRequest.path,
      ({ params }) => {
        const record = queue.record(params.request_id);
        if (!record) throw new ServiceError("not_found", "no request with this id");
        return record;
      },
      { response: { 200: endpoints.readRequest.reply, 404: ErrorBody } },
    );

/**
 * The HTTP surface of one gateway as an edge-style handler: `app.fetch(request)` is all a server needs. Source:
 * contract 4.1.
 */
export function createGatewayApp(options: {
  services: GatewayServices;
  gate: GateOptions;
  faults: FaultReporter;
}) {
  const { services } = options;
  const app = new Elysia({ name: "gateway", normalize: false });
  return app
    .use(httpErrors({ faults: options.faults, routes: () => app.routes }))
    .use(httpGate(options.gate))
    .use(statusRoutes(services))
    .use(requestRoutes(services))
    .use(controlRoutes(services));
}

export type GatewayApp = ReturnType<typeof createGatewayApp>;
