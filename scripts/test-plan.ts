/** What `bun run test` was asked for. */
export interface TestWish {
  /** Parts of paths; none means every file. */
  parts: readonly string[];
  /** Every test; otherwise what a person waits for. */
  all: boolean;
  /** Only what the changes since this commit can reach. */
  changedSince: string | null;
  shard: { index: number; of: number } | null;
  /** The one case of each matrix that runs. */
  case: string | null;
}

export interface TestGroup {
  name: string;
  files: string[];
  needsExecutables: boolean;
  /** Whether a matrix tries some of its cases only. */
  sampled: boolean;
  /** How many files run at once. */
  parallel: number;
}

/** Throws for an argument that it does not know. */
export function readTestWish(words: readonly string[]): TestWish {
  const parts: string[] = [];
  const wish: TestWish = { parts, all: false, changedSince: null, shard: null, case: null };
  const rest = [...words];
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    const [flag, value] = word.split(/=(.*)/s, 2);
    if (word === "--all") wish.all = true;
    else if (flag === "--case" && value) wish.case = value;
    else if (flag === "--changed") wish.changedSince = value || "HEAD";
    else if (flag === "--shard") wish.shard = readShard(value ?? rest.shift() ?? "");
    else if (word.startsWith("-")) throw new Error(`unknown option ${word}`);
    else parts.push(word);
  }
  return wish;
}

function readShard(text: string): { index: number; of: number } {
  const [index, of] = /^(\d{1,3})\/(\d{1,3})$/.exec(text)?.slice(1).map(Number) ?? [0, 0];
  if (!index || !of || index > of) throw new Error(`--shard ${text}: expected I/N, such as 1/3`);
  return { index, of };
}

/** Milliseconds that a file took once; a file without them counts as a short one. */
export type Timings = Readonly<Record<string, number>>;
const unknownMs = 1000;

/**
 * Every file is in one shard, whatever their number; the longest are dealt first, each to the shard with
 * least to do.
 */
export function ofShard(files: readonly string[], timings: Timings, shard: TestWish["shard"]): string[] {
  if (shard === null) return [...files];
  const shards = Array.from({ length: shard.of }, () => ({ ms: 0, files: [] as string[] }));
  for (const file of longestFirst(files, timings)) {
    const least = shards.reduce((best, one) => (one.ms < best.ms ? one : best));
    least.files.push(file);
    least.ms += timings[file] ?? unknownMs;
  }
  return shards[shard.index - 1]?.files ?? [];
}

/** What is long must not be what runs alone at the end. */
export function longestFirst(files: readonly string[], timings: Timings): string[] {
  const ms = (file: string) => timings[file] ?? unknownMs;
  return [...files].sort((one, other) => ms(other) - ms(one) || (one < other ? -1 : 1));
}

/**
 * Stories that measure times, fill a machine's limits or use all cores themselves: more beside them would
 * decide.
 */
const careful = [
  "tests/browser/",
  "tests/faults/chaos",
  "tests/faults/crash",
  "tests/faults/sick-",
  "tests/faults/soak",
  "tests/hostile/connection-limits",
  "tests/hostile/console-viewers",
  "tests/hostile/followers",
  "tests/hostile/fuzz",
  "tests/hostile/idle-connections",
  "tests/hostile/limits",
  "tests/hostile/memory",
  "tests/hostile/web-pages",
  "tests/e2e/cli-signals",
  "tests/e2e/hosts-network",
];

const isBelow = (file: string, folders: readonly string[]) =>
  folders.some((folder) => file.startsWith(`tests/${folder}/`));
const isStory = (file: string) => isBelow(file, ["e2e", "faults", "hostile", "browser"]);
/** With conformance: what a fake and the real thing have in common waits for the real one. */
const isMachine = (file: string) => isBelow(file, ["integration", "conformance"]);
/** They start worlds with a changed source, one after the other: minutes for what rules show too. */
const isLong = (file: string) => isBelow(file, ["mutations"]);

/** What the files of a run are told apart by. */
export interface TestFacts {
  timings: Timings;
  /** Files of tests/promises.ts. */
  promised: ReadonlySet<string>;
  /** Whether a file needs more than Bun and tmux. */
  hasNeeds: (file: string) => boolean;
}

/**
 * Whether a file is among those that a person waits for: each rule, the machine, and a story for each
 * promise.
 */
export function isAwaited(file: string, { promised, hasNeeds }: TestFacts): boolean {
  if (hasNeeds(file) || isLong(file)) return false;
  return promised.has(file) || !isStory(file);
}

/** With `all` every file runs, and matrices whole; else what a person waits for, and a sample of each matrix. */
export function planTests(files: readonly string[], facts: TestFacts, all: boolean): TestGroup[] {
  const chosen = all ? files : files.filter((file) => isAwaited(file, facts));
  return groupTests(chosen, facts.timings, all ? 5 : 7).map((group) => ({ ...group, sampled: !all }));
}

/**
 * Each file in one group, and the groups in the order in which they run, one after the other: beside rules
 * the answers of a story would be late, and beside stories a rule that computes for a minute would find no
 * processor. Most of the time of a story is waiting for an agent: `storiesAtOnce` is above the number of
 * cores, and lower where whole matrices keep these busy.
 */
export function groupTests(files: readonly string[], timings: Timings, storiesAtOnce: number): TestGroup[] {
  // Alone at the end of the rules a long one would keep one core busy and leave the other.
  const isRule = (file: string) => !isStory(file) && !isMachine(file) && !isLong(file);
  const isCareful = (file: string) => careful.some((start) => file.startsWith(start));
  const group = (name: string, parallel: number, of: readonly string[]): TestGroup => ({
    name,
    parallel,
    needsExecutables: of.some(isStory),
    sampled: false,
    files: longestFirst(of, timings),
  });
  return [
    // More than cores: those of the mailbox wait for the disk.
    group("rules", 4, files.filter(isRule)),
    group(
      "stories",
      storiesAtOnce,
      files.filter((file) => !isRule(file) && !isCareful(file)),
    ),
    group("careful stories", 2, files.filter(isCareful)),
  ].filter(({ files: chosen }) => chosen.length > 0);
}
