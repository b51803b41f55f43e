import { Elysia } from "elysia";
import { coreEndpoints } from "../../protocol/core-endpoints.ts";
import type { AgentTurns } from "../../services/agent/turns.ts";
import { refuseRequest } from "../../services/queue/admission.ts";
import { ServiceError } from "../../system/errors.ts";
import { numbersIn, repliesOf, takes } from "../http/declared.ts";
import { jsonBody } from "../http/json-body.ts";
import type { CoreServices } from "./services.ts";

const endpoints = coreEndpoints;

/** The durable queue (contract 4.1). */
export const requestRoutes = ({ queue, board, agent }: Pick<CoreServices, "queue" | "board" | "agent">) =>
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
        ...takes(endpoints.submitRequest),
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

function turnFacts(turns: AgentTurns, queue: Pick<CoreServices["queue"], "claimsTurn">) {
  return {
    turnTaken: (turnId: string) => queue.claimsTurn(turnId) || turns.exists(turnId),
    executionProblem: turns.refuseExecution,
  };
}
