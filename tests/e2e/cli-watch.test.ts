import { expect, test } from "bun:test";
import { type CliLab, createCliLab } from "../support/cli-lab.ts";
import { until } from "../support/until.ts";

interface Line {
  change: string;
  agent: { agent_name: string; turn_phase: string; last_turn: { result: string } };
}

/** `agents watch` off a terminal, its lines as they come. */
function watch(lab: CliLab) {
  const child = Bun.spawn([...lab.command("svc-mgr"), "agents", "watch"], {
    env: lab.env,
    cwd: lab.workdir,
    stdout: "pipe",
    stderr: "pipe",
  });
  const lines: Line[] = [];
  const ended = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) lines.push(JSON.parse(part));
    }
  })();
  return {
    lines,
    of: (name: string) => lines.filter(({ agent }) => agent.agent_name === name),
    async interrupt() {
      child.kill("SIGINT");
      await ended;
      return { exitCode: await child.exited, complaints: await new Response(child.stderr).text() };
    },
  };
}

const launch = (lab: CliLab, name: string) =>
  lab.mgr("agents", "launch", "--tool", "demo", "--agent-name", name);
const one = (lab: CliLab, name: string, ...words: string[]) =>
  lab.mgr("agents", "single", "--agent-name", name, ...words);

/** An agent that comes, works and goes while another is there. */
async function followOneLife(lab: CliLab) {
  await launch(lab, "first");
  const watching = watch(lab);
  await until("the agent that is there", () => watching.of("first").length > 0);
  await launch(lab, "second");
  await until("the new agent ready", () => watching.of("second").at(-1)?.agent.turn_phase === "ready");
  await one(lab, "second", "prompt", "--prompt", "SLOW 5000");
  await until("its turn", () => watching.of("second").some(({ agent }) => agent.turn_phase === "active"));
  await until("its end", () => watching.of("second").at(-1)?.agent.last_turn.result === "success");
  await one(lab, "second", "stop");
  await until("that it went", () => watching.of("second").at(-1)?.change === "gone");
  expect(watching.of("second").map(({ change }) => change)).toEqual([
    "appeared",
    ...Array.from({ length: watching.of("second").length - 2 }, () => "changed"),
    "gone",
  ]);
  expect(await watching.interrupt()).toEqual({ exitCode: 0, complaints: "" });
}

test("off a terminal a watcher gets a JSON line for each change of agents that come, work and go", async () => {
  await using lab = createCliLab();
  await followOneLife(lab);
}, 120_000);

test("the same through the coordination server, and on without it when it ends", async () => {
  await using lab = createCliLab();
  const server = Bun.spawn([...lab.command("svc-coord"), "serve", "--port", "0", "--json"], {
    ...{ env: lab.env, cwd: lab.workdir, stdout: "pipe", stderr: "pipe" },
  });
  try {
    await server.stdout.getReader().read();
    await followOneLife(lab);

    const watching = watch(lab);
    await until("the agent that is there", () => watching.of("first").length > 0);
    server.kill("SIGTERM");
    await server.exited;
    await one(lab, "first", "prompt", "--prompt", "SLOW 5000");
    await until("the turn", () => watching.of("first").some(({ agent }) => agent.turn_phase === "active"));
    expect(await watching.interrupt()).toEqual({ exitCode: 0, complaints: "" });
  } finally {
    server.kill("SIGKILL");
  }
}, 120_000);

test("a reader that goes away ends the watcher of a terminal although nothing changes there", async () => {
  await using lab = createCliLab();
  await launch(lab, "first");
  await until("the agent to be ready", async () =>
    (await one(lab, "first", "state", "--json")).stdout.includes('"phase": "ready"'),
  );
  const words = [
    ...lab.command("svc-mgr"),
    "agents",
    "single",
    "--agent-name",
    "first",
    "gateway",
    "tui",
    "watch",
  ];
  const line = words.map((word) => `'${word}'`).join(" ");
  // The first line is read, then nobody reads; the agent does nothing all the while.
  const { exitCode, stdout, stderr } = await lab.shell(`{ ${line} --json; echo "code $?" >&2; } | head -n 1`);
  expect([exitCode, stderr]).toEqual([0, "code 0\n"]);
  expect(JSON.parse(stdout)).toMatchObject({ turn: { phase: expect.any(String) } });
}, 120_000);

test("a reader that goes away ends a watcher without a word", async () => {
  await using lab = createCliLab();
  await launch(lab, "first");
  const words = lab.command("svc-mgr").map((word) => `'${word}'`);
  const pipeline = Bun.spawn(["sh", "-c", `{ ${words.join(" ")} agents watch; echo $? >&2; } | head -n 1`], {
    ...{ env: lab.env, cwd: lab.workdir, stdout: "pipe", stderr: "pipe" },
  });
  const { value } = await pipeline.stdout.getReader().read();
  const line = JSON.parse(new TextDecoder().decode(value)) as Line;
  expect(line).toMatchObject({ change: "appeared", agent: { agent_name: "first" } });
  await launch(lab, "second");
  expect(await new Response(pipeline.stderr).text()).toBe("0\n");
}, 120_000);
