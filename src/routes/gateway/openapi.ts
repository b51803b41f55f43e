import * as aguiSchemas from "../../protocol/agui.ts";
import { documentEndpoints } from "../../protocol/document-endpoints.ts";
import * as endpointSchemas from "../../protocol/endpoint.ts";
import { gatewayEndpoints, streamEndpoints } from "../../protocol/endpoints.ts";
import * as eventSchemas from "../../protocol/events.ts";
import * as gatewaySchemas from "../../protocol/gateway.ts";
import * as mailSchemas from "../../protocol/mail.ts";
import * as notifierSchemas from "../../protocol/notifier.ts";
import * as reminderSchemas from "../../protocol/reminders.ts";
import * as terminalSchemas from "../../protocol/terminal.ts";
import * as turnSchemas from "../../protocol/turns.ts";
import * as wireSchemas from "../../protocol/wire.ts";
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
  schemas: namedSchemas([
    wireSchemas,
    endpointSchemas,
    eventSchemas,
    gatewaySchemas,
    terminalSchemas,
    turnSchemas,
    mailSchemas,
    reminderSchemas,
    notifierSchemas,
    aguiSchemas,
  ]),
  refusals: gateRefusals(),
});

/** The document of the gateway's routes. Built anew by each call; nothing in it depends on a running gateway. */
export function gatewayOpenApi(): OpenApiDocument {
  return describeDocument(buildOpenApi(declaration()));
}
