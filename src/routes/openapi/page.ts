import type { OpenApiDocument, Operation } from "./document.ts";
import type { JsonSchema } from "./json-schema.ts";

const style = `
:root{color-scheme:light dark;--edge:color-mix(in srgb,currentColor 18%,transparent);--quiet:color-mix(in srgb,currentColor 65%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1rem 1.25rem 4rem}
h1{margin:.5rem 0 0}h2{margin:2.5rem 0 .5rem;border-bottom:1px solid var(--edge)}h4{margin:1rem 0 .25rem}
code,.path{font-family:ui-monospace,monospace;font-size:.9em}
.quiet,td p{color:var(--quiet)}p{margin:.25rem 0}nav ul{list-style:none;padding:0}nav li{margin:.1rem 0}
details,section.schema{border:1px solid var(--edge);border-radius:.4rem;margin:.6rem 0;padding:.5rem .8rem}
summary{cursor:pointer}.method{display:inline-block;min-width:4.2em;font-weight:700}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{border-top:1px solid var(--edge);padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top}
:target{outline:2px solid Highlight;outline-offset:2px}`;

interface Listed {
  method: string;
  path: string;
  operation: Operation;
}

/**
 * An API's document as one HTML page that needs nothing from anywhere: no script, no font, no picture. Everything
 * from the document is escaped. Pure.
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
<p class="quiet">For programs: <a href="openapi.json">openapi.json</a> (OpenAPI ${document.openapi}).</p>
<nav><ul>
${operations.map(({ method, path, operation }) => `<li><a class="path" href="#${operation.operationId}">${method.toUpperCase()} ${escapeHtml(path)}</a> <span class="quiet">${escapeHtml(operation.summary)}</span></li>`).join("\n")}
</ul></nav>
${groups.map((group) => `<h2>${escapeHtml(group.name)}</h2>\n${group.operations.map((one) => renderOperation(one, document)).join("\n")}`).join("\n")}
<h2>Schemas</h2>
${Object.entries(document.components.schemas).map(renderSchema).join("\n")}
</body>
</html>
`;
}

function renderOperation({ method, path, operation }: Listed, document: OpenApiDocument): string {
  const { parameters = [], requestBody, responses } = operation;
  const parts = [
    operation.description === undefined ? "" : `<p>${escapeHtml(operation.description)}</p>`,
    parameters.length === 0
      ? ""
      : `<h4>Parameters</h4>${table(
          parameters.map((one) => [
            `<code>${escapeHtml(one.name)}</code>${one.required ? "" : optional}<p>in ${one.in}</p>`,
            `${typeText(one.schema)}${note(one.description)}`,
          ]),
        )}`,
    requestBody ? `<h4>Body</h4><p>${bodyText(requestBody.content)}</p>` : "",
    `<h4>Answers</h4>${table(
      Object.entries(responses).map(([status, response]) => {
        const told = "$ref" in response ? document.components.responses[nameIn(response.$ref)] : response;
        return [`<code>${status}</code>`, told ? `${bodyText(told.content)}${note(told.description)}` : ""];
      }),
    )}`,
  ];
  return `<details id="${operation.operationId}" open><summary><span class="method">${method.toUpperCase()}</span><span class="path">${escapeHtml(path)}</span> ${escapeHtml(operation.summary)}</summary>${parts.join("")}</details>`;
}

function renderSchema([name, schema]: [string, JsonSchema]): string {
  const required = new Set((schema["required"] as string[] | undefined) ?? []);
  const rows = Object.entries((schema["properties"] as Record<string, JsonSchema> | undefined) ?? {}).map(
    ([key, part]) => [
      `<code>${escapeHtml(key)}</code>${required.has(key) ? "" : optional}`,
      `${typeText(part)}${note(part["description"])}`,
    ],
  );
  return `<section class="schema" id="schema-${escapeHtml(name)}"><strong>${escapeHtml(name)}</strong>${note(schema["description"])}${rows.length > 0 ? table(rows) : `<p>${typeText(schema)}</p>`}</section>`;
}

const optional = ` <span class="quiet">optional</span>`;

function table(rows: string[][]): string {
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("");
  return `<div class="scroll"><table>${body}</table></div>`;
}

function bodyText(content: Record<string, { schema: JsonSchema }>): string {
  return Object.entries(content)
    .map(([type, { schema }]) => (type === "application/json" ? typeText(schema) : escapeHtml(type)))
    .join(" or ");
}

/** A schema in a few words, as HTML. */
function typeText(schema: JsonSchema): string {
  const { $ref, anyOf, items, properties, type } = schema;
  if (typeof $ref === "string") {
    const name = escapeHtml(nameIn($ref));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(anyOf)) return anyOf.map((choice) => typeText(choice as JsonSchema)).join(" or ");
  if ("const" in schema) return `<code>${escapeHtml(JSON.stringify(schema["const"]))}</code>`;
  if (Array.isArray(schema["enum"])) {
    return schema["enum"].map((word) => `<code>${escapeHtml(String(word))}</code>`).join(", ");
  }
  if (items) return `list of ${typeText(items as JsonSchema)}`;
  if (properties) {
    const parts = Object.entries(properties as Record<string, JsonSchema>).map(
      ([key, part]) => `<code>${escapeHtml(key)}</code>: ${typeText(part)}`,
    );
    return parts.length > 0 ? `object of ${parts.join(", ")}` : "empty object";
  }
  return `${escapeHtml(String(type ?? "anything"))}${boundsText(schema)}`;
}

function boundsText(schema: JsonSchema): string {
  const words = (
    [
      ["minimum", "at least"],
      ["exclusiveMinimum", "more than"],
      ["maximum", "at most"],
      ["default", "by default"],
    ] as const
  ).flatMap(([key, text]) => (schema[key] === undefined ? [] : [`${text} ${String(schema[key])}`]));
  return words.length > 0 ? `, ${escapeHtml(words.join(", "))}` : "";
}

function note(text: unknown): string {
  return typeof text === "string" ? `<p>${escapeHtml(text)}</p>` : "";
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
