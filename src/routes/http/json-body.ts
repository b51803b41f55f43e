import { Elysia, ParseError } from "elysia";
import { ServiceError } from "../../system/errors.ts";
import { maxBodyBytes } from "./gate.ts";

/**
 * The parser `limitedJson` that every route with a body names: counts what really arrives, since a chunked body
 * tells no length beforehand. `limitedJsonOrNone` reads no body at all as one without fields.
 */
export const jsonBody = new Elysia({ name: "json-body" })
  .parser("limitedJson", async ({ request }) => parse(await readLimited(request)))
  .parser("limitedJsonOrNone", async ({ request }) => parse((await readLimited(request)) || "{}"));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ParseError(error as Error);
  }
}

async function readLimited(request: Request): Promise<string> {
  if (request.headers.has("content-length")) return request.text();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) {
      throw new ServiceError("too_large", `the body is larger than ${maxBodyBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
