import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TranscriptPage, TranscriptTurn } from "../../src/protocol/transcript.ts";
import { type CliAgent, launchedIn } from "../support/cli-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { modelAnswers } from "../support/model-server/answers.ts";
import { openPersonPane } from "../support/person-pane.ts";

const executable = resolve(import.meta.dir, "../../dist/svc-gateway");
const launched = (...flags: string[]) => launchedIn(createCliFixture({ executable }), ...flags);

const one = "agents single --agent-name worker";
const answers = Object.entries(modelAnswers);

/** The scripted agent answers with the lines before `ECHO`. */
const echo = (text: string) => `${text}\nECHO`;
const ask = (at: CliAgent, text: string, ...flags: string[]) =>
  at.feed(echo(text), [one, "prompt", "--wait", ...flags].join(" "));

/** `run` prints exactly the text, and nothing to standard error. */
function prints(run: { exitCode: number | null; stdout: string; stderr: string }, text: string): void {
  const { exitCode, stderr, stdout } = run;
  // Equal texts of 58 KB are not compared by the report.
  const shown = stdout === `${text}\n` ? "the answer" : stdout;
  expect({ exitCode, stderr, shown }).toEqual({ exitCode: 0, stderr: "", shown: "the answer" });
}

test("prompt --wait prints the answer as the agent gave it, and the log keeps it over restarts and relaunches", async () => {
  await using at = await launched("--", "--signals");
  for (const [, text] of answers) prints(await ask(at, text), text);

  const full = await ask(at, "evidence", "--json");
  expect(full.json()).toMatchObject({
    success: true,
    answer: "evidence",
    turn: { source: "tool", status: "completed", prompt: echo("evidence"), truncated: false },
    request: { state: "completed" },
  });
  const verbose = await ask(at, "evidence", "--verbose");
  expect([verbose.stdout, verbose.exitCode]).toEqual(["evidence\n", 0]);
  expect(verbose.stderr).toContain("turn_ended");

  prints(await at.type("agents single --agent-name worker last"), "evidence");
  const log = (await at.type("agents single --agent-name worker log --json")).json() as TranscriptPage;
  expect(log.turns.map(({ prompt }) => prompt)).toEqual(
    ["evidence", "evidence", ...answers.map(([, text]) => text).toReversed()].map(echo),
  );
  expect([log.gaps, log.damaged_lines]).toEqual([[], 0]);
  const huge = (
    await at.type("agents single --agent-name worker log --turn 3 --json")
  ).json() as TranscriptTurn;
  expect([huge.answer === modelAnswers.SAYHUGE, huge.answer_bytes]).toEqual([true, 58_023]);

  const found = (await at.type("agents single --agent-name worker search --json", "終わり 漢字")).json() as {
    turns: TranscriptTurn[];
  };
  expect(found.turns.map(({ answer }) => answer)).toEqual([modelAnswers.SAYWIDE]);
  expect((await at.type("agents single --agent-name worker search nowhere")).exitCode).toBe(1);
  expect((await at.type("agents single --agent-name worker screen")).stdout).toContain("enter to send");

  const short = (...words: string[]) => at.fixture.run("svc", words);
  prints(await at.fixture.run("svc", ["last", "worker"]), "evidence");
  expect((await at.fixture.run("svc", ["search", "worker", "off", "by", "one"])).stdout).toContain(
    "off by one",
  );
  expect((await short("log", "worker", "--turn", "1")).stdout).toContain("> evidence\n> ECHO\nevidence\n");
  expect((await short("screen", "worker")).stdout).toContain("enter to send");

  at.fixture.kill(at.gatewayPid());
  expect((await at.type(`${one} gateway attach`)).exitCode).toBe(0);
  const again = (await at.type("agents single --agent-name worker log --json")).json() as TranscriptPage;
  expect(again.turns).toEqual(log.turns);
  expect((await at.type(`${one} relaunch --reconcile`)).exitCode).toBe(0);
  prints(await ask(at, "after the relaunch"), "after the relaunch");
  const both = (await at.type("agents single --agent-name worker log --json")).json() as TranscriptPage;
  expect(both.turns.slice(1)).toEqual(log.turns);

  const records = join(at.fixture.env["HOME"] ?? "", ".local/state/svc/demo-agent");
  for (const name of readdirSync(records).filter((file) => file.startsWith("demo-")))
    rmSync(join(records, name));
  const gone = (await at.type("agents single --agent-name worker log --json")).json() as TranscriptPage;
  expect(gone.turns).toEqual([]);
  expect(gone.gaps).toEqual([
    expect.stringContaining("the record of demo is not there any more"),
    expect.stringContaining("the record of demo is not there any more"),
  ]);
}, 180_000);

test("without a record the answer is what the screen showed, and says so", async () => {
  await using at = await launched();
  const run = await at.feed("say something\nFAST", `${one} prompt --wait --json`);
  const { turn, answer } = run.json() as { turn: TranscriptTurn; answer: string };
  expect(turn).toMatchObject({ source: "screen", status: "unknown", prompt: "say something\nFAST" });
  expect(answer).toMatch(/^[a-z]+( [a-z]+){7}$/);
  expect((await at.type("agents single --agent-name worker log")).stdout).toContain("read from the screen");

  // The answer alone is on standard output; a person is shown where it is from.
  await using pane = await openPersonPane(at.fixture);
  for (const command of ["ask worker FAST", "last worker"]) {
    await pane.enter(`clear; ${at.fixture.command("svc").join(" ")} ${command} > answer; cat answer`);
    const shown = await pane.untilShows(/read from the screen.*\n[a-z]+( [a-z]+){7}\n/);
    expect(shown).not.toContain("Error");
    expect(readFileSync(join(at.fixture.workdir, "answer"), "utf8")).toMatch(/^[a-z]+( [a-z]+){7}\n$/);
  }
}, 60_000);

test("a headless agent's answers are those of its turns", async () => {
  await using at = await launched("--headless");
  for (const [, text] of answers) prints(await ask(at, text), text);
  const log = (await at.type("agents single --agent-name worker log --json")).json() as TranscriptPage;
  expect(log.turns.map(({ source, status }) => [source, status])).toEqual(
    answers.map(() => ["headless", "completed"]),
  );
  const tool = await at.feed("look\nTOOL search\nFAST", `${one} prompt --wait --json`);
  expect(tool.json()).toMatchObject({ turn: { tool_calls: [{ name: "search", status: "ok" }] } });
}, 120_000);
