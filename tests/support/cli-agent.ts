import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, type CliRun, createCliFixture } from "./cli-fixture.ts";
import { until } from "./until.ts";

/** The scripted agent `worker`, launched and driven through the command line. */
export interface CliAgent extends AsyncDisposable {
  fixture: CliFixture;
  session: string;
  sessionRoot: string;
  baseUrl: string;
  /** The answer of the launch. */
  launch: Record<string, unknown>;
  /** What the agent itself says that it was given, oldest first. */
  heard(): unknown[];
  /** A command line of `svc-mgr`, further words behind it. */
  type(line: string, ...more: string[]): Promise<CliRun>;
  /** The same in this process: see `CliFixture`. */
  typeHere(line: string, ...more: string[]): Promise<CliRun>;
  feed(input: string, line: string): Promise<CliRun>;
  /** Resolves when the agent is seen at work. */
  busy(): Promise<unknown>;
  /** Resolves when the agent could begin a turn. */
  ready(): Promise<unknown>;
  gatewayPid(): number;
  file(...path: string[]): Record<string, unknown>;
  tmux(...args: string[]): Promise<string>;
}

/** `flags`: of the launch, and behind a `--` those of the scripted agent. */
export const launched = (...flags: string[]): Promise<CliAgent> => launchedIn(createCliFixture(), ...flags);

/** The same in a fixture that was prepared, which ends with the agent. */
export async function launchedIn(fixture: CliFixture, ...flags: string[]): Promise<CliAgent> {
  const log = join(fixture.folder, "agent.log");
  const end = flags.includes("--") ? flags.indexOf("--") : flags.length;
  const words = [
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "worker",
    ...flags.slice(0, end),
    "--json",
  ];
  const launch = await fixture.mgr(...words, "--", "--log", log, ...flags.slice(end + 1));
  if (launch.exitCode !== 0) throw new Error(`launch: ${launch.exitCode} ${launch.stderr}${launch.stdout}`);
  const { tmux_session_name, session_root, gateway_base_url } = launch.json() as Record<string, string>;
  const sessionRoot = session_root ?? "";
  const read = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  const phase = async () => {
    const { stdout } = await fixture.runHere("agents", "single", "--agent-name", "worker", "state", "--json");
    return (JSON.parse(stdout) as { turn: { phase: string } }).turn.phase;
  };
  return {
    fixture,
    session: tmux_session_name ?? "",
    sessionRoot,
    baseUrl: gateway_base_url ?? "",
    launch: launch.json(),
    heard: () =>
      readFileSync(log, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter((entry) => entry["kind"] === "submitted")
        .map((entry) => entry["text"]),
    type: (line, ...more) => fixture.mgr(...line.split(" "), ...more),
    typeHere: (line, ...more) => fixture.runHere(...line.split(" "), ...more),
    feed: (input, line) => fixture.run("svc-mgr", line.split(" "), { input }),
    busy: () => until("the agent to be busy", async () => (await phase()) === "active"),
    ready: () => until("the agent to be ready", async () => (await phase()) === "ready"),
    gatewayPid: () => Number(read(join(sessionRoot, "gateway", "run", "current-instance.json"))["pid"]),
    file: (...path) => read(join(sessionRoot, ...path)),
    tmux: (...args) => fixture.tmux(...args),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}
