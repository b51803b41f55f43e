import * as aguiSchemas from "../../protocol/agui.ts";
import { documentEndpoints } from "../../protocol/document-endpoints.ts";
import { gatewayEndpoints, streamEndpoints } from "../../protocol/endpoints.ts";
import * as gatewaySchemas from "../../protocol/gateway.ts";
import { describeDocument } from "../openapi/describe.ts";
import {
  type ApiDeclaration,
  buildOpenApi,
  namedSchemas,
  type OpenApiDocument,
} from "../openapi/document.ts";
import { gateRefusals } from "../openapi/refusals.ts";

const declaration = (): ApiDeclaration => ({
  title: "svc-gateway",
  description:
    "One gateway beside one coding agent: a durable queue of prompts, direct control, and what the agent's terminal shows. Unknown keys of a request are refused. Times are UTC.",
  version: gatewaySchemas.protocolVersion,
  endpoints: { ...gatewayEndpoints, ...streamEndpoints, ...documentEndpoints },
  schemas: namedSchemas([aguiSchemas]),
  refusals: gateRefusals(),
});

/** The document of the gateway's routes. Built anew by each call; nothing in it depends on a running gateway. */
export function gatewayOpenApi(): OpenApiDocument {
  return describeDocument(buildOpenApi(declaration()));
}
