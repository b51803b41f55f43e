import { visible, visibleCell } from "../../system/visible.ts";
import type { CliIo, Paint } from "./command.ts";

/** Lines of a table, columns aligned, two blanks between them; the last column is not padded. Pure. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows].map((row) => row.map(visibleCell));
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  return all.map((row) => alignRow(row, widths)).join("\n");
}

/** One `name  value` line for each pair whose value is not null or undefined. Pure. */
export function renderPairs(
  pairs: readonly (readonly [string, string | number | null | undefined])[],
): string {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  // A value of several lines stays beside its name: none of them looks like another pair.
  const indent = `\n${" ".repeat(width + 2)}`;
  return shown
    .map(([name, value]) => `${name.padEnd(width)}  ${visible(String(value)).replaceAll("\n", indent)}`)
    .join("\n");
}

function alignRow(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
    .join("  ");
}

const codes = { red: 31, green: 32, yellow: 33, bold: 1 } as const;

/**
 * Whether a stream takes colours: a terminal does, unless NO_COLOR is set to anything or the terminal is a
 * dumb one. FORCE_COLOR (but 0 and false) says yes where no terminal is. NO_COLOR wins. Pure. Source:
 * no-color.org, force-color.org.
 */
export function takesColour(env: CliIo["env"], isTerminal: boolean): boolean {
  if (env["NO_COLOR"]) return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
  return isTerminal && env["TERM"] !== "dumb";
}

/** For what is written to the stream of the command line. */
export function painterFor(io: CliIo, stream: "stdout" | "stderr"): Paint {
  const isTerminal = stream === "stdout" ? io.stdoutIsTty : io.stderrIsTty;
  if (!takesColour(io.env, isTerminal)) return (_colour, text) => text;
  return (colour, text) => `\x1b[${codes[colour]}m${text}\x1b[0m`;
}
