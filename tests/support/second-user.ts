import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createProcesses, type Output, type RunOptions } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { builtPrograms, type Program } from "./cli-fixture.ts";

/** A process of the second user that runs until it is stopped. */
interface SecondUserProcess {
  pid: number;
  /** The next line of its standard output. Rejects when there is none before its end. */
  line(): Promise<string>;
  /** SIGKILL; resolves when it has gone. */
  stop(): Promise<void>;
}

/**
 * Another user of this machine: a real user id with its own home, no group of ours and no capability. It
 * needs no entry in the user database. Everything that it started ends with it.
 */
export interface SecondUser extends AsyncDisposable {
  uid: number;
  gid: number;
  /** A folder of root that every user may pass; the place for what both users are to see. */
  folder: string;
  /** Its own, mode 0700. */
  home: string;
  env: Record<string, string>;
  /** Runs a command as this user in its home. */
  run(command: readonly string[], options?: RunOptions): Promise<Output>;
  start(command: readonly string[], options?: Pick<RunOptions, "env" | "cwd">): SecondUserProcess;
  /** The command line of a TypeScript program, which this user may run. */
  script(source: string, ...args: string[]): string[];
  /** The command line of one of our executables, which this user may run. */
  command(program: Program): string[];
  /** A file that belongs to this user. Folders on the way are made, also its own. */
  write(path: string, text: string, mode?: number): void;
  makeFolder(path: string, mode?: number): void;
}

/** The temporary folder of a test run is closed to other users; this one is open to all. */
const sharedTemporary = "/tmp";

/** Throws unless we are root on a machine with `setpriv`: an attack by another user is never passed over. */
export function createSecondUser(): SecondUser {
  if (process.getuid?.() !== 0) throw new Error("tests with a second user id need root");
  const setpriv = Bun.which("setpriv");
  if (setpriv === null) throw new Error("tests with a second user id need setpriv (package util-linux)");
  const uid = 50_000 + Math.floor(Math.random() * 10_000);
  const folder = realpathSync(mkdtempSync(join(sharedTemporary, "svc-second-user-")));
  chmodSync(folder, 0o755);
  const home = join(folder, "home");
  const running = new Set<SecondUserProcess>();
  const processes = createProcesses({ steps: quietSteps });
  const mark = process.env["SVC_TEST_RUN"];
  const env: Record<string, string> = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: home,
    LANG: "C.UTF-8",
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
    TMPDIR: home,
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
    ...(mark === undefined ? {} : { SVC_TEST_RUN: mark }),
  };
  const as = [
    setpriv,
    `--reuid=${uid}`,
    `--regid=${uid}`,
    "--clear-groups",
    "--no-new-privs",
    "--inh-caps=-all",
  ];

  function makeFolder(path: string, mode = 0o700): void {
    mkdirSync(path, { recursive: true });
    chownSync(path, uid, uid);
    chmodSync(path, mode);
  }

  /** A file that this user may run, under a name in the shared folder. */
  function shared(path: string, name: string): string {
    const at = join(folder, name);
    if (statSync(at, { throwIfNoEntry: false })) return at;
    copyFileSync(path, at);
    chmodSync(at, 0o755);
    return at;
  }

  makeFolder(home);
  let scripts = 0;
  return {
    uid,
    gid: uid,
    folder,
    home,
    env,
    makeFolder,
    run: (command, options = {}) =>
      processes.run([...as, ...command], { env, cwd: home, timeoutMs: 60_000, ...options }),
    start(command, options = {}) {
      const child = Bun.spawn([...as, ...command], {
        env,
        cwd: home,
        ...options,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      } as const);
      const complaints = new Response(child.stderr).text();
      const lines = linesOf(child.stdout);
      const started: SecondUserProcess = {
        pid: child.pid,
        async line() {
          const { value, done } = await lines.next();
          if (done) throw new Error(`${command.join(" ")} ended: ${await complaints}`);
          return value;
        },
        async stop() {
          running.delete(started);
          child.kill("SIGKILL");
          await child.exited;
        },
      };
      running.add(started);
      return started;
    },
    script(source, ...args) {
      scripts += 1;
      const path = join(folder, `script-${scripts}.ts`);
      writeFileSync(path, source, { mode: 0o644 });
      return [shared(process.execPath, "bun"), path, ...args];
    },
    command(program) {
      if (program === "svc-coord") return [shared(join(builtPrograms, "svc-coord"), "svc-coord")];
      const gateway = shared(join(builtPrograms, "svc-gateway"), "svc-gateway");
      return program === "svc-mgr" ? [gateway, "mgr"] : [gateway];
    },
    write(path, text, mode = 0o600) {
      writeFileSync(path, text);
      chownSync(path, uid, uid);
      chmodSync(path, mode);
    },
    async [Symbol.asyncDispose]() {
      for (const one of running) await one.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stream) {
    text += decoder.decode(part, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
  if (text !== "") yield text;
  return undefined;
}
