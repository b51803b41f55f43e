import { KindGuard, type TObject, type TSchema } from "@sinclair/typebox";
import * as budgetSchemas from "../../protocol/budget.ts";
import * as endpointSchemas from "../../protocol/endpoint.ts";
import { type Endpoint, pathParameters } from "../../protocol/endpoint.ts";
import type { StreamedEvents } from "../../protocol/events.ts";
import * as eventSchemas from "../../protocol/events.ts";
import * as gatewaySchemas from "../../protocol/gateway.ts";
import * as ledgerSchemas from "../../protocol/ledger.ts";
import * as mailSchemas from "../../protocol/mail.ts";
import * as notifierSchemas from "../../protocol/notifier.ts";
import { admitNulls } from "../../protocol/null-absence.ts";
import * as reminderSchemas from "../../protocol/reminders.ts";
import * as terminalSchemas from "../../protocol/terminal.ts";
import * as transcriptSchemas from "../../protocol/transcript.ts";
import * as turnFileSchemas from "../../protocol/turn-files.ts";
import * as turnSchemas from "../../protocol/turns.ts";
import * as wireSchemas from "../../protocol/wire.ts";
import { createSchemaWriter, type JsonSchema, nameIn, type SchemaWriter } from "./json-schema.ts";

/** The source of a document: the declarations of the routes, and nothing else. */
interface ApiDeclaration {
  title: string;
  description: string;
  version: string;
  /** By operation id. */
  endpoints: Readonly<Record<string, Endpoint>>;
  /** Schemas that become components, by name. */
  schemas: Readonly<Record<string, TSchema>>;
  /** Refusals of the gate, which come before any operation. */
  refusals: readonly Refusal[];
}

export interface Refusal {
  status: number;
  description: string;
  schema: TSchema;
  appliesTo: (endpoint: Endpoint) => boolean;
}

interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { description: string; content: Content } | { $ref: string }>;
}

interface Parameter {
  name: string;
  in: "query" | "path" | "header";
  required: boolean;
  description: string;
  schema: JsonSchema;
}

export type Content = Record<
  string,
  { schema: JsonSchema; "x-item-schema"?: JsonSchema; "x-event-kinds"?: StreamedEvents["kinds"] }
>;

export interface OpenApiDocument {
  openapi: "3.1.1";
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  security: Record<string, string[]>[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: Record<string, Record<string, string>>;
    parameters: Record<string, Parameter>;
    responses: Record<string, { description: string; content: Content }>;
    schemas: Record<string, JsonSchema>;
  };
}

/** Schema modules of both documents. */
const sharedModules = [
  wireSchemas,
  endpointSchemas,
  eventSchemas,
  gatewaySchemas,
  terminalSchemas,
  transcriptSchemas,
  ledgerSchemas,
  budgetSchemas,
  turnFileSchemas,
  turnSchemas,
  mailSchemas,
  reminderSchemas,
  notifierSchemas,
];

/** The schemas that the shared modules and `modules` export, by their exported name. Pure. */
export function namedSchemas(modules: readonly object[]): Record<string, TSchema> {
  const named = (module: object): [string, TSchema][] =>
    Object.entries(module).filter((entry): entry is [string, TSchema] => KindGuard.IsSchema(entry[1]));
  return Object.fromEntries([...sharedModules, ...modules].flatMap(named));
}

/** The OpenAPI 3.1 document of an API. Pure; the same declarations give the same document, byte for byte. */
export function buildOpenApi(api: ApiDeclaration): OpenApiDocument {
  const writer = createSchemaWriter(api.schemas);
  const paths: OpenApiDocument["paths"] = {};
  for (const [id, endpoint] of Object.entries(api.endpoints)) {
    const path = endpoint.path.replace(/:([a-z_]+)/g, "{$1}");
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: toOperation(api, id, endpoint, writer) };
  }
  const responses = Object.fromEntries(
    api.refusals.map(({ status, description, schema }) => [
      `Refused${status}`,
      { description, content: json(writer.writeNamed(schema, `Refused${status}Body`)) },
    ]),
  );
  Object.assign(responses, shareResponses(paths));
  const tags = new Set(Object.values(api.endpoints).map((endpoint) => tagOf(endpoint.path)));
  return {
    openapi: "3.1.1",
    info: { title: api.title, version: api.version, description: api.description },
    servers: [{ url: "/" }],
    // A server without a token needs no authentication.
    security: [{ bearer: [] }, {}],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "the operator's token; always required off loopback, on loopback only if one is set",
        },
      },
      parameters: { "Idempotency-Key": keyParameter },
      responses,
      schemas: writer.components(),
    },
  };
}

const { description: keyDescription = "", pattern: keyPattern = "" } = wireSchemas.IdempotencyKey;
/** Of each endpoint that keeps the key of its caller. */
const keyParameter: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: keyDescription,
  schema: { type: "string", pattern: keyPattern },
};

