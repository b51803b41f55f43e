import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { maxNesting } from "./wire.ts";

/**
 * Two spaces, sorted keys, final newline: the form of every JSON file and of `--json` (spec/gateway.md 2.7).
 */
export function renderJson(value: unknown): string {
  return `${JSON.stringify(value, sortKeys, 2)}\n`;
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** The value of a JSON text that matches `schema`; null for any other text and for null. */
export function parseJson<Schema extends TSchema>(
  schema: Schema,
  text: string | null,
): Static<Schema> | null {
  const value = jsonValue(text);
  return Value.Check(schema, value) ? value : null;
}

/** The value of a JSON text or of its UTF-8 bytes; undefined for any other text and for null. */
export function jsonValue(text: string | Uint8Array | null): unknown {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    return JSON.parse(typeof text === "string" ? text : decoder.decode(text ?? undefined));
  } catch {
    return undefined;
  }
}

/**
 * Limit of the values in an untrusted text. A parsed value takes about a hundred times its bytes of memory: a
 * million keys of 8 MiB took 0.9 GB.
 */
const maxValues = 100_000;

/**
 * Why an untrusted text is not parsed, as the end of a sentence: it is nested too deep (validation recurses)
 * or holds too many values. Null when it may be parsed. Counts brackets and commas outside strings, and stops
 * at the first excess. Pure.
 */
export function findJsonExcess(text: string): string | null {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at);
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > maxNesting) return `is nested more than ${maxNesting} deep`;
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
    if (values > maxValues) return `holds more than ${maxValues} values`;
  }
  return null;
}

/** Index of the quote that ends the string at `start`; the length of the text without one. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
