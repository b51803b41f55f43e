import Ajv, { type ValidateFunction } from "ajv/dist/2020.js";
import { type Document, type Operation, operationsOf } from "./calls.ts";
import { canary, type Schema } from "./schema-values.ts";

/** What came back, as far as it was read. */
export interface Answer {
  status: number;
  headers: Headers;
  /** The whole body; of a stream its beginning. */
  text: string;
}

/** Statuses that any address may be answered with, whatever is behind it. */
const gateStatuses = [401, 403, 413, 415, 421];

/** Says what is wrong with an answer, by the document alone; nothing when all is well. */
export interface Oracle {
  judge(asked: { method: string; path: string }, answer: Answer): string[];
}

export function createOracle(document: Document, secrets: readonly string[]): Oracle {
  const operations = operationsOf(document).map((operation) => ({
    ...operation,
    pattern: new RegExp(`^${operation.path.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
  }));
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const compiled = new Map<Schema, ValidateFunction>();
  const errorBody: Schema = { $ref: "#/components/schemas/ErrorBody" };

  function fits(schema: Schema, value: unknown): string | null {
    let check = compiled.get(schema);
    if (!check) {
      check = ajv.compile({ ...schema, components: document.components });
      compiled.set(schema, check);
    }
    return check(value) ? null : ajv.errorsText(check.errors);
  }

  /** The schemas of an answer of this status here, or null where it is not documented. */
  function repliesAt(method: string, path: string, status: number): Operation["replies"] | null {
    const here = operations.filter(({ pattern }) => pattern.test(path));
    const asked = method === "HEAD" ? "GET" : method;
    const operation = here.find((one) => one.method === asked);
    const reply = operation?.replies.get(status);
    if (reply) return new Map([[status, reply]]);
    const free = gateStatuses.includes(status) || (status === 405 && !operation && here.length > 0);
    const nowhere = status === 404 && (here.length === 0 || /%(?![0-9a-f]{2})/i.test(path));
    return free || nowhere ? new Map([[status, { schema: errorBody, types: ["application/json"] }]]) : null;
  }

  return {
    judge({ method, path }, { status, headers, text }) {
      const wrong: string[] = [];
      const asked = withoutDots(path.replace(/\?.*$|\/(?=\?|$)/gs, ""));
      const reply = repliesAt(method, asked, status)?.get(status);
      if (status === 500) wrong.push(`an unforeseen fault: ${text.slice(0, 300)}`);
      if (!reply) return [`the status ${status} is not documented: ${text.slice(0, 300)}`];
      const type = headers.get("content-type")?.split(";")[0] ?? "";
      if (method !== "HEAD" && reply.schema) {
        if (type !== "application/json") wrong.push(`${status} is of the type ${type || "none"}`);
        const parsed = parse(text);
        const problem = parsed.ok ? fits(reply.schema, parsed.value) : "no JSON";
        if (problem) wrong.push(`the body of ${status}: ${problem}: ${text.slice(0, 300)}`);
      } else if (method !== "HEAD" && !reply.types.includes(type)) {
        wrong.push(`${status} is of the type ${type || "none"}, not ${reply.types.join(" or ")}`);
      }
      if (status === 405 && !headers.get("allow")) wrong.push("405 does not tell what is allowed");
      if (status === 401 && !headers.get("www-authenticate")) wrong.push("401 does not tell how");
      if (status >= 400) {
        if (text.includes(canary)) wrong.push(`a refusal repeats the caller's text: ${text.slice(0, 300)}`);
        if (/\n {4}at |node_modules|\.ts:\d/.test(text))
          wrong.push(`a refusal shows our insides: ${text.slice(0, 300)}`);
      }
      for (const secret of secrets) if (text.includes(secret)) wrong.push(`${status} tells a secret`);
      return wrong;
    },
  };
}

/** As a client sends it: a segment of dots leads elsewhere before the server sees it. */
function withoutDots(path: string): string {
  if (!/\/(?:\.|%2e){1,2}(?=\/|$)/i.test(path)) return path;
  return new URL(path, "http://localhost").pathname.replace(/\/$/, "");
}

function parse(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}
