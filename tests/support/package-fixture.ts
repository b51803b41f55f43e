import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProcesses, type Output } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";

export const repository = join(import.meta.dir, "../..");
const processes = createProcesses({ steps: quietSteps });

/** What any system has; of everything else a machine has only what a test gives it. */
const system = ["sh", "env", "uname", "readlink", "sort", "head", "cat"];

/**
 * A machine with nothing on PATH but the system's own and `programs`, an empty home and an own tmux server.
 */
export interface PackageFixture extends AsyncDisposable {
  folder: string;
  env: Record<string, string>;
  /** An empty folder of its own. */
  place(name: string): string;
  /** Runs a command there, a name on PATH or a file, and returns how it ended. */
  run(place: string, ...command: string[]): Promise<Output>;
  /** The same; its standard output. Throws with what it said when it fails. */
  ok(place: string, ...command: string[]): Promise<string>;
  sessions(): Promise<string>;
  /** The first process of each agent's own window. */
  agentProcesses(): Promise<string[]>;
}

/** `programs`: names, or name and file, that PATH has too. */
export function createPackageFixture(
  programs: readonly (string | [name: string, file: string])[],
): PackageFixture {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-package-")));
  const place = (name: string) => {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  };
  const bin = place("bin");
  for (const program of [...system, ...programs]) {
    const [name, file] = typeof program === "string" ? [program, processes.which(program)] : program;
    if (!file) throw new Error(`${name} is not on PATH`);
    symlinkSync(file, join(bin, name));
  }
  const socket = join(folder, "tmux");
  const env = {
    PATH: bin,
    HOME: place("home"),
    TMPDIR: place("tmp"),
    LANG: "C.UTF-8",
    SVC_TMUX_SOCKET: socket,
  };
  const tmux = (...words: string[]) => processes.run(["tmux", "-S", socket, "-N", ...words]);
  const fixture: PackageFixture = {
    folder,
    env,
    place,
    run: (cwd, program = "", ...words) =>
      processes.run([program.includes("/") ? program : join(bin, program), ...words], {
        cwd,
        env,
        timeoutMs: 280_000,
      }),
    async ok(cwd, ...command) {
      const { exitCode, stdout, stderr } = await fixture.run(cwd, ...command);
      if (exitCode !== 0) throw new Error(`${command.join(" ")} ended with ${exitCode}\n${stdout}${stderr}`);
      return stdout;
    },
    sessions: async () => (await tmux("list-sessions", "-F", "#{session_name}")).stdout,
    async agentProcesses() {
      const { stdout } = await tmux("list-panes", "-a", "-F", "#{window_index} #{pane_pid}");
      return stdout.split("\n").filter((line) => line.startsWith("0 "));
    },
    async [Symbol.asyncDispose]() {
      await tmux("kill-server");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return fixture;
}
