import { toCurl } from "./curl.ts";
import type { Content, OpenApiDocument, Operation } from "./document.ts";
import { type JsonSchema, nameIn } from "./json-schema.ts";
import { escapeHtml, type Field, fieldsOf, typeHtml } from "./schema-text.ts";

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

/** Hides what does not hold every word of the search, and puts the address of this server into the curl lines. */
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
 * An API's document as one HTML page that loads nothing: its operations by group, then its schemas, with a search over
 * both. Everything from the document is escaped; the one script is `pageScript`. Pure.
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
