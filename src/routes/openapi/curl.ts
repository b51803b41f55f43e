import type { OpenApiDocument, Operation, Parameter } from "./document.ts";
import { type JsonSchema, nameIn } from "./json-schema.ts";

/**
 * A curl line that calls an operation, for a POSIX shell. A path parameter is its name in capitals, a query has the
 * required parameters, the body is the first example of its schema. `$BASE_URL` is the address of the server. Pure.
 */
export function toCurl(
  { method, path, operation }: { method: string; path: string; operation: Operation },
  { components }: Pick<OpenApiDocument, "components">,
): string {
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
  const query = (operation.parameters ?? [])
    .filter((one) => one.in === "query" && one.required)
    .map((one) => `${one.name}=${encodeURIComponent(String(sampleOf(one, components.schemas)))}`);
  const streams = Object.values(operation.responses).some(
    (response) => "content" in response && response.content["text/event-stream"],
  );
  const schema = operation.requestBody?.content["application/json"]?.schema;
  return [
    `curl ${streams ? "-N" : "-sS"}`,
    ...(method === "get" || (method === "post" && schema) ? [] : [`-X ${method.toUpperCase()}`]),
    `"$BASE_URL${address}${query.length > 0 ? `?${query.join("&")}` : ""}"`,
    ...(schema
      ? [
          "-H 'content-type: application/json'",
          `-d ${quote(JSON.stringify(exampleOf(schema, components.schemas)))}`,
        ]
      : []),
  ].join(" ");
}

type Schemas = OpenApiDocument["components"]["schemas"];

function resolve(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const { $ref } = schema;
  return typeof $ref === "string" ? (schemas[nameIn($ref)] ?? {}) : schema;
}

function exampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  return (resolve(schema, schemas)["examples"] as unknown[] | undefined)?.[0] ?? {};
}

/** A value that a required query parameter takes. */
function sampleOf({ schema, name }: Parameter, schemas: Schemas): unknown {
  const { enum: words, minimum } = resolve(schema, schemas);
  return (words as unknown[] | undefined)?.[0] ?? minimum ?? name.toUpperCase();
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
