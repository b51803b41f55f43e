import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { json } from "../support/http-surface.ts";

const dist = join(import.meta.dirname, "../../dist");
const processes = createProcesses({ steps: quietSteps });

/** A machine with our executables and tmux, and nothing else: no Bun, no Node, no node_modules. */
function bareMachine(fixture: CliFixture) {
  const bin = join(fixture.folder, "bin");
  mkdirSync(bin);
  symlinkSync(processes.which("tmux") ?? "", join(bin, "tmux"));
  const env = { PATH: bin, HOME: fixture.folder, SVC_TMUX_SOCKET: fixture.socket };
  return {
    env,
    async run(program: "svc-mgr" | "svc-gateway" | "svc-coord" | "svc", ...words: string[]) {
      const run = await processes.run([join(dist, program), ...words], {
        env,
        cwd: fixture.workdir,
        timeoutMs: 60_000,
      });
      return { ...run, json: () => JSON.parse(run.stdout) as Record<string, unknown> };
    },
  };
}

test("with tmux and nothing else svc-mgr launches an agent, prompts, lists and stops it", async () => {
  await using fixture = createCliFixture();
  const machine = bareMachine(fixture);
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
  expect(await fixture.sessions()).toEqual([]);
}, 120_000);

test("svc-coord serves there and forwards to a gateway", async () => {
  await using fixture = createCliFixture();
  const machine = bareMachine(fixture);
  const launch = await machine.run("svc-mgr", "agents", "launch", "--tool", "demo", "--agent-name", "worker");
  expect([launch.exitCode, launch.stderr]).toEqual([0, ""]);
  const server = Bun.spawn([join(dist, "svc-coord"), "serve", "--port", "0", "--json"], {
    env: machine.env,
    cwd: fixture.workdir,
    stdout: "pipe",
    stderr: "pipe",
  });
  try {
    const { value } = await server.stdout.getReader().read();
    const ready = JSON.parse(new TextDecoder().decode(value)) as { api_base_url: string };
    const ask = async (path: string, init: RequestInit = {}) => {
      const reply = await fetch(`${ready.api_base_url}${path}`, { ...init, proxy: false } as RequestInit);
      return [reply.status, await reply.json()];
    };
    expect(await ask("/svc/agents")).toEqual([
      200,
      { agents: [expect.objectContaining({ agent_name: "worker", has_gateway: true, liveness: "alive" })] },
    ]);
    const prompt = json({ request_kind: "submit_prompt", prompt: "say hello" });
    expect(await ask("/svc/agents/worker/requests", prompt)).toEqual([
      200,
      expect.objectContaining({ success: true, disposition: "accepted" }),
    ]);
    expect(await ask("/svc/coord/shutdown", { method: "POST" })).toEqual([200, { status: "ok" }]);
    expect(await server.exited).toBe(0);
    expect(await new Response(server.stderr).text()).toBe("");
  } finally {
    server.kill("SIGKILL");
    await machine.run("svc-mgr", "agents", "single", "--agent-name", "worker", "stop");
  }
}, 120_000);

test.each(["svc-mgr", "svc-gateway", "svc-coord", "svc"] as const)(
  "%s reports its version and its help there",
  async (program) => {
    await using fixture = createCliFixture();
    const machine = bareMachine(fixture);
    for (const flag of ["--version", "--help"]) {
      const run = await machine.run(program, flag);
      expect([flag, run.exitCode, run.stderr]).toEqual([flag, 0, ""]);
      expect(run.stdout).not.toBe("");
    }
  },
);
