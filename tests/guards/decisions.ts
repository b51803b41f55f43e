import type { Violation } from "./tree.ts";

/** A record of docs/decisions: its file name and its text. */
export interface DecisionFile {
  name: string;
  content: string;
}

const form = /^# (\d+)\. (.+)\n\n- Date: (\d{4}-\d\d-\d\d)\n- Status: (accepted|superseded by \d+)\n/;
const sections = ["## Context", "## Decision", "## Consequences"];

/** Records that lack a part of the form, and rows of the index that differ from the records. */
export function findMisfiledDecisions(files: readonly DecisionFile[], index: string): Violation[] {
  const wrongForm = files.flatMap(({ name, content }) => {
    const [, number, title] = form.exec(content) ?? [];
    if (number === undefined) return [`${name}: needs "# N. title", then date and status`];
    if (Number(name.slice(0, 4)) !== Number(number)) return [`${name}: calls itself ${number} (${title})`];
    return sections.filter((one) => !content.includes(`\n${one}\n`)).map((one) => `${name}: has no "${one}"`);
  });
  const expected = files.flatMap(({ name, content }) => {
    const [, number, title, date, status] = form.exec(content) ?? [];
    return number === undefined ? [] : [rowOf({ number, date, status, title, name })];
  });
  const rows = index.split("\n").filter((line) => line.includes("](docs/decisions/"));
  return [
    ...wrongForm,
    ...expected.filter((row) => !rows.includes(row)).map((row) => `DECISIONS.md lacks: ${row}`),
    ...rows
      .filter((row) => row.startsWith("|") && !expected.includes(row))
      .map((row) => `no such record: ${row}`),
  ];
}

const rowOf = (record: Record<"number" | "date" | "status" | "title" | "name", string | undefined>) =>
  `| ${record.number} | ${record.date} | ${record.status} | [${record.title}](docs/decisions/${record.name}) |`;

/** Numbers that a text cites as `decision 12` and that no record has. */
export function findUnknownCitations(path: string, text: string, known: ReadonlySet<number>): Violation[] {
  return [...text.matchAll(/\bdecisions? (\d+)\b/gi)]
    .filter(([, number]) => !known.has(Number(number)))
    .map(([cited]) => `${path}: cites ${cited}, which is no record`);
}
