const maxChars = 240;

/** The beginning of a body on one line. Source: spec/mailbox-agui.md A9. Pure. */
export function previewOf(body: string): string {
  // Enough of it: a long body is not rewritten for its first line.
  const line = body
    .slice(0, 16 * maxChars)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= maxChars) return line;
  return `${line.slice(0, maxChars - 3).replace(/[\ud800-\udbff]$/, "")}...`;
}
