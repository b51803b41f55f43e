import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type CliLab, createCliLab } from "../support/cli-lab.ts";

const dist = join(import.meta.dirname, "../../dist");
const processes = createProcesses({ steps: quietSteps });

/** A machine with our executables and tmux, and nothing else: no Bun, no Node, no node_modules. */
function bareMachine(lab: CliLab) {
  const bin = join(lab.folder, "bin");
  mkdirSync(bin);
  symlinkSync(processes.which("tmux") ?? "", join(bin, "tmux"));
  const env = { PATH: bin, HOME: lab.folder, SVC_TMUX_SOCKET: lab.socket };
  return {
    env,
    async run(program: "svc-mgr" | "svc-gateway" | "svc-coord", ...words: string[]) {
      const run = await processes.run([join(dist, program), ...words], {
        env,
        cwd: lab.workdir,
        timeoutMs: 30_000,
      });
      return { ...run, json: () => JSON.parse(run.stdout) as Record<string, unknown> };
    },
  };
}

test("with tmux and nothing else svc-mgr launches an agent, prompts, lists and stops it", async () => {
  await using lab = createCliLab();
  const machine = bareMachine(lab);
  const agent = ["agents", "single", "--agent-name", "worker"];

  const launch = await machine.run(
    "svc-mgr",
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "worker",
    "--json",
  );
  expect([launch.exitCode, launch.stderr]).toEqual([0, ""]);
  try {
    const prompt = await machine.run(
      "svc-mgr",
      ...agent,
      "prompt",
      "--prompt",
      "say hello",
      "--wait",
      "--json",
    );
    expect([prompt.exitCode, prompt.stderr]).toEqual([0, ""]);

    const list = (await machine.run("svc-mgr", "agents", "list", "--json")).json();
    expect(list["agents"]).toEqual([
      expect.objectContaining({ agent_name: "worker", availability: "available", queue_depth: 0 }),
    ]);
  } finally {
    const stop = await machine.run("svc-mgr", ...agent, "stop", "--json");
    expect(stop.json()).toMatchObject({ success: true, gateway: "stopped" });
  }
  expect(await lab.sessions()).toEqual([]);
}, 60_000);

test.each(["svc-mgr", "svc-gateway", "svc-coord"] as const)(
  "%s tells its version and its help there",
  async (program) => {
    await using lab = createCliLab();
    const machine = bareMachine(lab);
    for (const flag of ["--version", "--help"]) {
      const run = await machine.run(program, flag);
      expect([flag, run.exitCode, run.stderr]).toEqual([flag, 0, ""]);
      expect(run.stdout).not.toBe("");
    }
  },
);
