import { expect, test } from "bun:test";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { repositoryRoot } from "../../scripts/bootstrap.ts";
import { chooseCases, matrixChoice } from "../support/matrix.ts";

/** The commands of package.json that are scripts of the project, with their files. */
const commands = Object.entries(manifest.scripts).flatMap(([name, line]) => {
  const file = /^bun (scripts\/[a-z-]+\.ts)$/.exec(line)?.[1];
  return file === undefined ? [] : [{ name, file }];
});

async function run(file: string, ...words: string[]) {
  const child = Bun.spawn([process.execPath, join(repositoryRoot, file), ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { out, err, code };
}

test("every script of package.json is among them", () => {
  expect(commands.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["try", "check", "test", "live", "bench", "build", "fuzz", "chaos", "simulate"]),
  );
});

test.each(chooseCases(commands, ({ name }) => name, matrixChoice))(
  "$name shows its usage and does nothing else",
  async ({ name, file }) => {
    const { out, err, code } = await run(file, "--help");
    expect({ err, code }).toEqual({ err: "", code: 0 });
    expect(out).toStartWith(`Usage: bun run ${name}`);
  },
);

test.each(chooseCases(commands, ({ name }) => name, matrixChoice))(
  "$name refuses a flag that it does not know",
  async ({ name, file }) => {
    const { out, err, code } = await run(file, "--secnods", "3");
    expect({ out, code }).toEqual({ out: "", code: 2 });
    expect(err).toContain("--secnods");
    expect(err).toContain(`Usage: bun run ${name}`);
  },
);

test.each([
  {
    file: "scripts/chaos.ts",
    words: ["gateways", "--rounds", "many"],
    says: "--rounds many: expected a whole number",
  },
  { file: "scripts/chaos.ts", words: ["gateways", "--rounds", "0"], says: "at least 1" },
  { file: "scripts/chaos.ts", words: ["soak", "--rounds", "3"], says: "the world soak has no rounds" },
  { file: "scripts/chaos.ts", words: ["nothing-like-it"], says: "no world nothing-like-it; there are " },
  { file: "scripts/fuzz.ts", words: ["--seconds", "-1"], says: "--seconds" },
  { file: "scripts/fuzz.ts", words: ["--seed", "1.5"], says: "--seed 1.5: expected a whole number" },
  { file: "scripts/chaos.ts", words: ["soak", "--minutes="], says: "--minutes : expected a number" },
  { file: "scripts/simulate.ts", words: ["--seeds"], says: "--seeds" },
  { file: "scripts/simulate.ts", words: ["12"], says: "12" },
  { file: "scripts/bench.ts", words: ["nothing-like-it"], says: "no bench nothing-like-it; there are " },
  { file: "scripts/bench.ts", words: ["peers", "--prompts", "0"], says: "--prompts 0" },
  { file: "scripts/live.ts", words: ["nothing-like-it"], says: "unknown tool: nothing-like-it" },
  { file: "scripts/release.ts", words: ["one", "other"], says: "one folder, not one and other" },
  { file: "scripts/test.ts", words: ["--shard=4/3"], says: "--shard 4/3: expected I/N" },
])("$file refuses $words", async ({ file, words, says }) => {
  const { out, err, code } = await run(file, ...words);
  expect({ out, code }).toEqual({ out: "", code: 2 });
  expect(err).toContain(says);
});
