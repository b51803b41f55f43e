import { join } from "node:path";
import { plantFolder, showsPlantedVariable } from "../../support/planted-folder.ts";
import type { Operation } from "./operations.ts";

export interface BuiltTreeOptions {
  /** The folder of the programs. */
  programs: string;
  tree: string;
  env: Readonly<Record<string, string | undefined>>;
  bystanderPid: number;
  /** Longer than any command takes. */
  longestMs: number;
}

/** How long somebody looks at a command that shows things until it is ended; it has to start first. */
const lookedAtMs = 1500;
/** The most memory of one command; one that only starts has 100 MB. */
const memoryBytes = 450 * 2 ** 20;

/**
 * Runs the commands of a tree with programs, as a person in that folder would, and watches what only a
 * process shows.
 */
export function createBuiltTree({ programs, tree, env, bystanderPid, longestMs }: BuiltTreeOptions) {
  let problems: string[] = [];
  let planted = plantFolder(tree);

  function start(name: string, words: readonly string[], more: Readonly<Record<string, string>> = {}) {
    const child = Bun.spawn([join(programs, name), ...words], {
      cwd: tree,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { ...env, ...more },
    } as const);
    return { child, err: new Response(child.stderr).text() };
  }

  function watch(child: Bun.Subprocess, printed: string): void {
    const { maxRSS = 0 } = child.resourceUsage() ?? {};
    if (maxRSS > memoryBytes) problems.push(`takes ${Math.round(maxRSS / 2 ** 20)} MiB of memory`);
    if (planted.ran().length > 0) problems.push(`ran code of the folder: ${planted.ran().join("; ")}`);
    if (showsPlantedVariable(printed)) problems.push("read a variable of a file of the folder");
    try {
      process.kill(bystanderPid, 0);
    } catch {
      problems.push("the bystander was ended");
    }
  }

  async function command({ argv, env: more, endless }: Operation, json: boolean) {
    const words = json && !endless ? [...argv, "--json"] : argv;
    const { child, err } = start("svc-mgr", words, more);
    const timer = setTimeout(() => child.kill("SIGTERM"), endless ? lookedAtMs : longestMs * 2);
    const run = { out: await new Response(child.stdout).text(), err: await err };
    await child.exited;
    clearTimeout(timer);
    watch(child, run.out + run.err);
    return { ...run, exitCode: endless ? 0 : (child.exitCode ?? -1) };
  }

  /**
   * A coordination server in that folder for one request: 500 is our own fault, the rest what a gateway or a
   * file said.
   */
  async function ask({ path, body }: NonNullable<Operation["request"]>): Promise<string> {
    const { child, err } = start("svc-coord", ["serve", "--port", "0", "--json"], { SVC_COORD_TOKEN: "" });
    try {
      const { value } = await child.stdout.getReader().read();
      if (value === undefined) return "{}";
      const ready = JSON.parse(new TextDecoder().decode(value)) as Record<string, string>;
      const init =
        body === undefined
          ? {}
          : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
      const answer = await fetch(`${ready["api_base_url"]}${path}`, {
        ...init,
        signal: AbortSignal.timeout(longestMs),
      });
      const text = await answer.text();
      return answer.status === 500 ? JSON.stringify({ error: "internal", status: 500, text }) : "{}";
    } finally {
      child.kill("SIGTERM");
      await child.exited;
      watch(child, await err);
    }
  }

  return {
    /** Puts the files for the runtime into a fresh tree. */
    plant() {
      planted = plantFolder(tree);
    },
    async perform(operation: Operation, json: boolean) {
      if (operation.request) return { exitCode: 0, err: "", out: await ask(operation.request) };
      return command(operation, json);
    },
    /** What was wrong beside exit code and output; empties the list. */
    takeProblems() {
      const taken = problems;
      problems = [];
      return taken;
    },
  };
}