function toOperation(api: ApiDeclaration, id: string, endpoint: Endpoint, writer: SchemaWriter): Operation {
  const { body, description } = endpoint;
  const parameters = [
    ...toPathParameters(endpoint.path),
    ...toQueryParameters(endpoint.query, writer),
    ...(endpoint.keepsKey ? [{ $ref: "#/components/parameters/Idempotency-Key" }] : []),
  ];
  const refusals = api.refusals.filter(
    (refusal) => refusal.appliesTo(endpoint) && !(refusal.status in endpoint.errors),
  );
  return {
    operationId: id,
    summary: endpoint.summary,
    ...(description === undefined ? {} : { description }),
    tags: [tagOf(endpoint.path)],
    ...(refusals.some(({ status }) => status === 401) ? {} : { security: [] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: json(writer.writeNamed(admitNulls(body), `${capitalize(id)}Request`)),
          },
        }),
    responses: {
      [endpoint.status]: {
        description: describe(endpoint.response, "Done"),
        content: content(endpoint.response, writer, `${capitalize(id)}Answer`),
      },
      ...Object.fromEntries(
        Object.entries(endpoint.errors).map(([status, schema]) => [
          status,
          {
            description: meanings[status] ?? describe(schema, "Refused"),
            content: content(schema, writer, `${capitalize(id)}Refusal${status}`),
          },
        ]),
      ),
      ...Object.fromEntries(
        refusals.map(({ status }) => [status, { $ref: `#/components/responses/Refused${status}` }]),
      ),
    },
  };
}

/** Replaces each refusal of several operations by a reference. Returns the shared refusals, by name. */
function shareResponses(paths: OpenApiDocument["paths"]): OpenApiDocument["components"]["responses"] {
  const shared: OpenApiDocument["components"]["responses"] = {};
  const uses = new Map<string, { responses: Operation["responses"]; status: string }[]>();
  for (const { responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, response] of Object.entries(responses)) {
      if (status.startsWith("2") || "$ref" in response) continue;
      const key = `${status} ${JSON.stringify(response)}`;
      uses.set(key, [...(uses.get(key) ?? []), { responses, status }]);
    }
  }
  for (const places of uses.values()) {
    const [first] = places;
    const response = first?.responses[first.status];
    if (!response || "$ref" in response || places.length < 2) continue;
    const body = Object.values(response.content)[0]?.schema["$ref"];
    const name = `${nameIn(String(body))}${first.status}`;
    shared[name] = response;
    for (const { responses, status } of places)
      responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return shared;
}

const meanings: Record<string, string> = {
  400: "A terminal agent does not have this operation",
  404: "Nothing has this name",
  409: "The state of the agent or the gateway does not allow it now",
  422: "The request is invalid, or this agent cannot do it",
  501: "This kind of agent cannot do it",
  502: "The system behind it failed",
  503: "The agent cannot be reached",
};

function toPathParameters(path: string): Parameter[] {
  return [...path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: pathParameters[name]?.description ?? "",
    schema: { type: "string" },
  }));
}

function toQueryParameters(query: TObject | null, writer: SchemaWriter): Parameter[] {
  const required = new Set((query?.required as string[] | undefined) ?? []);
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => {
    const { description: _, ...shape } = writer.write(schema);
    return {
      name,
      in: "query",
      required: required.has(name) && schema["default"] === undefined,
      description: schema.description ?? "",
      schema: shape,
    };
  });
}

/**
 * The tag of a path: `control` for `/v1/control/tui/state`, `mail` for `/svc/agents/:agent_ref/mail/list`,
 * `server` for `/health`.
 */
function tagOf(path: string): string {
  const [, ofGateway, ofAgent] = /^\/v1\/([a-z-]+)|^\/svc\/agents\/:agent_ref\/([a-z-]+)/.exec(path) ?? [];
  return ofGateway ?? ofAgent ?? (path.startsWith("/svc/agents") ? "agents" : "server");
}

function content(schema: TSchema, writer: SchemaWriter, fallback: string): Content {
  const mediaType = schema["contentMediaType"];
  if (typeof mediaType !== "string") return json(writer.writeNamed(schema, fallback));
  const events = schema["events"] as StreamedEvents | undefined;
  // OpenAPI 3.1 has no keyword for the items of a stream; 3.2 has `itemSchema`.
  const described = events && { "x-item-schema": writer.write(events.item), "x-event-kinds": events.kinds };
  return { [mediaType]: { schema: { type: "string" }, ...described } };
}

function json(schema: JsonSchema): Content {
  return { "application/json": { schema } };
}

function describe(schema: TSchema, otherwise: string): string {
  return capitalize(schema.description ?? otherwise);
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
