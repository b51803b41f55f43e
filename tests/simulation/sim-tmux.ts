import { tmuxCommand } from "../../src/services/terminal/tmux/protocol.ts";
import type { Output, PipedProcess, Processes, ProcessFacts } from "../../src/system/processes.ts";
import type { Dice } from "./dice.ts";
import type { SimClock } from "./sim-clock.ts";
import { type SimSession, type Typed, unquote } from "./sim-session.ts";
import { createControlClient, type SimClient } from "./sim-tmux-client.ts";

/** How the server of a world is called: it is the person's own. */
const toServer = tmuxCommand(undefined);

/** One session with one pane on a tmux server of its own, and the processes in it. */
export interface SimTmux {
  /** As the process `self` uses tmux and sees processes. */
  processesOf(self: { pid: number; alive: () => boolean; onEnd: (listener: () => void) => void }): Processes;
  session(): SimSession | null;
  /** Replaces the session; null ends it. */
  setSession(session: SimSession | null): void;
  /** The pane wrote something. */
  output(): void;
  /** Every client loses its connection, as when its process is ended. */
  dropClients(): void;
}

export interface SimTmuxDeps {
  clock: SimClock;
  dice: Dice;
  /** A gateway has read the screen. */
  onLook: (pid: number) => void;
  /** A gateway's bytes are about to reach the pane. */
  onTyped: (pid: number, typed: Typed, sentMs: number) => void;
}

const waitsFor = (dice: Dice) => (dice.chance(0.01) ? dice.skewed(20, 400) : dice.next() * 1.5);

export function createSimTmux(deps: SimTmuxDeps): SimTmux {
  const { clock, dice } = deps;
  const clients = new Set<SimClient>();
  const living = new Map<number, () => boolean>();
  let session: SimSession | null = null;
  let nextPid = 50_000;

  const absent = (name: string): Output => ({
    exitCode: 1,
    stdout: "",
    stderr: `can't find session: ${name}\n`,
  });
  const done = (stdout = ""): Output => ({ exitCode: 0, stdout, stderr: "" });

  /** One tmux command of its own process. */
  function perform(args: readonly string[], input: string | undefined): Output {
    const command = args.find((arg) => !arg.startsWith("-")) ?? "";
    if (command === "source-file") return source(input ?? "");
    const wordAfter = (flag: string) => (args.includes(flag) ? (args[args.indexOf(flag) + 1] ?? "") : null);
    if (command === "list-sessions") {
      if (!session) return absent("");
      const filter = wordAfter("-f");
      const isMeant = filter === null || filter.includes(`#{==:#{session_name},${session.name}}`);
      return done(isMeant ? `${expand(session, wordAfter("-F") ?? "")}\n` : "");
    }
    const name = (wordAfter("-t") ?? "").replace(/^=|:$/g, "");
    if (!session || ![session.name, session.id].includes(name)) return absent(name);
    switch (command) {
      case "list-clients":
        return done();
      case "show-environment":
        return done([...session.environment].map(([key, value]) => `${key}=${value}\n`).join(""));
      default:
        throw new Error(`the simulated tmux knows no ${command}`);
    }
  }

  function source(script: string): Output {
    for (const line of script.split("\n").filter((one) => one !== "")) {
      const [, unset, name = "", value = ""] =
        /^set-environment (-u )?-t "[^"]*" (\w+)(?: "(.*)")?$/.exec(line) ?? [];
      if (!session) return absent("");
      if (unset) session.environment.delete(name);
      else session.environment.set(name, unquote(value));
    }
    return done();
  }

  /** A format of the product, of a session that nobody renamed. */
  function expand({ id, created, name }: SimSession, format: string): string {
    const values: [string, string][] = [
      [`#{==:#{@svc_session},${name}}`, "0"],
      ["#{?#{!=:#{@svc_session},},#{@svc_session},#{session_name}}", name],
      ["#{session_name}", name],
      ["#{session_id}", id],
      ["#{session_created}", String(created)],
    ];
    return values.reduce((text, [part, value]) => text.replaceAll(part, value), format);
  }

  function tree(pid: number): ProcessFacts[] {
    if (!session || pid !== session.panePid) return [];
    const first = { pid, parentPid: 1, command: "sh", argv: ["sh"] };
    const { program } = session.pane.surface();
    if (program === "shell") return [first];
    const argv = program === "agent" ? ["svc-gateway", "demo-agent"] : ["top"];
    return [first, { pid: session.programPid, parentPid: pid, command: argv[0] ?? "", argv }];
  }

  return {
    session: () => session,
    setSession(given) {
      const before = session;
      session = given;
      if (before && before.id !== given?.id) for (const client of [...clients]) client.end("exited");
      else if (given) for (const client of clients) client.notify(`%output ${given.paneId} x`);
    },
    output() {
      if (session) for (const client of clients) client.notify(`%output ${session.paneId} x`);
    },
    dropClients() {
      for (const client of [...clients]) client.end("");
    },
    processesOf(self) {
      living.set(self.pid, self.alive);
      const never = new Promise<never>(() => {});
      return {
        selfPid: () => self.pid,
        which: () => "tmux",
        foreground: () => never,
        run(command, options = {}) {
          return new Promise((resolve) => {
            if (!self.alive()) return;
            clock.after(1 + waitsFor(dice), () => {
              const output = perform(command.slice(toServer.length), options.input);
              if (self.alive()) resolve(output);
            });
          });
        },
        pipe(command): PipedProcess {
          const client = createControlClient({
            clock,
            latencyMs: () => waitsFor(dice),
            pid: nextPid++,
            alive: self.alive,
            session: (command.at(-1) ?? "").slice(1),
            found: () => session,
            onLook: () => deps.onLook(self.pid),
            onTyped: (typed, sentMs) => deps.onTyped(self.pid, typed, sentMs),
            onEnd: (gone) => void clients.delete(gone),
          });
          clients.add(client);
          self.onEnd(() => client.forget());
          return client.process;
        },
        stream: () => {
          throw new Error("nothing is streamed in the simulation");
        },
        detach: () => {
          throw new Error("nothing is detached in the simulation");
        },
        tree: (pid) => (self.alive() ? Promise.resolve(tree(pid)) : never),
        alive: (pid) =>
          living.get(pid)?.() ??
          (session !== null &&
            (pid === session.panePid ||
              (pid === session.programPid && session.pane.surface().program !== "shell"))),
        startToken: (pid) => String(pid),
        signal: () => false,
      };
    },
  };
}
