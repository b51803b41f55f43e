import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

const svc = (fixture: CliFixture, ...words: string[]) => fixture.run("svc", words);

/** Ends the gateway of the agent as a crash would. */
async function killGateway(fixture: CliFixture, sessionRoot: string): Promise<void> {
  const path = join(sessionRoot, "gateway/run/current-instance.json");
  const { pid } = JSON.parse(readFileSync(path, "utf8")) as { pid: number };
  fixture.kill(pid);
  await until("the gateway's end", () => !fixture.alive(pid));
}

test("what goes wrong for a person who types svc is answered in words of svc", async () => {
  await using fixture = createCliFixture();
  expect((await svc(fixture)).stdout).toContain("svc new first demo");
  expect((await svc(fixture, "new", "worker")).stderr).toContain("<tool> is missing: claude, codex,");
  expect((await svc(fixture, "new", "worker", "dem")).stderr).toContain(
    'unknown tool "dem"; did you mean "demo"? known are: demo, claude,',
  );
  expect((await svc(fixture, "doctor")).stdout).toMatch(
    /^Nothing needed is missing\. .* svc new first demo$/m,
  );
  const found = await svc(fixture, "agents", "list", "--state", "all", "--json");
  expect([found.exitCode, found.json()["agents"]]).toEqual([0, []]);

  const launched = await svc(fixture, "new", "worker", "demo", "-m", "-w");
  expect(launched.stdout).toContain('svc ask worker "..."');
  expect(launched.stdout).not.toContain("svc-mgr");
  const listed = (await svc(fixture, "--json")).json()["agents"] as Record<string, string>[];
  const sessionRoot = String(listed[0]?.["session_root"]);
  const unknown = await svc(fixture, "mail", "worker", "hello", "text", "--from", "ann@svc.localhost");
  expect(unknown.stderr).toContain("svc mailbox register --address ann@svc.localhost");
  expect((await svc(fixture, "search", "worker")).stderr).toMatch(
    /<text> is missing.*\nSee: svc search --help/,
  );

  await killGateway(fixture, sessionRoot);
  expect((await svc(fixture, "tell", "worker", "x")).stderr).toContain("Start one with: svc fix worker");
  expect((await svc(fixture, "fix", "worker")).exitCode).toBe(0);
  expect((await svc(fixture, "ask", "worker", "one\nFAST")).exitCode).toBe(0);
  await killGateway(fixture, sessionRoot);
  const again = await svc(fixture, "restart", "worker");
  expect(again.stdout).toContain("its gateway serves");
  expect((await svc(fixture, "ask", "worker", "two\nFAST")).exitCode).toBe(0);
  expect((await svc(fixture, "log", "worker")).stdout).toMatch(/\bended · read from the screen/);
  expect((await svc(fixture, "int", "worker")).exitCode).toBe(0);
  const requests = await fixture.mgr("agents", "single", "--agent-name", "worker", "requests", "list");
  expect(requests.stdout).toMatch(/ interrupt +completed +\S+ +no_op$/m);
}, 120_000);

test("a restart asks what becomes of work in the queue; a closed queue says how to open it, doctor too, and opening it says what failed", async () => {
  await using fixture = createCliFixture();
  await svc(fixture, "new", "worker", "demo", "-w");
  await svc(fixture, "tell", "worker", "SLOW 600000");
  await until("its turn", async () => (await svc(fixture)).stdout.includes(" busy "));
  const waiting = String((await svc(fixture, "tell", "--json", "worker", "later")).json()["request_id"]);
  const asked = await svc(fixture, "restart", "worker");
  expect([asked.exitCode, asked.stderr]).toEqual([
    1,
    expect.stringContaining("worker: 1 prompt waits\n  later\nSay what becomes of them: --keep or --drop"),
  ]);
  await fixture.mgr("agents", "single", "--agent-name", "worker", "relaunch");
  expect((await svc(fixture)).stdout).toContain('the queue of "worker" is closed');
  expect((await svc(fixture, "doctor")).stdout).toMatch(/^ +agent worker: Open it with: svc fix worker$/m);
  const fixed = await svc(fixture, "fix", "worker");
  expect(fixed.stdout).toContain(
    "1 request for the earlier instance has failed; give again what is still wanted: ",
  );
  expect(fixed.stdout).toContain(waiting);
  expect(fixed.stdout).toContain("submit them again with: svc fix worker --again");
  expect((await svc(fixture, "fix", "worker")).stdout).toMatch(/^a gateway already serves it: \S+\n$/);
  expect((await svc(fixture, "ask", "worker", "later\nFAST")).exitCode).toBe(0);
  await svc(fixture, "stop", "worker");
}, 120_000);

