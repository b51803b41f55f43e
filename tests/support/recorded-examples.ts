import { writeFileSync } from "node:fs";
import { join } from "node:path";
import packageManifest from "../../package.json" with { type: "json" };
import { renderJson } from "../../src/protocol/json.ts";
import type { Content, OpenApiDocument } from "../../src/routes/openapi/document.ts";
import recorded from "../../src/routes/openapi/examples.json" with { type: "json" };
import { nameIn } from "../../src/routes/openapi/json-schema.ts";

const file = join(import.meta.dirname, "../../src/routes/openapi/examples.json");
const isRecording = process.env["SVC_RECORD_EXAMPLES"] === "1";
const examples = recorded as Record<string, unknown>;

/** A body of one operation: what it is sent, or its answer with a status. */
interface ExchangedBody {
  operationId: string;
  part: "request" | number;
  body: unknown;
}

/**
 * Compares the bodies of a contract test with the examples of the documents, which are bodies that an earlier
 * run recorded: with SVC_RECORD_EXAMPLES=1 it writes them. A component has one example, of the first operation
 * that has it. `others` records the components that it has.
 */
export function createExampleRecorder(
  document: OpenApiDocument,
  others: { has(component: string): boolean } | null = null,
) {
  const ownerOf = new Map<string, string>();
  const componentOf = new Map<string, string>();
  const claim = (operationId: string, part: string, content: Content) => {
    const reference = content["application/json"]?.schema["$ref"];
    // The document holds its examples: it is none itself.
    if (typeof reference !== "string" || operationId === "openApiDocument") return;
    const component = nameIn(reference);
    const exchange = `${operationId} ${part}`;
    componentOf.set(exchange, component);
    if (ownerOf.has(component) || others?.has(component)) return;
    ownerOf.set(component, exchange);
  };
  for (const { operationId, requestBody, responses } of Object.values(document.paths).flatMap((methods) =>
    Object.values(methods),
  )) {
    if (requestBody) claim(operationId, "request", requestBody.content);
    for (const [status, response] of Object.entries(responses)) {
      const shared = "$ref" in response ? document.components.responses[nameIn(response.$ref)] : response;
      if (shared && status.startsWith("2")) claim(operationId, status, shared.content);
    }
  }
  return {
    /** The example as recorded and as the body is now; null for a body that is no example. */
    compare({ operationId, part, body }: ExchangedBody): { recorded: unknown; body: unknown } | null {
      const exchange = `${operationId} ${part}`;
      const component = componentOf.get(exchange) ?? "";
      if (ownerOf.get(component) !== exchange) return null;
      return compareWith(component, body);
    },
    /** The same of a body whose component is named: an event, or a refusal. */
    compareWith,
    has: (component: string) => ownerOf.has(component),
  };
}

function compareWith(component: string, body: unknown): { recorded: unknown; body: unknown } {
  const stable = scrub(body);
  if (isRecording) keep(component, stable);
  return { recorded: examples[component], body: stable };
}

function keep(component: string, body: unknown): void {
  examples[component] = body;
  const sorted = Object.fromEntries(
    Object.entries(examples).sort(([left], [right]) => (left < right ? -1 : 1)),
  );
  writeFileSync(file, renderJson(sorted));
}

/** Without what differs from run to run. */
function scrub(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body, (key, value: unknown) => {
      if (key === "sign_in_path") return `/svc/console/sign-in?code=${"0".repeat(64)}`;
      return key === "version" && value === packageManifest.version ? "0" : value;
    }),
  ) as unknown;
}

/** The first event of a stream, which is given up then. */
export async function firstEvent(reply: Response): Promise<unknown> {
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  let data: RegExpExecArray | null = null;
  while (data === null) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended without an event: ${text}`);
    text += new TextDecoder().decode(value);
    data = /^data: (.*)\n/m.exec(text);
  }
  await reader.cancel();
  return JSON.parse(data[1] ?? "") as unknown;
}
