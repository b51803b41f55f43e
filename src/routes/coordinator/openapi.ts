import * as agentSchemas from "../../protocol/agents.ts";
import * as coordinatorSchemas from "../../protocol/coordinator.ts";
import { allCoordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import * as gatewaySchemas from "../../protocol/gateway.ts";
import { describeDocument } from "../openapi/describe.ts";
import { buildOpenApi, namedSchemas, type OpenApiDocument } from "../openapi/document.ts";
import { gateRefusals } from "../openapi/refusals.ts";

/** The document of the coordination server's routes. Built anew by each call; nothing in it depends on a running one. */
export function coordinatorOpenApi(): OpenApiDocument {
  return describeDocument(
    buildOpenApi({
      title: "svc-coord",
      description:
        "All coding agents of one user behind one API: who they are, what they do, and the gateway, the mail and the turns of each. Unknown keys of a request are refused. Times are UTC.",
      version: gatewaySchemas.protocolVersion,
      endpoints: allCoordinatorEndpoints,
      schemas: namedSchemas([agentSchemas, coordinatorSchemas]),
      refusals: gateRefusals(),
    }),
  );
}
