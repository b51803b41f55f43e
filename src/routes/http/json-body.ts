import { Elysia, ParseError } from "elysia";
import { maxNesting } from "../../protocol/wire.ts";
import { ServiceError } from "../../system/errors.ts";
import { maxBodyBytes } from "./gate.ts";

/**
 * The parser `limitedJson` that every route with a body names: counts what really arrives, since a chunked body
 * announces no length. `limitedJsonOrNone` reads no body at all as one without fields.
 */
export const jsonBody = new Elysia({ name: "json-body" })
  .parser("limitedJson", async ({ request }) => parse(decode(await readLimited(request))))
  .parser("limitedJsonOrNone", async ({ request }) => parse(decode(await readLimited(request)) || "{}"));

/**
 * How many values a body may hold. A value costs about a hundred times its bytes in memory once it is parsed: a million
 * keys of 8 MiB took 0.9 GB.
 */
const maxBodyValues = 100_000;

/** A byte that is no UTF-8 would be replaced by another character: what is stored would differ from what was sent. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidJson("the body is not valid UTF-8");
  }
}

function parse(text: string): unknown {
  const refusal = refuseShape(text);
  if (refusal !== null) throw invalidJson(refusal);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ParseError(error as Error);
  }
  // Half of a surrogate pair has no UTF-8: it would be replaced when it is stored.
  if (/\\u[dD][89a-fA-F]/.test(text) && !isWellFormed(value)) {
    throw invalidJson("a string of the body holds half of a surrogate pair");
  }
  return value;
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, one]) => key.isWellFormed() && isWellFormed(one));
}

function invalidJson(msg: string): ServiceError {
  return new ServiceError("invalid_request", msg, {
    data: { issues: [{ type: "json_invalid", loc: [], msg }] },
  });
}

/**
 * Why a body is not parsed: nested too deep, since validation recurses, or too many values. Null when it may be. Reads
 * brackets and commas outside strings, and stops at the first excess.
 */
function refuseShape(text: string): string | null {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at);
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > maxNesting) return `the body is nested more than ${maxNesting} deep`;
        values++;
        break;
      case 0x2c:
        values++;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
    }
    if (values > maxBodyValues) return `the body holds more than ${maxBodyValues} values`;
  }
  return null;
}

/** Where the string that begins at `start` ends; the end of the text when it does not. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

async function readLimited(request: Request): Promise<Uint8Array> {
  // The gate judged an announced length, unless the body comes in chunks.
  const announced = request.headers.has("content-length") && !request.headers.has("transfer-encoding");
  if (announced) return new Uint8Array(await request.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) {
      throw new ServiceError("too_large", `the body is larger than ${maxBodyBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return joined(chunks, bytes);
}

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
