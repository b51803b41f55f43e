import { readFileSync } from "node:fs";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";

/** Reads a log; an unfinished last line is left out. */
export function parseDemoLog(text: string): DemoLogRecord[] {
  const lines = text.split("\n");
  lines.pop();
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as DemoLogRecord);
}

/** The prompts that the scripted agent with this log was given, oldest first. */
export function promptsIn(path: string): string[] {
  return parseDemoLog(readFileSync(path, "utf8")).flatMap((one) =>
    one.kind === "submitted" ? [one.text] : [],
  );
}
