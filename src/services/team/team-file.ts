import { Value, type ValueError } from "@sinclair/typebox/value";
import { isMap, isScalar, LineCounter, type Node, parseDocument } from "yaml";
import { TeamFile } from "../../protocol/team-file.ts";

/** What is wrong with a team file, and where: `line` counts from 1. */
export interface TeamFinding {
  line: number;
  message: string;
}

export type TeamReading = { ok: true; team: TeamFile } | { ok: false; findings: TeamFinding[] };

const maxFindings = 20;

/** Reads the text of a `svc.yaml`. Aliases, anchors and keys that are given twice are refused. Pure. */
export function readTeamFile(text: string): TeamReading {
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
  // An alias can make gigabytes of a small file.
  const alias = /(?:^|[\s[{,:-])[*&][A-Za-z0-9_-]+/m.exec(withoutText(text));
  if (alias)
    return { ok: false, findings: [{ line: lineAt(alias.index + 1), message: "aliases are not read" }] };
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  const findings: TeamFinding[] = [];
  for (const error of Value.Errors(TeamFile, value)) {
    const path = error.path.split("/").slice(1).map(unescapePointer);
    findings.push({
      line: lineAt(offsetOf(document.contents, path)),
      message: toMessage(path, error),
    });
    if (findings.length === maxFindings) break;
  }
  if (findings.length > 0) return { ok: false, findings: dropRepeats(findings) };
  const team = value as TeamFile;
  const conflicts = Object.entries(team.agents).flatMap(([name, agent]) =>
    conflictsOf(agent).map(({ field, message }) => ({
      line: lineAt(offsetOf(document.contents, ["agents", name, field])),
      message: `agents.${name}.${field}: ${message}`,
    })),
  );
  return conflicts.length > 0 ? { ok: false, findings: conflicts } : { ok: true, team };
}

function conflictsOf(agent: TeamFile["agents"][string]): { field: string; message: string }[] {
  return [
    ...(agent.worktree && agent.workdir !== undefined
      ? [{ field: "worktree", message: "not together with workdir: a worktree is its working directory" }]
      : []),
    ...(agent.model !== undefined && agent.headless !== true
      ? [{ field: "model", message: "needs `headless: true`; give other agents their model with `args`" }]
      : []),
    ...(agent.notifier !== undefined && agent.mailbox !== true
      ? [{ field: "notifier", message: "needs `mailbox: true`" }]
      : []),
  ];
}

/** A word of a JSON pointer as it was. */
const unescapePointer = (word: string) => word.replaceAll("~1", "/").replaceAll("~0", "~");

/** Quoted text and comments may hold anything. */
function withoutText(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?:^|\s)#.*$/gm, (found) => " ".repeat(found.length));
}

/** Where the value of a path, or the nearest thing around it, begins. */
function offsetOf(root: unknown, path: readonly string[]): number | undefined {
  let node = root as Node | null;
  let offset = node?.range?.[0];
  for (const word of path) {
    if (!isMap(node)) break;
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === word);
    if (!pair) break;
    offset = (pair.key as Node).range?.[0] ?? offset;
    node = pair.value as Node | null;
  }
  return offset;
}

function toMessage(path: readonly string[], { message, schema }: ValueError): string {
  const where = path.join(".");
  const words = ((schema["anyOf"] ?? []) as { const?: unknown }[]).map((one) => one.const);
  const isChoice = words.length > 0 && words.every((word) => typeof word === "string");
  const known = message === "Unexpected property" ? "is not known here" : null;
  const what = isChoice
    ? `expected one of ${words.join(", ")}`
    : (known ?? message.replace(/^Expected/, "expected"));
  return `${where || "the file"}: ${what}`;
}

/** The first of several findings about one place says it. */
function dropRepeats(findings: readonly TeamFinding[]): TeamFinding[] {
  const places = new Set<string>();
  return findings.filter(({ message }) => {
    const place = message.split(": ")[0] ?? "";
    if (places.has(place)) return false;
    places.add(place);
    return true;
  });
}

/** The variables of an env file: `NAME=VALUE` lines, `#` comments and blank lines. Returns the number of a bad line. Pure. */
export function readEnvFile(text: string): { env: Record<string, string> } | { badLine: number } {
  const env: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*?)\r?$/.exec(line);
    if (!match) return { badLine: index + 1 };
    env[match[1] ?? ""] = (match[2] ?? "").replace(/^(["'])(.*)\1$/, "$2");
  }
  return { env };
}
