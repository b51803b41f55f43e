import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../bootstrap.ts";

/** Everything the story may touch: one temporary folder and one private tmux server. */
export interface Stage {
  /** Absolute path of a file of the story. */
  path(name: string): string;
  workdir: string;
  agentLog: string;
  /** Runs `svc-mgr` with these words and returns its JSON and exit code. */
  manager(...words: string[]): Promise<Reply>;
  /** Ends whatever is left and removes the folder. Returns what it had to end. */
  strike(): Promise<string[]>;
}

interface Reply {
  code: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many commands, each asserted where it is used.
  out: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  error: any;
}

export function setStage(): Stage {
  const root = mkdtempSync(join(tmpdir(), "svc-try-"));
  const home = join(root, "home");
  const workdir = join(root, "work");
  for (const folder of [home, workdir]) mkdirSync(folder);
  const socket = `svc-try-${process.pid}`;
  const env = {
    PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin",
    HOME: home,
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    SHELL: "/bin/sh",
    TMPDIR: root,
    TMUX_TMPDIR: root,
    SVC_TMUX_SOCKET: socket,
  };
  const run = async (command: string[]) => {
    const child = Bun.spawn(command, { env, cwd: workdir, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    const [out, error] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code: await child.exited, out, error };
  };
  const entry = join(repositoryRoot, "src", "cli", "svc-gateway.ts");

  return {
    path: (name) => join(root, name),
    workdir,
    agentLog: join(root, "agent.jsonl"),
    async manager(...words) {
      const cut = words.indexOf("--");
      const own = cut < 0 ? words : words.slice(0, cut);
      const rest = cut < 0 ? [] : words.slice(cut);
      const { code, out, error } = await run([process.execPath, entry, "mgr", ...own, "--json", ...rest]);
      return { code, out: parsed(out), error: parsed(error) };
    },
    async strike() {
      const left: string[] = [];
      if ((await run(["tmux", "-L", socket, "list-sessions"])).code === 0) {
        left.push("a tmux session");
        await run(["tmux", "-L", socket, "kill-server"]);
      }
      // A tmux server whose last session has ended leaves by itself, a moment later.
      for (let looks = 0; looks < 100 && processesOf(root).length > 0; looks++) await Bun.sleep(50);
      for (const pid of processesOf(root)) {
        left.push(`process ${pid}`);
        process.kill(pid, "SIGKILL");
      }
      rmSync(root, { recursive: true, force: true });
      return left;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Processes whose environment names the story's folder: ours and nobody else's. Linux only; elsewhere none.
 */
function processesOf(root: string): number[] {
  const names = (() => {
    try {
      return readdirSync("/proc");
    } catch {
      return [];
    }
  })();
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      if (pid === process.pid) return false;
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`TMPDIR=${root}`);
      } catch {
        return false;
      }
    });
}

/** Looks every 50 ms until `look` finds something; names `what` when it never does. */
export async function until<T>(
  what: string,
  look: () => Promise<T | null | false> | T | null | false,
): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== null && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`never happened: ${what}`);
    await Bun.sleep(50);
  }
}
