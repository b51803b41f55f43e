import type { Violation } from "./tree.ts";

/**
 * What the first column of a document's table `you see` quotes and no program says. `…` stands for a value;
 * the texts around it must each occur in `source`.
 */
export function findUnsaidErrors(document: string, markdown: string, source: string): Violation[] {
  const table = /^\| you see \|.*\n\|[-| ]+\n((?:\|.*\n?)+)/m.exec(markdown)?.[1] ?? "";
  const seen = table.split("\n").map((row) => row.split(" | ")[0] ?? "");
  return seen
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""))
    .flatMap((quoted) => quoted.split("…").map((text) => text.trim()))
    .filter((text) => !source.includes(text))
    .map((text) => `${document}: no program says "${text}"`);
}
