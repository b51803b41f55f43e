import { describe, expect, test } from "bun:test";
import { managerCommands } from "../../src/cli/mgr.ts";
import { coordinatorCommands, gatewayCommands } from "../../src/cli/programs.ts";
import { shortCommands } from "../../src/cli/short/short.ts";
import { findUntestedLeaves, listLeaves, parseCommands } from "./command-leaves.ts";
import { readTree } from "./tree.ts";

const programs = [
  { name: "svc-mgr", root: managerCommands },
  { name: "svc-gateway", root: gatewayCommands },
  { name: "svc-coord", root: coordinatorCommands },
  { name: "svc", root: shortCommands },
];
// This folder only talks about commands.
const tests = readTree("tests").filter(({ path }) => !path.startsWith("tests/guards/"));

describe("every command is called by a test", () => {
  test.each(programs)("$name", async ({ name, root }) => {
    const leaves = await listLeaves(name, root);
    expect(leaves).not.toEqual([name]);
    expect(
      findUntestedLeaves(
        leaves,
        tests.map(({ source }) => source),
      ),
    ).toEqual([]);
  });
});

describe("a planted violation is seen", () => {
  const cases: { id: string; source: string; untested: number }[] = [
    { id: "no test at all", source: "", untested: 1 },
    { id: "another command of the group", source: 'run(["agents", "single", "prompt"])', untested: 1 },
    { id: "a longer word", source: 'run(["agents", "single", "states"])', untested: 1 },
    { id: "an argument list", source: 'run(["agents", "single", "state"])', untested: 0 },
    { id: "flags between", source: 'run(["agents", "single", "--agent-name", name, "state"])', untested: 0 },
    { id: "a line over several lines", source: 'run([\n  "agents",\n  "self",\n  "state",\n])', untested: 0 },
    { id: "a command line", source: "`svc-mgr agents single --agent-name x state --json`", untested: 0 },
  ];
  test.each(cases)("$id", ({ source, untested }) => {
    expect(findUntestedLeaves(["svc-mgr agents single state"], [source])).toHaveLength(untested);
  });
  const words: { id: string; source: string; untested: number }[] = [
    { id: "prose is no call of a single word", source: 'test("can run it", f)', untested: 1 },
    { id: "a single word begins the list", source: 'gateway(["run", "--tool", x])', untested: 0 },
    { id: "a single word follows the executable", source: 'start([gateway, "run"])', untested: 0 },
    { id: "a single word on a command line", source: '"svc-gateway --json run"', untested: 0 },
  ];
  test.each(words)("$id", ({ source, untested }) => {
    expect(findUntestedLeaves(["svc-gateway run"], [source])).toHaveLength(untested);
  });
  test("help lists its commands", () => {
    expect(parseCommands("x\n\nCommands:\n  a-b  does\n  c    does\n\nOptions:\n  -h  help\n")).toEqual([
      "a-b",
      "c",
    ]);
    expect(parseCommands("x\n\nOptions:\n  -h  help\n")).toEqual([]);
  });
});
