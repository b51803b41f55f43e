import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import type { CliFixture } from "../cli-fixture.ts";
import { until } from "../until.ts";

/** What is known to be dead of an agent, and since when; nothing while it is being revived. */
export interface Death {
  what: "program" | "session" | "gateway";
  sinceMs: number;
}

/** A scripted agent that is killed in part or whole and revived, always under its name. */
export interface ChaosAgent {
  name: string;
  /** Null while it lives or is being revived. */
  death: Death | null;
  /**
   * True from before a fault until it is told in `death`, and while it is being revived: nothing is known
   * then.
   */
  unsettled: boolean;
  /** Session folders it ever had, the present one last. */
  roots: string[];
  /** What it itself says that it was given, oldest first. */
  heard(): string[];
  /** Each resolves when the thing is dead, and false when there was none. */
  killGateway(): Promise<boolean>;
  killProgram(): Promise<boolean>;
  /** Its gateway hangs until the function that is returned is called; null when it has none. */
  freezeGateway(): (() => void) | null;
  killSession(): Promise<boolean>;
  /** Whatever is dead lives again and is served; throws what the command line said otherwise. */
  revive(): Promise<void>;
  stop(): Promise<void>;
}

export type ChaosMachine = Pick<CliFixture, "folder" | "run" | "alive" | "kill" | "env">;

/** `socket`: the tmux server that it lives on. */
export function createChaosAgent(fixture: ChaosMachine, name: string, socket: string): ChaosAgent {
  const log = join(fixture.folder, `${name}.log`);
  const env = { ...fixture.env, SVC_TMUX_SOCKET: socket };
  const tmux = (...args: string[]) => Bun.spawnSync(["tmux", "-S", socket, ...args], { env });
  let session = "";

  async function mgr(...words: string[]): Promise<Record<string, string>> {
    const run = await fixture.run("svc-mgr", ["agents", ...words, "--json"], { env, timeoutMs: 100_000 });
    if (run.exitCode !== 0) throw new Error(`${name}: ${words.join(" ")}: ${run.stderr || run.stdout}`);
    return run.json() as Record<string, string>;
  }
  const single = (...words: string[]) => mgr("single", "--agent-name", name, ...words);

  async function launch(...more: string[]): Promise<void> {
    const words = ["launch", "--tool", "demo", "--agent-name", name, "--gateway-background", ...more];
    const run = await fixture.run("svc-mgr", ["agents", ...words, "--json", "--", "--log", log], {
      env,
      timeoutMs: 100_000,
    });
    if (run.exitCode !== 0) throw new Error(`${name}: launch: ${run.stderr}`);
    const answer = run.json() as Record<string, string>;
    session = answer["tmux_session_name"] ?? "";
    agent.roots.push(answer["session_root"] ?? "");
    if (!answer["gateway_base_url"]) await single("gateway", "attach", "--background");
  }

  function gatewayPid(): number | null {
    try {
      const path = sessionPaths(agent.roots.at(-1) ?? "").currentInstance;
      return Number((JSON.parse(readFileSync(path, "utf8")) as { pid: number }).pid);
    } catch {
      return null;
    }
  }

  /** The fault's effect is certain when this resolves. */
  async function end(pid: number | null): Promise<boolean> {
    if (pid === null || !fixture.alive(pid)) return false;
    fixture.kill(pid);
    await until("the process to be gone", () => !fixture.alive(pid));
    return true;
  }

  /** The scripted agent below the shell of its pane. */
  function programPid(): number | null {
    const pane = tmux("display-message", "-p", "-t", `=${session}:0.0`, "#{pane_pid}")
      .stdout.toString()
      .trim();
    if (pane === "") return null;
    const children = Bun.spawnSync(["ps", "-o", "pid=", "--ppid", pane]).stdout.toString().trim();
    return children === "" ? null : Number(children.split("\n")[0]);
  }

  const agent: ChaosAgent = {
    name,
    death: null,
    unsettled: true,
    roots: [],
    heard() {
      try {
        return readFileSync(log, "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as { kind: string; text: string })
          .filter(({ kind }) => kind === "submitted")
          .map(({ text }) => text);
      } catch {
        return [];
      }
    },
    killGateway: () => end(gatewayPid()),
    freezeGateway() {
      const pid = gatewayPid();
      if (pid === null || !fixture.alive(pid)) return null;
      process.kill(pid, "SIGSTOP");
      return () => process.kill(pid, "SIGCONT");
    },
    killProgram: () => end(programPid()),
    async killSession() {
      const ended = tmux("kill-session", "-t", `=${session}`).exitCode === 0;
      return ended;
    },
    async revive() {
      if (agent.roots.length === 0) return launch();
      const what = agent.death?.what;
      // A tmux server that ends with its last session takes a new one with it, also once its launch was
      // answered.
      const hasSession = tmux("has-session", "-t", `=${session}`).exitCode === 0;
      if (what === "gateway" && hasSession) {
        await single("gateway", "attach", "--background");
      } else if (what === "program" && hasSession) {
        await single("relaunch", "--reconcile");
      } else {
        // There is nothing to stop when an earlier attempt came so far.
        await single("stop").catch(() => {});
        await end(gatewayPid());
        await launch("--fresh");
      }
    },
    async stop() {
      await single("stop");
    },
  };
  return agent;
}
