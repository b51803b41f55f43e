import * as agentStateSchemas from "../../protocol/agent-states.ts";
import * as agentSchemas from "../../protocol/agents.ts";
import * as aguiSchemas from "../../protocol/agui.ts";
import * as attentionSchemas from "../../protocol/attention.ts";
import * as consoleSchemas from "../../protocol/console.ts";
import * as coordinatorSchemas from "../../protocol/coordinator.ts";
import { allCoordinatorEndpoints } from "../../protocol/coordinator-endpoints.ts";
import { documentEndpoints } from "../../protocol/core-endpoints.ts";
import * as deliverySchemas from "../../protocol/delivery.ts";
import type { Endpoint } from "../../protocol/endpoint.ts";
import { gatewayEndpoints, streamEndpoints } from "../../protocol/endpoints.ts";
import * as fleetLedgerSchemas from "../../protocol/fleet-ledger.ts";
import * as gatewaySchemas from "../../protocol/gateway.ts";
import * as recorderSchemas from "../../protocol/recorder.ts";
import { ErrorBody, outcomeUnknownStatus } from "../../protocol/wire.ts";
import { maxBodyBytes, openPaths } from "../http/gate.ts";
import { buildOpenApi, namedSchemas, type OpenApiDocument, type Refusal } from "./document.ts";
import recordedExamples from "./examples.json" with { type: "json" };
import { type JsonSchema, nameIn } from "./json-schema.ts";

/**
 * The document of the gateway's routes. Each call builds it again; it does not depend on a running gateway.
 */
export function gatewayOpenApi(): OpenApiDocument {
  return addExamples(
    buildOpenApi({
      title: "svc-gateway",
      description:
        "One gateway beside one coding agent: a durable queue of prompts, direct control, and what the agent's terminal shows. Unknown keys of a request are refused. Times are UTC.",
      version: gatewaySchemas.protocolVersion,
      endpoints: { ...gatewayEndpoints, ...streamEndpoints, ...documentEndpoints },
      schemas: namedSchemas([aguiSchemas, agentSchemas, attentionSchemas, consoleSchemas, recorderSchemas]),
      refusals: gateRefusals(),
    }),
  );
}

/**
 * The document of the coordination server's routes. Each call builds it again; it does not depend on a
 * running server.
 */
export function coordinatorOpenApi(): OpenApiDocument {
  return addExamples(
    buildOpenApi({
      title: "svc-coord",
      description:
        "All coding agents of one user behind one API: who they are, what they do, and the gateway, the mail and the turns of each. Unknown keys of a request are refused. Times are UTC.",
      version: gatewaySchemas.protocolVersion,
      endpoints: allCoordinatorEndpoints,
      schemas: namedSchemas([
        agentStateSchemas,
        agentSchemas,
        attentionSchemas,
        consoleSchemas,
        coordinatorSchemas,
        deliverySchemas,
        fleetLedgerSchemas,
        recorderSchemas,
      ]),
      refusals: gateRefusals(),
    }),
  );
}

/** The refusals of the gate, which come before any operation. */
function gateRefusals(): Refusal[] {
  const refusal = (
    status: number,
    description: string,
    appliesTo: (endpoint: Endpoint) => boolean,
  ): Refusal => ({ status, description, schema: ErrorBody, appliesTo });
  const withBody = ({ body }: Endpoint) => body !== null;
  const withKey = ({ keepsKey }: Endpoint) => keepsKey;
  return [
    refusal(401, "A bearer token is required", ({ path }) => !openPaths.has(path)),
    refusal(403, "A page of another origin may not call", () => true),
    refusal(409, "Its Idempotency-Key was used for another request", withKey),
    refusal(413, `The body is larger than ${maxBodyBytes} bytes`, withBody),
    refusal(415, "The body is not application/json", withBody),
    refusal(421, "This host name is not served here", () => true),
    refusal(500, "An unexpected fault; its error_id is in the log", () => true),
    refusal(outcomeUnknownStatus, "The outcome of the call with this Idempotency-Key is unknown", withKey),
  ];
}

/** Bodies recorded by the contract tests, by component. */
const examples: Readonly<Record<string, unknown>> = recordedExamples;

/** Adds examples to the schemas, in place; a union gets those of its branches. Returns the document. */
function addExamples(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  for (const [name, schema] of Object.entries(schemas)) {
    if (name in examples) schema["examples"] = [examples[name]];
  }
  for (const schema of Object.values(schemas)) {
    const branches = ((schema["anyOf"] ?? []) as JsonSchema[]).map(({ $ref }) => nameIn(String($ref)));
    const ofBranches = branches.flatMap((branch) => schemas[branch]?.["examples"] ?? []);
    if (ofBranches.length > 0) schema["examples"] ??= ofBranches;
  }
  return document;
}
