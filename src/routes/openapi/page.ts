import type { Content, OpenApiDocument, Operation, Parameter } from "./document.ts";
import { type JsonSchema, nameIn } from "./json-schema.ts";

/** One row of a table of fields. The names of nested ones are joined by dots, `[]` is each item of a list. */
interface Field {
  name: string;
  /** HTML. */
  type: string;
  optional: boolean;
  description: string;
}

/** The fields of an object and of the unnamed objects in it, in the order of the schema. Pure. */
function fieldsOf(schema: JsonSchema, prefix = ""): Field[] {
  const required = (schema["required"] as string[] | undefined) ?? [];
  return Object.entries((schema["properties"] as Record<string, JsonSchema> | undefined) ?? {}).flatMap(
    ([key, part]) => {
      const name = `${prefix}${key}`;
      const inner = objectsIn(part).flatMap(({ object, each }) =>
        fieldsOf(object, `${name}${each ? "[]" : ""}.`),
      );
      const description = String(part["description"] ?? "");
      return [{ name, type: typeHtml(part), optional: !required.includes(key), description }, ...inner];
    },
  );
}

/** What a schema allows, in words, as HTML. A named schema is a link to its section. Pure. */
function typeHtml(schema: JsonSchema): string {
  const { $ref, anyOf, items, properties, type, additionalProperties } = schema;
  if (typeof $ref === "string") {
    const name = escapeHtml(nameIn($ref));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if ("const" in schema) return codeText(schema["const"]);
  if (Array.isArray(schema["enum"])) return schema["enum"].map(codeText).join(" or ");
  if (Array.isArray(anyOf)) return anyOf.map((choice) => typeHtml(choice as JsonSchema)).join(" or ");
  if (items) return `list of ${typeHtml(items as JsonSchema)}${limits(schema)}`;
  if (type === "object") {
    const values = typeof additionalProperties === "object" ? (additionalProperties as JsonSchema) : {};
    return properties || Object.keys(values).length === 0 ? "object" : `object of ${typeHtml(values)}`;
  }
  const name = Array.isArray(type) ? type.join(" or ") : String(type ?? "any value");
  return `${escapeHtml(name)}${limits(schema)}`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function objectsIn(schema: JsonSchema): { object: JsonSchema; each: boolean }[] {
  if (schema["properties"]) return [{ object: schema, each: false }];
  const choices = schema["anyOf"] as JsonSchema[] | undefined;
  if (choices) return choices.flatMap(objectsIn);
  const items = schema["items"] as JsonSchema | undefined;
  return items ? objectsIn(items).map((inner) => ({ ...inner, each: true })) : [];
}

function limits(schema: JsonSchema): string {
  const unit = schema["items"] ? " items" : [schema["type"]].flat().includes("string") ? " characters" : "";
  const least = schema["minLength"] ?? schema["minimum"] ?? schema["minItems"];
  const most = schema["maxLength"] ?? schema["maximum"] ?? schema["maxItems"];
  const words = [
    schema["exclusiveMinimum"] === undefined ? "" : `more than ${schema["exclusiveMinimum"]}`,
    least === undefined || (least === 0 && unit !== "") ? "" : `at least ${least}${unit}`,
    most === undefined || Number(most) >= Number.MAX_SAFE_INTEGER ? "" : `at most ${most}${unit}`,
    schema["uniqueItems"] === true ? "all different" : "",
    schema["default"] === undefined ? "" : `default ${JSON.stringify(schema["default"])}`,
  ].filter((word) => word !== "");
  const pattern = schema["pattern"] === undefined ? "" : `, matching ${codeText(schema["pattern"])}`;
  return `${words.length > 0 ? `, ${escapeHtml(words.join(", "))}` : ""}${pattern}`;
}

/** A value as JSON; a string without its quotes. */
function codeText(value: unknown): string {
  const text = typeof value === "string" && value !== "" ? value : JSON.stringify(value);
  return code(text);
}

/**
 * A curl line that calls an operation, for a POSIX shell. A path parameter is its name in capitals, a query
 * has the required parameters, the body is the first example of its schema. `$BASE_URL` is the address of the
 * server. Pure.
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

const style = `
:root{color-scheme:light dark;--edge:color-mix(in srgb,currentColor 18%,transparent);--quiet:color-mix(in srgb,currentColor 65%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:64rem;padding:1rem 1.25rem 4rem}
h1{margin:.5rem 0 0}h2{margin:2.5rem 0 .5rem;border-bottom:1px solid var(--edge)}h3{margin:1rem 0 .25rem}h4{margin:1rem 0 .25rem}
code,pre,.path{font-family:ui-monospace,monospace;font-size:.9em}
pre{border:1px solid var(--edge);border-radius:.3rem;margin:.3rem 0;padding:.4rem .6rem;overflow-x:auto}
.quiet,td p{color:var(--quiet)}p{margin:.25rem 0}nav ul{list-style:none;padding:0;margin:0}nav li{margin:.1rem 0}
#find{font:inherit;width:100%;box-sizing:border-box;padding:.4rem .6rem;margin:1rem 0 0;position:sticky;top:.5rem}
details,section.schema{border:1px solid var(--edge);border-radius:.4rem;margin:.6rem 0;padding:.5rem .8rem}
summary{cursor:pointer}.method{display:inline-block;min-width:4.2em;font-weight:700}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{border-top:1px solid var(--edge);padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top}
:target{outline:2px solid Highlight;outline-offset:2px}`;

/**
 * Hides what does not hold every word of the search, and puts the address of this server into the curl lines.
 */
export const pageScript = `
for (const place of document.querySelectorAll(".origin")) place.textContent = location.origin;
const find = document.getElementById("find");
const texts = new Map();
for (const part of document.querySelectorAll("details[id],section.schema")) texts.set(part, part.textContent.toLowerCase());
find.hidden = false;
find.addEventListener("input", () => {
  const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const [part, text] of texts) part.hidden = !words.every((word) => text.includes(word));
  for (const link of document.querySelectorAll("nav li")) link.hidden = document.getElementById(link.dataset.of).hidden;
  for (const group of document.querySelectorAll(".group")) group.hidden = !group.querySelector("[id]:not([hidden]),li:not([hidden])");
});
`;

interface Listed {
  method: string;
  path: string;
  operation: Operation;
}

interface Group {
  name: string;
  operations: Listed[];
}

/**
 * An API's document as one HTML page that loads nothing: its operations by group, then its schemas, with a
 * search over both. Everything from the document is escaped; the one script is `pageScript`. Pure.
 */
export function renderReference(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Listed => ({ method, path, operation })),
  );
  const groups = document.tags.map(({ name }) => ({
    name,
    operations: operations.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const title = escapeHtml(`${document.info.title} ${document.info.version}`);
  const shared = Object.entries(document.components.responses).filter(([name]) => isOfGate(name));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<h1>${title}</h1>
<p>${escapeHtml(document.info.description)}</p>
<p class="quiet">For programs and client generators: <a href="openapi.json">openapi.json</a> (OpenAPI ${document.openapi}). Where the operator set a token, add <code>-H "authorization: Bearer $TOKEN"</code> to a curl line.</p>
<input id="find" type="search" placeholder="Search operations and schemas" aria-label="Search operations and schemas" hidden>
<nav>
${groups.map(renderLinks).join("\n")}
</nav>
${groups.map((group) => renderGroup(group, document)).join("\n")}
<h2>Refusals of every operation</h2>
<p>413 and 415 are of operations with a body. 401 is not of /health, /docs and /openapi.json.</p>
${table(shared.map(([name, { description, content }]) => [code(statusIn(name)), `${bodyHtml(content)}${note(description)}`]))}
<div class="group">
<h2>Schemas</h2>
${Object.entries(document.components.schemas).map(renderSchema).join("\n")}
</div>
<script>${pageScript}</script>
</body>
</html>
`;
}

function renderLinks({ name, operations }: Group): string {
  const links = operations.map(
    ({ method, path, operation }) =>
      `<li data-of="${operation.operationId}"><a class="path" href="#${operation.operationId}">${method.toUpperCase()} ${escapeHtml(path)}</a> <span class="quiet">${escapeHtml(operation.summary)}</span></li>`,
  );
  return `<div class="group"><h3>${escapeHtml(name)}</h3><ul>\n${links.join("\n")}\n</ul></div>`;
}

function renderGroup({ name, operations }: Group, document: OpenApiDocument): string {
  const written = operations.map((one) => renderOperation(one, document));
  return `<div class="group">\n<h2 id="group-${escapeHtml(name)}">${escapeHtml(name)}</h2>\n${written.join("\n")}\n</div>`;
}

function renderOperation(listed: Listed, document: OpenApiDocument): string {
  const { method, path, operation } = listed;
  const { parameters = [], requestBody, responses } = operation;
  const own = Object.entries(responses).filter(
    ([, response]) => !("$ref" in response && isOfGate(nameIn(response.$ref))),
  );
  const parts = [
    note(operation.description),
    `<pre>${escapeHtml(toCurl(listed, document)).replace("$BASE_URL", '<span class="origin">$BASE_URL</span>')}</pre>`,
    parameters.length === 0
      ? ""
      : `<h4>Parameters</h4>${table(
          parameters.map((one) => [
            `${code(one.name)}${one.required ? "" : optional}<p>in ${one.in}</p>`,
            `${typeHtml(one.schema)}${note(one.description)}`,
          ]),
        )}`,
    requestBody ? `<h4>Body</h4><p>${bodyHtml(requestBody.content)}</p>` : "",
    `<h4>Answers</h4>${table(
      own.map(([status, response]) => {
        const answer = "$ref" in response ? document.components.responses[nameIn(response.$ref)] : response;
        return [
          code(status),
          answer ? `${bodyHtml(answer.content)}${note(answer.description)}${kindsHtml(answer.content)}` : "",
        ];
      }),
    )}`,
  ];
  return `<details id="${operation.operationId}" open><summary><span class="method">${method.toUpperCase()}</span><span class="path">${escapeHtml(path)}</span> ${escapeHtml(operation.summary)}</summary>${parts.join("")}</details>`;
}

function renderSchema([name, schema]: [string, JsonSchema]): string {
  const fields = fieldsOf(schema);
  const examples = ((schema["examples"] as unknown[] | undefined) ?? []).filter(
    (one) => typeof one === "object",
  );
  return `<section class="schema" id="schema-${escapeHtml(name)}"><strong>${escapeHtml(name)}</strong>${note(schema["description"])}${fields.length > 0 ? table(fields.map(fieldRow)) : `<p>${typeHtml(schema)}</p>`}${examples.map((one) => `<pre>${escapeHtml(JSON.stringify(one, null, 2))}</pre>`).join("")}</section>`;
}

const optional = ` <span class="quiet">optional</span>`;

function fieldRow({ name, type, optional: absent, description }: Field): string[] {
  return [`${code(name)}${absent ? optional : ""}`, `${type}${note(description)}`];
}

function table(rows: string[][]): string {
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("");
  return `<div class="scroll"><table>${body}</table></div>`;
}

function bodyHtml(content: Content): string {
  return Object.entries(content)
    .map(([type, media]) => {
      const item = media["x-item-schema"];
      if (type === "application/json") return typeHtml(media.schema);
      return `${escapeHtml(type)}${item ? ` of ${typeHtml(item)}` : ""}`;
    })
    .join(" or ");
}

function kindsHtml(content: Content): string {
  const kinds = Object.values(content).flatMap((media) => Object.entries(media["x-event-kinds"] ?? {}));
  return kinds.length === 0 ? "" : table(kinds.map(([kind, text]) => [code(kind), escapeHtml(text)]));
}

/** Whether a shared response is one that is decided before the operation is looked at. */
const isOfGate = (name: string) => name.startsWith("Refused") && /^Refused\d+$/.test(name);
const statusIn = (name: string) => name.replace(/\D+/g, "");
const code = (text: string) => `<code>${escapeHtml(text)}</code>`;

function note(text: unknown): string {
  return typeof text === "string" && text !== "" ? `<p>${escapeHtml(text)}</p>` : "";
}
