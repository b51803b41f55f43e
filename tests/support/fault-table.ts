import { test } from "bun:test";
import { appendFileSync } from "node:fs";
import { relative } from "node:path";

/** Where a fault is injected: a section of `docs/faults.md` each (scripts/fault-table.ts). */
type FaultArea = "processes" | "terminal" | "machine" | "files" | "mail" | "callers" | "simulation";

/** One line of `docs/faults.md`, in the words of a user; no newline and no `|`. */
export interface FaultRow {
  area: FaultArea;
  /** What goes wrong: "The gateway is killed at any step". */
  fault: string;
  /** What the system does: what is kept, refused, never done. */
  outcome: string;
  /** What a person or a caller is told. */
  seen: string;
  /** What brings it back: by itself, or what to do. */
  recovery: string;
}

/** A row beside the test that holds it. `file` is relative to the repository. */
export interface HeldRow extends FaultRow {
  file: string;
  test: string;
}

/** Environment: a file that gets the rows, one JSON line each, while nothing is tested. */
const faultTableVariable = "SVC_FAULT_TABLE";

const repositoryRoot = `${import.meta.dir}/../..`;

/**
 * `test`, and with it the rows of `docs/faults.md` that the test proves: a row cannot stand there without a
 * test that is run. `name` belongs to one test of the file. After a change `bun run docs` writes the table.
 */
export function faultTest(
  name: string,
  rows: FaultRow | readonly FaultRow[],
  run: () => unknown,
  timeoutMs?: number,
): void {
  if (recordFaultRows(name, rows)) return;
  test(name, async () => void (await run()), timeoutMs);
}

/**
 * Whether rows are collected in this process, which runs no test then. They are written down in that case.
 */
export function recordFaultRows(name: string, rows: FaultRow | readonly FaultRow[]): boolean {
  const collected = process.env[faultTableVariable];
  if (collected === undefined) return false;
  for (const row of [rows].flat()) {
    // The file under test; nothing else knows it in a module that all share.
    const held: HeldRow = { ...row, file: relative(repositoryRoot, Bun.main), test: name };
    appendFileSync(collected, `${JSON.stringify(held)}\n`);
  }
  return true;
}
