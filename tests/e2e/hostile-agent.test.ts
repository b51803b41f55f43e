import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHostileFixture } from "../support/hostile/fixture.ts";

/** Launches the scripted agent with a script, gives it `prompts` in turn, each to the end of its turn. */
async function story(script: object, prompts: string[]) {
  await using fixture = await createHostileFixture();
  const log = join(fixture.folder, "agent.log");
  const file = join(fixture.folder, "script.json");
  writeFileSync(file, JSON.stringify({ schema_version: 1, ...script }));
  const single = ["agents", "single", "--agent-name", "worker"];
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--"];
  const launched = await fixture.mgr(...launch, "--log", log, "--speed", "5", "--script", file);
  if (launched.exitCode !== 0) throw new Error(`launch: ${launched.stderr}`);
  const runs = [];
  for (const prompt of prompts) {
    runs.push(
      await fixture.mgr(...single, "prompt", "--prompt", prompt, "--wait", "--timeout", "80", "--json"),
    );
  }
  const heard = readFileSync(log, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((entry) => entry["kind"] === "submitted")
    .map((entry) => entry["text"]);
  return { runs, heard };
}

test("a prompt that a question pushed back into the composer is submitted after it, once", async () => {
  const menu = { menu_before_prompt: { on: [1, 2], dismiss_ms: 300 } };
  const { runs, heard } = await story({ hostile: menu }, ["one\nFAST", "two\nFAST", "three\nFAST"]);
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
  expect(heard).toEqual(["one\nFAST", "two\nFAST", "three\nFAST"]);
}, 120_000);

// A crash leaves the busy frame; an agent that goes in order shows its composer again before it has gone.
test("waiting for a turn ends when the agent's program does", async () => {
  const { runs, heard } = await story({}, ["one\nFAST", "end\nCRASH"]);
  expect(heard).toEqual(["one\nFAST", "end\nCRASH"]);
  expect(runs[1]?.stdout).toContain("the agent's program has ended");
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 1]);
}, 120_000);
