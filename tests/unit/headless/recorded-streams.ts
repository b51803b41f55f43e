import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CanonicalEvent } from "../../../src/protocol/turn-files.ts";
import type { HeadlessProvider, TurnSummary } from "../../../src/services/headless/provider.ts";
import { headlessProvider } from "../../../src/services/headless/providers.ts";

const root = join(import.meta.dir, "../../streams");

/** `claude/2.1.197/ok` for every stream that was recorded from a real tool. */
export function recordedStreams(): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".jsonl"))
    .map((path) => path.replace(/\.jsonl$/, ""))
    .sort();
}

export function providerOf(tool: string): HeadlessProvider {
  const provider = headlessProvider(tool);
  if (provider === null) throw new Error(`no provider for ${tool}`);
  return provider;
}

export interface ReadTurn {
  events: CanonicalEvent[];
  summary: TurnSummary;
}

/** What a tool's parser makes of these lines. */
export function readLines(tool: string, lines: readonly string[]): ReadTurn {
  const parser = providerOf(tool).parser({ turnIndex: 4 });
  const events = lines.flatMap((line, index) => parser.line(line, `line ${index + 1}`));
  events.push(...parser.end("end"));
  return { events, summary: parser.summary() };
}

export function readRecording(name: string): ReadTurn {
  const [tool = ""] = name.split("/");
  return readLines(tool, readFileSync(join(root, `${name}.jsonl`), "utf8").split("\n"));
}

/** Kinds in order, a row of the same kind once with its length: `session progress*48 assistant`. */
export function kindsOf(events: readonly CanonicalEvent[]): string {
  const runs: { kind: string; length: number }[] = [];
  for (const { kind } of events) {
    const last = runs.at(-1);
    if (last?.kind === kind) last.length += 1;
    else runs.push({ kind, length: 1 });
  }
  return runs.map(({ kind, length }) => (length === 1 ? kind : `${kind}*${length}`)).join(" ");
}
