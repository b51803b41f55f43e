import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CliIo, Flag } from "../../src/cli/command-line/command.ts";
import { runProgram } from "../../src/cli/command-line/dispatch.ts";
import { childrenOf, type Station, toStation, wordsOf } from "../../src/cli/command-line/parse.ts";
import { managerCommands } from "../../src/cli/mgr.ts";
import { runningCoordinators } from "../../src/services/fleet/coordinator-files.ts";
import { stateRootOf } from "../../src/services/sessions/roots.ts";
import { createSystem } from "../../src/system/system.ts";
import { createFakeIo } from "../support/fake-io.ts";
import { until } from "../support/until.ts";

// Somebody new, with an empty home and nothing that runs, tries every command.

const folder = mkdtempSync(join(tmpdir(), "svc-walk-"));
const home = join(folder, "home");
beforeAll(() => mkdirSync(join(home, "work"), { recursive: true }));
const env = { PATH: process.env["PATH"] ?? "", HOME: home, SVC_TMUX_SOCKET: join(folder, "tmux") };
/** A command that asks the coordination server starts one where none runs. */
afterAll(async () => {
  const system = createSystem();
  const runtimeRoot = join(stateRootOf(env, home), "runtime");
  const known = runningCoordinators({ ...system, runtimeRoot }).map(({ instance }) => instance.pid);
  for (const pid of known) system.processes.signal(pid, "SIGTERM");
  await until("the coordination servers have ended", () => !known.some((pid) => system.processes.alive(pid)));
  rmSync(folder, { recursive: true, force: true });
});

const newcomer = (): CliIo & { out: string; err: string } =>
  createFakeIo({ env, home, cwd: join(home, "work"), input: "" });

async function run(words: readonly string[]) {
  const io = newcomer();
  const version = async () => ({ version: "1", commit: null, built_at: null }) as never;
  const code = await runProgram(managerCommands, version, words, io);
  return { code, out: io.out, err: io.err };
}

async function leaves(chain: Station[]): Promise<Station[][]> {
  const here = chain.at(-1);
  const children = here ? await childrenOf(here.command) : [];
  if (children.length === 0) return [chain];
  return (await Promise.all(children.map((child) => leaves([...chain, child])))).flat();
}

/** One that starts an agent, one that never ends by itself, and one that speaks to a program. */
const others = ["svc-mgr agents launch", "svc-mgr agents watch", "svc-mgr mcp serve"];
const commands = (await leaves([await toStation("svc-mgr", managerCommands)]))
  .map((chain) => ({ id: wordsOf(chain).join(" "), chain }))
  .filter(({ id }) => !others.includes(id));

function plausible([name, flag]: [string, Flag]): string[] {
  if (flag.type === "positional") return flag.required === false ? [] : ["something"];
  if (flag.type === "boolean" || !("required" in flag) || !flag.required) return [];
  if (flag.type === "enum") return [`--${name}`, flag.options[0] ?? ""];
  const known: Record<string, string> = { tool: "claude", address: "ann@svc.localhost", screen: "-" };
  return [`--${name}`, known[name] ?? "something"];
}

/** The words of a whole command line, with everything that is required. */
function lineOf(chain: readonly Station[]): string[] {
  const words = wordsOf(chain).slice(1);
  const target = words[1] === "single" ? ["--agent-name", "somebody"] : [];
  const own = Object.entries(chain.at(-1)?.flags ?? {}).flatMap(plausible);
  return [...words, ...target, ...own];
}

/** A person who reads the message knows what to type, change or name next. */
const nextStep = /svc-(?:mgr|coord) |See: |--[a-z]|SVC_[A-Z]+|TMUX_PANE|known are|there is no file/;

describe("a newcomer who types", () => {
  test.each(commands)(
    "$id with --json gets one document, on the stream where it belongs",
    async ({ chain }) => {
      const { code, out, err } = await run([...lineOf(chain), "--json"]);
      const said = out === "" ? err : out;
      expect(() => JSON.parse(said)).not.toThrow();
      expect([0, 1, 2, 3]).toContain(code);
      if (code === 0 || out !== "") expect(err).toBe("");
      if (out === "") {
        const { detail } = JSON.parse(err) as { detail: unknown };
        expect(detail).toBeString();
      }
    },
  );

  test.each(commands)("$id is shown what to do next when it fails", async ({ chain }) => {
    const { code, out, err } = await run(lineOf(chain));
    if (code === 0 || out !== "") return expect(err).not.toContain("Error:");
    expect(err).toStartWith("Error: ");
    expect(err).toMatch(nextStep);
    expect(err).not.toMatch(/undefined|\[object|\bat .*\.ts:\d/);
  });

  test.each(commands)("$id wrongly is shown which command's help to read", async ({ chain }) => {
    const words = wordsOf(chain).slice(1);
    const { code, out, err } = await run([...words, "--no-such-flag"]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toBe(
      `Error: unknown option "--no-such-flag"${/; did you mean "--[a-z-]+"\?/.exec(err)?.[0] ?? ""}\nSee: ${wordsOf(chain).join(" ")} --help\n`,
    );
  });
});
