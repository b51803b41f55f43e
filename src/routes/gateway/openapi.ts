import { KindGuard, type TSchema } from "@sinclair/typebox";
import { documentEndpoints, gatewayEndpoints, streamEndpoints } from "../../protocol/endpoints.ts";
import * as gatewaySchemas from "../../protocol/gateway.ts";
import * as terminalSchemas from "../../protocol/terminal.ts";
import * as wireSchemas from "../../protocol/wire.ts";
import { maxBodyBytes } from "../http/gate.ts";
import { type ApiDeclaration, buildOpenApi, type OpenApiDocument } from "../openapi/document.ts";

const { ErrorBody } = wireSchemas;

const named = (room: Readonly<Record<string, unknown>>): [string, TSchema][] =>
  Object.entries(room).filter((entry): entry is [string, TSchema] => KindGuard.IsSchema(entry[1]));

const declaration: ApiDeclaration = {
  title: "svc-gateway",
  description:
    "One gateway beside one coding agent: a durable queue of prompts, direct control, and what the agent's terminal shows. Unknown keys of a request are refused. Times are UTC.",
  version: gatewaySchemas.protocolVersion,
  endpoints: { ...gatewayEndpoints, ...streamEndpoints, ...documentEndpoints },
  schemas: Object.fromEntries([gatewaySchemas, terminalSchemas, wireSchemas].flatMap(named)),
  refusals: [
    {
      status: 401,
      description: "A bearer token is needed and was not shown",
      schema: ErrorBody,
      appliesTo: (endpoint) => endpoint !== gatewayEndpoints.health,
    },
    {
      status: 403,
      description: "A page of another origin may not call",
      schema: ErrorBody,
      appliesTo: () => true,
    },
    {
      status: 413,
      description: `The body is larger than ${maxBodyBytes} bytes`,
      schema: ErrorBody,
      appliesTo: (endpoint) => endpoint.body !== null,
    },
    {
      status: 415,
      description: "The body is not application/json",
      schema: ErrorBody,
      appliesTo: (endpoint) => endpoint.body !== null,
    },
    {
      status: 421,
      description: "This host name is not served here",
      schema: ErrorBody,
      appliesTo: () => true,
    },
    {
      status: 500,
      description: "An unforeseen fault; its error_id is in the log",
      schema: ErrorBody,
      appliesTo: () => true,
    },
  ],
};

/** The document of the gateway's routes. Built anew by each call; nothing in it depends on a running gateway. */
export function gatewayOpenApi(): OpenApiDocument {
  return buildOpenApi(declaration);
}
