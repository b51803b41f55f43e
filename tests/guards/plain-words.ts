import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lineAt } from "./source-text.ts";
import { readTree, repositoryRoot, type SourceFile, type Violation } from "./tree.ts";

/** A word or phrase that texts do not use, and the reason. House style, sections 5 and 7. */
interface BannedWord {
  name: string;
  pattern: RegExp;
  why: string;
}

const word = (pattern: string): RegExp => new RegExp(`\\b(?:${pattern})\\b`, "gi");

/** Of comments, messages, titles of tests and documents. */
const bannedInProse: readonly BannedWord[] = [
  { name: "whoever", pattern: word("who(?:so)?ever"), why: "name the caller, the client or the process" },
  {
    name: "tell", // `svc tell` is a command.
    pattern: /(?<!\bsvc )\b(?:tells?|told|telling)\b(?<!^tell$)/gi,
    why: "say, report, show, answer, send or publish",
  },
  {
    name: "stand",
    pattern: word("(?:stands?|standing)(?! for\\b| in for\\b| in the way|-in|-ins)|stood"),
    why: "is, lies, remains",
  },
  { name: "anew", pattern: word("anew"), why: "again, or name what is created" },
  { name: "thereby", pattern: word("thereby"), why: "one fact a sentence" },
  {
    name: "of its own",
    pattern: word("of (?:its|their|his|our|your|my) own"),
    why: "a separate one, or its",
  },
  { name: "meant", pattern: word("meant"), why: "say what it does or refers to" },
  { name: "so that nobody", pattern: word("so that nobody"), why: "name what cannot happen" },
  { name: "door", pattern: word("doors?"), why: "exclusive access, interface or listener" },
  {
    name: "room",
    pattern: word("(?<!(?:make|makes|leave|leaves|leaving|no|is|out of) )rooms?(?! (?:for|to)\\b)"),
    why: "module",
  },
  { name: "floor", pattern: word("floors?"), why: "layer" },
  { name: "house", pattern: word("houses?"), why: "architecture" },
  { name: "manners", pattern: word("manners"), why: "conventions" },
  { name: "glance", pattern: word("glances?"), why: "snapshot" },
  { name: "blow", pattern: word("blows?|strikes?|struck"), why: "fault, inject" },
  { name: "bell", pattern: word("bells?|rings?|ringing|rang"), why: "wake trigger, triggers" },
  { name: "calm", pattern: word("calm"), why: "backoff" },
  { name: "sweep", pattern: word("sweeps?|swept|sweeping"), why: "scheduled poll, clean-up" },
  { name: "twin", pattern: word("twins?|rivals?|namesakes?"), why: "name conflict" },
  { name: "way back", pattern: word("ways? back|ways? out"), why: "recovery advice" },
  { name: "surely", pattern: word("surely"), why: "withRetry" },
  {
    name: "what is ... is",
    pattern: /\bwhat (?:is|was|are|were)(?: [\w`]+){1,5},? (?:is|are|was|were)\b/gi,
    why: "name the subject: a file, a message, a request",
  },
  { name: "with what", pattern: word("with what (?!ha)"), why: "name it: with the problem, with the output" },
  { name: "from here on", pattern: word("from here on"), why: "from now on, later" },
  { name: "speaks for", pattern: word("speaks? (?:for|against)"), why: "proves, names, forbids" },
  { name: "bears", pattern: word("bears?"), why: "has, is named for" },
  { name: "hence", pattern: word("hence|thus"), why: "so" },
];

/** Parts of identifiers that no new name has. */
const bannedInNames: readonly BannedWord[] = [
  ["told", "PendingEvent, LoggedRequest"],
  ["glance", "AgentSnapshot, ScreenSnapshot"],
  ["door", "ExclusivePane"],
  ["calm", "backoff"],
  ["bell", "wake trigger"],
  ["sweep", "scheduled poll, clean-up"],
  ["successor", "replacement"],
  ["rival", "nameConflict"],
  ["twin", "nameConflict"],
  ["namesake", "nameConflict"],
  ["telling", "event writer"],
  ["surely", "withRetry"],
  ["letter", "OutgoingMessage"],
  ["wayback", "recoveryAdvice"],
  ["untilwhole", "deferredApp"],
  ["presence", "Connectivity, MailboxHandle"],
  ["occupied", "ProcessReady"],
  ["ownPlace", "OwnershipWatch"],
  ["furtherServices", "deferredServices"],
  ["besideQueue", "slotHolder"],
  ["tending", "contextMaintenance"],
  ["makeWay", "evictExisting"],
].map(([name = "", why = ""]) => ({
  name,
  // A word of a camel-case or kebab-case name; `doorbell` is a word of the wire, letters may be those of a
  // text.
  pattern: new RegExp(
    `(?<![A-Za-z])${name}s?(?![a-z])|(?<=[a-z])${name[0]?.toUpperCase()}${name.slice(1)}s?(?![a-z])|\\b${name[0]?.toUpperCase()}${name.slice(1)}s?(?![a-z])`,
    "g",
  ),
  why,
}));

/** Forms of identifiers that no new name has. */
const bannedForms: readonly BannedWord[] = [
  { name: "most*", pattern: /\bmost[A-Z]\w*|\blongest\w*(?:Ms|Bytes)\b/g, why: "max*" },
  { name: "*EveryMs", pattern: /\b\w+EveryMs\b/g, why: "*IntervalMs" },
  { name: "life", pattern: /\blifeOf\b|\b[a-z]\w*Life\b/g, why: "instanceId" },
  { name: "looks()", pattern: /\blooks\(/g, why: "debounced signals" },
];

/** Of the tests' code; the lab with the real CLIs, in `tests/live`, keeps its name. */
const bannedInTests: readonly BannedWord[] = [
  { name: "lab", pattern: /\blabs?\b|\b\w*[a-z]Labs?\b|\bLabs?\b/g, why: "fixture, environment" },
];

/** How often each banned word occurs, by folder: `src/cli` or `src/services/queue`. */
export type WordCounts = Record<string, Record<string, number>>;

/** One occurrence. */
export interface Found {
  place: string;
  folder: string;
  banned: BannedWord;
  text: string;
}

export function findInSource(files: readonly SourceFile[]): Found[] {
  return files.flatMap((file) => {
    const { literals, comments, code } = file.text;
    return [
      ...literals.flatMap(({ text, start }) => matches(bannedInProse, text, { ...file, start })),
      ...matches(bannedInProse, comments, { ...file, start: 0 }),
      ...matches([...bannedInNames, ...bannedForms], code, { ...file, start: 0 }),
    ];
  });
}

/** The names of tests: first arguments of `test`, `describe` and of what `each` returns. */
export function findInTitles(files: readonly SourceFile[]): Found[] {
  const opens = /(?:\b(?:test|describe)|\))\s*\(\s*["'`]$/;
  return files.flatMap((file) =>
    file.text.literals
      .filter(({ start }) => opens.test(file.text.code.slice(Math.max(0, start - 80), start)))
      .flatMap(({ text, start }) => matches(bannedInProse, text, { ...file, start })),
  );
}

export function findInTests(files: readonly SourceFile[]): Found[] {
  return files
    .filter(
      ({ path, source }) =>
        !path.startsWith("tests/live/") && !/from "[./]+live\/(?:lab|report)/.test(source),
    )
    .flatMap((file) => matches(bannedInTests, file.text.code, { ...file, start: 0 }));
}

export function findInDocument(path: string, markdown: string): Found[] {
  const prose = markdown.replace(/^```[\s\S]*?^```$|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, " "));
  return matches(bannedInProse, prose, { path, source: prose, start: 0 });
}

/** `text` is what `source` has from `start` on, as long and with the same lines. */
function matches(
  banned: readonly BannedWord[],
  text: string,
  at: { path: string; source: string; start: number },
): Found[] {
  return banned.flatMap((one) =>
    [...text.matchAll(one.pattern)].map((match) => ({
      place: `${at.path}:${lineAt(at.source, at.start + match.index)}`,
      folder: folderOf(at.path),
      banned: one,
      text: match[0],
    })),
  );
}

/** Files move within a module: counts are of its folder. */
function folderOf(path: string): string {
  const parts = path.split("/");
  if (parts.length === 1) return path;
  return parts.slice(0, Math.min(parts.length - 1, parts[1] === "services" ? 3 : 2)).join("/");
}

export function countWords(found: readonly Found[]): WordCounts {
  const counts: WordCounts = {};
  for (const { folder, banned } of found) {
    const of = counts[folder] ?? {};
    of[banned.name] = (of[banned.name] ?? 0) + 1;
    counts[folder] = of;
  }
  return counts;
}

/** Folders that use a word more often than `allowed`, with each place. */
export function findExcess(found: readonly Found[], allowed: WordCounts): Violation[] {
  return Object.entries(countWords(found)).flatMap(([folder, counts]) =>
    Object.entries(counts).flatMap(([name, count]) => {
      const limit = allowed[folder]?.[name] ?? 0;
      if (count <= limit) return [];
      const here = found.filter((one) => one.folder === folder && one.banned.name === name);
      return [
        `${folder}: "${name}" ${count} times, ${limit} allowed; write: ${here[0]?.banned.why}\n  ${here.map(({ place, text }) => `${place} ${text}`).join("\n  ")}`,
      ];
    }),
  );
}

/** All that the guard reads: sources, titles of tests, and documents that people write. */
export function findEverywhere(): Found[] {
  const listed = Bun.spawnSync(["git", "ls-files", "*.md"], { cwd: repositoryRoot }).stdout.toString();
  const documents = listed
    .trim()
    .split("\n")
    .filter((path) => !notWritten.test(path));
  return [
    ...findInSource(readTree("src")),
    ...findInTitles(readTree("tests")),
    ...findInTests(readTree("tests")),
    ...documents.flatMap((path) => findInDocument(path, readFileSync(join(repositoryRoot, path), "utf8"))),
  ];
}

/** Generated documents, the history, and texts of skills, recordings and examples that tests read. */
const notWritten =
  /^(?:CHANGELOG\.md$|docs\/(?:commands|reference|benchmarks|faults|not-run)\.md$|src\/|tests\/)/;

/** What is allowed from now on: never more than before. */
export function lowered(counts: WordCounts, before: WordCounts | null): WordCounts {
  const folders = Object.keys(counts).sort();
  return Object.fromEntries(
    folders.flatMap((folder) => {
      const rows = Object.entries(counts[folder] ?? {})
        .map(
          ([name, count]) => [name, Math.min(count, before ? (before[folder]?.[name] ?? 0) : count)] as const,
        )
        .filter(([, count]) => count > 0)
        .sort(([a], [b]) => a.localeCompare(b));
      return rows.length > 0 ? [[folder, Object.fromEntries(rows)]] : [];
    }),
  );
}
