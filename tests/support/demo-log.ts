import type { DemoLogRecord } from "../../src/services/demo/log.ts";

/** Reads a log; an unfinished last line is left out. */
export function parseDemoLog(text: string): DemoLogRecord[] {
  const lines = text.split("\n");
  lines.pop();
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as DemoLogRecord);
}
