import type { Static, TSchema } from "@sinclair/typebox";
import { Value, type ValueError } from "@sinclair/typebox/value";
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { suggest } from "./similar-word.ts";

/** A problem in a settings file; `line` counts from 1. */
export interface YamlFinding {
  line: number;
  message: string;
}

type CheckedYaml<T> =
  | { ok: true; value: T; lineOf: (path: readonly string[]) => number }
  | { ok: false; findings: YamlFinding[] };

const maxFindings = 20;

/** Reads a YAML text and validates it. Aliases, anchors and duplicate keys are refused. Pure. */
export function readCheckedYaml<T extends TSchema>(text: string, schema: T): CheckedYaml<Static<T>> {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    strict: true,
    uniqueKeys: true,
    version: "1.2",
  });
  const lineAt = (offset: number | undefined) => (offset === undefined ? 1 : lines.linePos(offset).line);
  const problems = [...document.errors, ...document.warnings].map((error) => ({
    line: lineAt(error.pos[0]),
    message: error.message.split(/ at line \d|\n/)[0] ?? "not YAML",
  }));
  if (problems.length > 0) return { ok: false, findings: problems.slice(0, maxFindings) };
  // Aliases can expand a small file to gigabytes.
  const alias = /(?:^|[\s[{,:-])[*&][A-Za-z0-9_-]+/m.exec(withoutText(text));
  if (alias)
    return { ok: false, findings: [{ line: lineAt(alias.index + 1), message: "aliases are not read" }] };
  const lineOf = (path: readonly string[]) => lineAt(offsetOf(document.contents, path));
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  const findings: YamlFinding[] = [];
  for (const error of Value.Errors(schema, value)) {
    const path = error.path.split("/").slice(1).map(unescapePointer);
    findings.push({ line: lineOf(path), message: toMessage(path, error) });
    if (findings.length === maxFindings) break;
  }
  if (findings.length > 0) {
    return { ok: false, findings: dropRepeats(findings).sort((one, other) => one.line - other.line) };
  }
  return { ok: true, value: value as Static<T>, lineOf };
}

/** Unescapes a segment of a JSON pointer. */
const unescapePointer = (word: string) => word.replaceAll("~1", "/").replaceAll("~0", "~");

/** Blanks out quoted text and comments, which may contain any character. */
function withoutText(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?:^|\s)#.*$/gm, (found) => " ".repeat(found.length));
}

/** Offset of the value at a path, or of its nearest existing parent. */
function offsetOf(root: unknown, path: readonly string[]): number | undefined {
  let node = root as Node | null;
  let offset = node?.range?.[0];
  for (const word of path) {
    if (isSeq(node)) {
      node = (node.items[Number(word)] as Node | undefined) ?? null;
      offset = node?.range?.[0] ?? offset;
      continue;
    }
    if (!isMap(node)) break;
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === word);
    if (!pair) break;
    offset = (pair.key as Node).range?.[0] ?? offset;
    node = pair.value as Node | null;
  }
  return offset;
}

/** Messages of the schema, in the terms of YAML. */
const yamlMessages: Readonly<Record<string, string>> = {
  "Expected object": "expected lines of `name: value`",
  "Expected array": "expected a list",
};

function toMessage(path: readonly string[], { message, schema, value }: ValueError): string {
  const where = path.join(".");
  const words = ((schema["anyOf"] ?? []) as { const?: unknown }[]).map((one) => one.const);
  const choices = words.filter((word) => typeof word === "string");
  const isChoice = words.length > 0 && choices.length === words.length;
  const suggestion = (typed: unknown, known: readonly string[]) => {
    const near = typeof typed === "string" ? suggest(typed, known) : null;
    return near === null || near === typed ? "" : `; did you mean "${near}"?`;
  };
  if (message === "Unexpected property") {
    const known = Object.keys((schema["properties"] ?? {}) as object);
    return `${where}: is not known here${suggestion(path.at(-1), known)}`;
  }
  if (message === "Expected required property") {
    const { const: fixed } = schema as { const?: unknown };
    const key = path.at(-1);
    return `${where}: is missing${fixed === undefined ? "" : `; write \`${key}: ${fixed}\``}`;
  }
  const what = isChoice
    ? `expected one of ${choices.join(", ")}${suggestion(value, choices)}`
    : (yamlMessages[message] ?? message.replace(/^Expected/, "expected"));
  return `${where || "the file"}: ${what}`;
}

/** Keeps the first of several findings about one place. */
function dropRepeats(findings: readonly YamlFinding[]): YamlFinding[] {
  const places = new Set<string>();
  return findings.filter(({ message }) => {
    const place = message.split(": ")[0] ?? "";
    if (places.has(place)) return false;
    places.add(place);
    return true;
  });
}
