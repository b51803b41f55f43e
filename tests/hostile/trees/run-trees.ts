import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Finding } from "./tree-run.ts";

export interface TreesOptions {
  seed: number;
  trees: number;
  /** Ends the run early, after the trees that are under way. */
  seconds?: number;
  /** Processes side by side. */
  workers?: number;
  /** The folder of the programs that run the commands; without it the source does. */
  programs?: string;
  /** Called with each at once: a run that is ended early loses none. */
  onFinding?: (finding: Finding) => void;
  onProgress?: (progress: { trees: number; operations: number; findings: number }) => void;
}

export interface TreesRun {
  trees: number;
  operations: number;
  findings: Finding[];
  /** How many trees it takes until every place of every file met every hostile value. */
  wholeRound: number;
}

type Event =
  | { ready: number }
  | { seed: number; operation: string; plants: string[] }
  | { seed: number; findings: Finding[] }
  | { seed: number; broken: string }
  | { done: true };

/** A command that says nothing for so long hangs: a pipe that nobody writes to, a query without an end. */
const silentMs = 60_000;
/** A worker's memory is that of few trees. */
const treesPerWorker = 200;

/**
 * Runs trees with the seeds `seed`, `seed + 1` and so on, each in a process that a hang or a crash does not
 * take along. A run of one seed repeats what that seed did in a run of many.
 */
export async function runTrees(options: TreesOptions): Promise<TreesRun> {
  const { seed, trees, seconds, workers = 2, programs, onProgress, onFinding } = options;
  const folder = scratchFolder();
  // Planted records name it: a signal to it would be a signal to a process that is none of ours.
  const bystander = Bun.spawn(["sleep", "infinity"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  let workersBegun = 0;
  const run: TreesRun = { trees: 0, operations: 0, findings: [], wholeRound: 0 };
  const endsAt = performance.now() + (seconds ?? Number.POSITIVE_INFINITY) * 1000;
  let next = 0;
  const take = () => {
    if (performance.now() >= endsAt) return null;
    const first = next;
    next = Math.min(trees, next + treesPerWorker);
    return first < next ? { first: seed + first, count: next - first } : null;
  };
  const wordsOf = (own: string, first: number, count: number) => [
    own,
    `${bystander.pid}`,
    `${first}`,
    `${count}`,
    ...(programs === undefined ? [] : [programs]),
  ];
  const work = async () => {
    for (let part = take(); part !== null; part = take()) {
      let { first, count } = part;
      while (count > 0 && performance.now() < endsAt) {
        const own = join(folder, `${workersBegun++}`);
        mkdirSync(own);
        const words = wordsOf(own, first, count);
        const slow: Finding[] = [];
        const done = await runWorker(words, count, endsAt, (event) => note(event, slow));
        rmSync(own, { recursive: true, force: true });
        for (const finding of slow) await repeat(finding);
        first += done;
        count -= done;
      }
    }
  };
  /**
   * Runs the tree of `finding` again, in a process of its own, and keeps the finding when it is made again.
   */
  const repeat = async (finding: Finding) => {
    const own = join(folder, `${workersBegun++}`);
    mkdirSync(own);
    const again: Finding[] = [];
    await runWorker(wordsOf(own, finding.seed, 1), 1, Number.POSITIVE_INFINITY, (event) => {
      if ("findings" in event) again.push(...event.findings);
    });
    rmSync(own, { recursive: true, force: true });
    const same = again.find(({ isSlow, operation }) => isSlow && operation === finding.operation);
    if (same) keep([same]);
  };
  const keep = (findings: readonly Finding[]) => {
    run.findings.push(...findings);
    for (const finding of findings) onFinding?.(finding);
  };
  const note = (event: Event, slow: Finding[]) => {
    if ("ready" in event) run.wholeRound = event.ready;
    if ("operation" in event) run.operations += 1;
    if ("findings" in event) {
      run.trees += 1;
      slow.push(...event.findings.filter(({ isSlow }) => isSlow));
      keep(event.findings.filter(({ isSlow }) => !isSlow));
      onProgress?.({ trees: run.trees, operations: run.operations, findings: run.findings.length });
    }
  };
  try {
    await Promise.all(Array.from({ length: workers }, work));
    return run;
  } finally {
    bystander.kill("SIGKILL");
    await bystander.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Memory where there is a file system of it: most of the time goes into files that are made and removed. */
function scratchFolder(): string {
  const parent = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  return mkdtempSync(join(parent, "svc-trees-"));
}

/** Resolves with how many of its trees are done, the one in which it died included. */
async function runWorker(
  words: readonly string[],
  count: number,
  endsAt: number,
  note: (event: Event) => void,
): Promise<number> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "worker.ts"), ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // Programs are looked up by the environment of the process, whatever a command is told of its own.
    env: workerEnvironment(words[0] ?? ""),
  } as const);
  const complaints = new Response(child.stderr).text();
  let silent = setTimeout(() => child.kill("SIGKILL"), silentMs);
  let last: { seed: number; operation: string; plants: string[] } | null = null;
  let trees = 0;
  let ended = false;
  for await (const event of events(child.stdout)) {
    clearTimeout(silent);
    silent = setTimeout(() => child.kill("SIGKILL"), silentMs);
    if ("operation" in event) last = event;
    if ("findings" in event) trees += 1;
    ended = "done" in event;
    note(event);
    if ("broken" in event) throw new Error(`seed ${event.seed}: ${event.broken}`);
    if (performance.now() >= endsAt && "findings" in event) {
      ended = true;
      child.kill("SIGTERM");
      break;
    }
  }
  clearTimeout(silent);
  await child.exited;
  if (ended) return Math.max(trees, count);
  const how = child.signalCode === "SIGKILL" ? `says nothing for ${silentMs / 1000} s` : "ends the process";
  if (last === null) throw new Error(`a worker ended before its first tree: ${await complaints}`);
  const problem = `${how} (${child.signalCode ?? child.exitCode}): ${(await complaints).slice(-2000)}`;
  const isSlow = child.signalCode === "SIGKILL";
  note({ seed: last.seed, findings: [{ ...last, problem, isSlow }] });
  return trees + 1;
}

/** The same for every worker of this folder, and nothing of the person who runs it. */
function workerEnvironment(folder: string): Record<string, string> {
  const mark = process.env["SVC_TEST_RUN"];
  return {
    PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}`,
    HOME: folder,
    TMPDIR: folder,
    TMUX_TMPDIR: folder,
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
    ...(mark === undefined ? {} : { SVC_TEST_RUN: mark }),
  };
}

async function* events(stream: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stream) {
    text += decoder.decode(part, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Event;
  }
}

/** Findings of one kind as one: `times` each, with the first seed that shows it. */
export function groupFindings(findings: readonly Finding[]): { finding: Finding; times: number }[] {
  const groups = new Map<string, { finding: Finding; times: number }>();
  for (const finding of findings) {
    const key = `${finding.operation.replace(/\S*\/\S+/g, "PATH")}: ${finding.problem.slice(0, 60).replace(/\d+/g, "N")}`;
    const group = groups.get(key);
    if (group) group.times += 1;
    else groups.set(key, { finding, times: 1 });
  }
  return [...groups.values()];
}

export function describeFinding({ seed, plants, operation, problem }: Finding): string {
  return [
    `--trees 1 --seed ${seed}`,
    ...plants.map((plant) => `  ${plant}`),
    `  $ ${operation}`,
    `  ${problem}`,
  ].join("\n");
}
