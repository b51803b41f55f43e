/** What `bun run test` was asked for. */
export interface TestWish {
  /** Parts of paths; none means every file. */
  parts: readonly string[];
  /** Only what the changes since this commit can reach. */
  changedSince: string | null;
  shard: { index: number; of: number } | null;
}

export interface TestGroup {
  name: string;
  files: string[];
  needsExecutables: boolean;
  /** How many files run at once. */
  parallel: number;
}

/** Throws for an argument that it does not know. */
export function readTestWish(words: readonly string[]): TestWish {
  const parts: string[] = [];
  const wish: TestWish = { parts, changedSince: null, shard: null };
  const rest = [...words];
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    const [flag, value] = word.split(/=(.*)/s, 2);
    if (flag === "--changed") wish.changedSince = value || "HEAD";
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

/** Every file is in one shard, whatever their number; the longest are dealt first, each to the shard with least to do. */
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

/** Stories that measure times, fill a machine's limits or use all cores themselves: more beside them would decide. */
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

/**
 * Files that need the built programs run last. Most of their time they wait for an agent, so that more of them run at
 * once than there are cores.
 */
export function groupTests(files: readonly string[], timings: Timings): TestGroup[] {
  const below = (...folders: string[]) =>
    files.filter((file) => folders.some((folder) => file.startsWith(`tests/${folder}/`)));
  const stories = below("e2e", "faults", "hostile", "browser");
  const machine = below("integration");
  const carefulStories = stories.filter((file) => careful.some((start) => file.startsWith(start)));
  const group = (name: string, of: readonly string[], parallel: number, needsExecutables = false) => ({
    ...{ name, parallel, needsExecutables },
    files: longestFirst(of, timings),
  });
  return [
    group(
      "rules",
      files.filter((file) => !stories.includes(file) && !machine.includes(file)),
      2,
    ),
    group("machine", machine, 4),
    group(
      "stories",
      stories.filter((file) => !carefulStories.includes(file)),
      4,
      true,
    ),
    group("careful stories", carefulStories, 2, true),
  ].filter(({ files }) => files.length > 0);
}

/** More files than this do not fail because of their neighbours. */
const atMostAgain = 3;

/**
 * The failed files that run once more, alone: stories of whole processes that failed beside others on a full machine.
 * Empty when one of them is no such story, or when there are more of them than chance gives. Rules never run again, nor
 * do the stories in a browser (decision 90).
 */
export function toRunAgain(failed: readonly string[]): string[] {
  const isStory = (file: string) => /^tests\/(e2e|faults|hostile)\//.test(file);
  return failed.length <= atMostAgain && failed.every(isStory) ? [...failed] : [];
}
