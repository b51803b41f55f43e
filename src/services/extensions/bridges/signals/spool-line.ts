import type { ToolReport } from "../../../../protocol/tool-report.ts";

/** No line of a spool is longer, its end included. A write of this size is one system call. */
export const maxLineBytes = 64 * 1024;

/** A hook adds nothing to a file of this size: no gateway has read it for a long time. */
export const maxSpoolBytes = 8 * 1024 * 1024;

/**
 * The line of a report, at most `maxLineBytes` in UTF-8: first `message`, then `prompt` lose their ends. It
 * begins with a newline too: after a write that was cut short, this line stays whole. Pure.
 */
export function toSpoolLine(report: ToolReport): string {
  let { message, prompt } = report;
  for (;;) {
    const line = `\n${JSON.stringify({ ...report, message, prompt })}\n`;
    const excess = Buffer.byteLength(line) - maxLineBytes;
    if (excess <= 0) return line;
    if (message) message = shortened(message, excess);
    else if (prompt) prompt = shortened(prompt, excess);
    else return "\n";
  }
}

/** Without about `excess` bytes of its JSON, and never half a character. */
function shortened(text: string, excess: number): string {
  const bytes = Buffer.byteLength(JSON.stringify(text));
  const kept = Math.floor(text.length * Math.max(0, 1 - excess / bytes));
  return text.slice(0, Math.min(kept, text.length - 1)).replace(/[\ud800-\udbff]$/, "");
}