test("who waits for an answer hears that the agent asks something", async () => {
  await using fixture = createCliFixture();
  await svc(fixture, "new", "worker", "demo", "-w");
  const asking = Bun.spawn([...fixture.command("svc"), "ask", "worker", "MENU Which way?"], {
    env: fixture.env,
    cwd: fixture.workdir,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let notice = "";
  for await (const chunk of asking.stderr) {
    notice += new TextDecoder().decode(chunk);
    if (/elsewhere: .*\n/.test(notice)) break;
  }
  expect(notice).toMatch(/"worker" asks: Which way\? \(1\. .*Answer it elsewhere: svc ok worker ANSWER/);
  expect((await svc(fixture, "ok", "worker", "1")).exitCode).toBe(0);
  expect(await asking.exited).toBe(0);
}, 120_000);

test("Ctrl-C while an answer is waited for says that the request goes on, and how to follow and end it", async () => {
  await using fixture = createCliFixture();
  await svc(fixture, "new", "worker", "demo", "-w");
  const start = (...more: string[]) =>
    Bun.spawn([...fixture.command("svc"), "ask", ...more, "worker", "SLOW 600000"], {
      env: fixture.env,
      cwd: fixture.workdir,
      stdio: ["ignore", "ignore", "pipe"],
    });
  const states = async () => {
    const listed = await fixture.mgr(
      "agents",
      "single",
      "--agent-name",
      "worker",
      "requests",
      "list",
      "--json",
    );
    return listed.json()["requests"] as { request_id: string; state: string; waiting?: unknown }[];
  };
  const asking = start();
  const taken = await until("the prompt to be taken", async () =>
    (await states()).find(({ state }) => state === "completed"),
  );
  asking.kill("SIGINT");
  const said = await new Response(asking.stderr).text();
  expect([await asking.exited, said.replace("worker works\n", "")]).toEqual([
    130,
    `Error: interrupted; request ${taken.request_id} goes on without us. Follow it with: svc log worker -f. End its turn with: svc int worker\n`,
  ]);

  // The same of one that waits in the queue, as a document.
  const waits = start("--json");
  const queued = await until("the prompt to wait", async () =>
    (await states()).find(({ request_id: id, waiting }) => id !== taken.request_id && waiting),
  );
  waits.kill("SIGINT");
  expect(await waits.exited).toBe(130);
  expect(JSON.parse(await new Response(waits.stderr).text())).toMatchObject({
    error: "interrupted",
    request_id: queued.request_id,
  });
  expect((await states()).map(({ state }) => state)).toEqual(["accepted", "completed"]);
  expect((await svc(fixture, "int", "worker")).exitCode).toBe(0);
}, 120_000);

test("a question outlives its gateway: its turn is followed through the next one", async () => {
  await using fixture = createCliFixture();
  await svc(fixture, "new", "worker", "demo", "-w");
  const listed = (await svc(fixture, "--json")).json()["agents"] as { session_root: string }[];
  // The turn ends only when somebody answers.
  const asked = svc(fixture, "ask", "--json", "worker", "MENU Go on?");
  await until("its question", async () => (await svc(fixture, "ok", "worker")).stdout.includes("Go on?"));
  await killGateway(fixture, String(listed[0]?.session_root));
  expect((await svc(fixture, "fix", "worker")).exitCode).toBe(0);
  expect((await svc(fixture, "ok", "worker", "1")).exitCode).toBe(0);
  const { exitCode, json } = await asked;
  const { evidence } = json()["request"] as { evidence: { step: string }[] };
  expect([exitCode, evidence.at(-1)?.step]).toEqual([0, "turn_ended"]);
}, 120_000);
