import { expect, test } from "bun:test";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

interface Line {
  change: string;
  agent: { agent_name: string; turn_phase: string; last_turn: { result: string } };
}

/** `agents watch` off a terminal, its lines as they come. */
function watch(fixture: CliFixture) {
  const child = Bun.spawn([...fixture.command("svc-mgr"), "agents", "watch"], {
    env: fixture.env,
    cwd: fixture.workdir,
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

const launch = (fixture: CliFixture, name: string) =>
  fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", name);
const one = (fixture: CliFixture, name: string, ...words: string[]) =>
  fixture.mgr("agents", "single", "--agent-name", name, ...words);

/** An agent that comes, works and goes while another is there. */
async function followOneLife(fixture: CliFixture) {
  await launch(fixture, "first");
  const watching = watch(fixture);
  await until("the agent that is there", () => watching.of("first").length > 0);
  await launch(fixture, "second");
  await until("the new agent ready", () => watching.of("second").at(-1)?.agent.turn_phase === "ready");
  await one(fixture, "second", "prompt", "--prompt", "SLOW 5000");
  await until("its turn", () => watching.of("second").some(({ agent }) => agent.turn_phase === "active"));
  await until("its end", () => watching.of("second").at(-1)?.agent.last_turn.result === "success");
  await one(fixture, "second", "stop");
  await until("that it went", () => watching.of("second").at(-1)?.change === "gone");
  expect(watching.of("second").map(({ change }) => change)).toEqual([
    "appeared",
    ...Array.from({ length: watching.of("second").length - 2 }, () => "changed"),
    "gone",
  ]);
  expect(await watching.interrupt()).toEqual({ exitCode: 0, complaints: "" });
}

test("off a terminal a watcher gets a JSON line for each change of agents that come, work and go", async () => {
  await using fixture = createCliFixture();
  await followOneLife(fixture);
}, 120_000);

test("the same through the coordination server, and on without it when it ends", async () => {
  await using fixture = createCliFixture();
  const server = Bun.spawn([...fixture.command("svc-coord"), "serve", "--port", "0", "--json"], {
    env: fixture.env,
    cwd: fixture.workdir,
    stdout: "pipe",
    stderr: "pipe",
  });
  try {
    await server.stdout.getReader().read();
    await followOneLife(fixture);

    const watching = watch(fixture);
    await until("the agent that is there", () => watching.of("first").length > 0);
    server.kill("SIGTERM");
    await server.exited;
    await one(fixture, "first", "prompt", "--prompt", "SLOW 5000");
    await until("the turn", () => watching.of("first").some(({ agent }) => agent.turn_phase === "active"));
    expect(await watching.interrupt()).toEqual({ exitCode: 0, complaints: "" });
  } finally {
    server.kill("SIGKILL");
  }
}, 120_000);

test("a reader that goes away ends the watcher of a terminal although nothing changes there", async () => {
  await using fixture = createCliFixture();
  await launch(fixture, "first");
  await until("the agent to be ready", async () =>
    (await one(fixture, "first", "state", "--json")).stdout.includes('"phase": "ready"'),
  );
  const words = [
    ...fixture.command("svc-mgr"),
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
  const { exitCode, stdout, stderr } = await fixture.shell(
    `{ ${line} --json; echo "code $?" >&2; } | head -n 1`,
  );
  expect([exitCode, stderr]).toEqual([0, "code 0\n"]);
  expect(JSON.parse(stdout)).toMatchObject({ turn: { phase: expect.any(String) } });
}, 120_000);

test("a reader that goes away ends a watcher without a word", async () => {
  await using fixture = createCliFixture();
  await launch(fixture, "first");
  const words = fixture.command("svc-mgr").map((word) => `'${word}'`);
  const pipeline = Bun.spawn(["sh", "-c", `{ ${words.join(" ")} agents watch; echo $? >&2; } | head -n 1`], {
    env: fixture.env,
    cwd: fixture.workdir,
    stdout: "pipe",
    stderr: "pipe",
  });
  const { value } = await pipeline.stdout.getReader().read();
  const line = JSON.parse(new TextDecoder().decode(value)) as Line;
  expect(line).toMatchObject({ change: "appeared", agent: { agent_name: "first" } });
  await launch(fixture, "second");
  expect(await new Response(pipeline.stderr).text()).toBe("0\n");
}, 120_000);
