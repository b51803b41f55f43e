import { describe, expect, test } from "bun:test";
import { membersOf, readEnvFile, readTeamFile } from "../../../../src/services/extensions/team/team-file.ts";

const findings = (text: string) => {
  const reading = readTeamFile(text);
  return reading.ok ? [] : reading.findings.map(({ line, message }) => `${line}: ${message}`);
};
const lines = (...text: string[]) => `${text.join("\n")}\n`;

test("a whole file is read as written", () => {
  const text = lines(
    "version: 1",
    "agents:",
    "  builder: { tool: claude, args: [--model, sonnet], mailbox: true, notifier: { interval_seconds: 30 } }",
    "  batch: { tool: codex, headless: true, model: gpt-5, env: { A: '*not an alias' } }",
    "people:",
    "  ann: {}",
    "  bob: { address: bob@example.test } # &not-an-anchor",
  );
  const reading = readTeamFile(text);
  expect(reading).toMatchObject({
    ok: true,
    team: {
      agents: { builder: { args: ["--model", "sonnet"] }, batch: { env: { A: "*not an alias" } } },
      people: { ann: {}, bob: { address: "bob@example.test" } },
    },
  });
});

describe("a finding names its line", () => {
  test.each([
    { id: "no version", text: lines("agents: {}"), want: ["1: version: is missing; write `version: 1`"] },
    {
      id: "another version",
      text: lines("version: 2", "agents: {}"),
      want: ["1: version: expected 1"],
    },
    {
      id: "an unknown field",
      text: lines("version: 1", "agents:", "  a:", "    tool: demo", "    colour: red"),
      want: ["5: agents.a.colour: is not known here"],
    },
    {
      id: "a misspelt field",
      text: lines("version: 1", "agents:", "  a:", "    tool: demo", "    workdri: x"),
      want: ['5: agents.a.workdri: is not known here; did you mean "workdir"?'],
    },
    {
      id: "an unknown tool",
      text: lines("version: 1", "agents:", "  a:", "    tool: claud"),
      want: [
        '4: agents.a.tool: expected one of claude, codex, gemini, opencode, kimi, demo; did you mean "claude"?',
      ],
    },
    {
      id: "a cron expression of four fields",
      text: lines(
        "version: 1",
        "agents:",
        "  a:",
        "    tool: demo",
        "    schedules:",
        "      nightly:",
        "        prompt: tidy",
        "        cron: 0 2 * *",
      ),
      want: [expect.stringMatching(/^8: agents\.a\.schedules\.nightly\.cron: expected string to match/)],
    },
    {
      id: "a day that never comes, and an unknown time zone",
      text: lines(
        "version: 1",
        "agents:",
        "  a:",
        "    tool: demo",
        "    schedules:",
        "      never: { prompt: x, cron: 0 0 30 2 * }",
        "      nowhere: { prompt: x, cron: 0 0 * * *, time_zone: Mars/Base }",
      ),
      want: [
        "6: agents.a.schedules.never.cron: names no day that there is",
        "7: agents.a.schedules.nowhere.time_zone: must be an IANA name that is known here, such as Europe/Berlin",
      ],
    },
    {
      id: "an unknown member of a group, and a group of an agent's name",
      text: lines(
        "version: 1",
        "agents:",
        "  a: { tool: demo }",
        "groups:",
        "  all: [a,",
        "    nobody]",
        "  a: [a]",
      ),
      want: [
        '6: groups.all: "nobody" is neither an agent nor a person of this file',
        "7: groups.a: an agent or a person has this name",
      ],
    },
    {
      id: "a key given twice",
      text: lines("version: 1", "agents:", "  a: { tool: demo }", "  a: { tool: demo }"),
      want: ["4: Map keys must be unique"],
    },
    {
      id: "an alias",
      text: lines("version: 1", "agents:", "  a: &x { tool: demo }", "  b: *x"),
      want: ["3: aliases are not read"],
    },
    {
      id: "a worktree and a working directory",
      text: lines("version: 1", "agents:", "  a:", "    tool: demo", "    workdir: .", "    worktree: true"),
      want: ["6: agents.a.worktree: not together with workdir: a worktree is its working directory"],
    },
    {
      id: "a model of a terminal agent",
      text: lines("version: 1", "agents:", "  a: { tool: claude, model: sonnet }"),
      want: ["3: agents.a.model: needs `headless: true`; give other agents their model with `args`"],
    },
    {
      id: "a notifier without a mailbox",
      text: lines("version: 1", "agents:", "  a: { tool: claude, notifier: {} }"),
      want: ["3: agents.a.notifier: needs `mailbox: true`"],
    },
    {
      id: "a name that is a path",
      text: lines("version: 1", "agents:", "  ../a: { tool: demo }"),
      want: ["3: agents.../a: is not known here"],
    },
    {
      id: "several mistakes, from the first line on",
      text: lines("version: 1", "agents:", "  a:", "    tool: dem", "    modle: x", "    args: x"),
      want: [
        expect.stringMatching(/^4: agents\.a\.tool: expected one of .*; did you mean "demo"\?$/),
        '5: agents.a.modle: is not known here; did you mean "model"?',
        "6: agents.a.args: expected a list",
      ],
    },
    { id: "a list", text: "- 1\n", want: ["1: the file: expected lines of `name: value`"] },
    { id: "nothing", text: "", want: ["1: the file: expected lines of `name: value`"] },
  ])("$id", ({ text, want }) => {
    expect(findings(text)).toEqual([...want]);
  });

  test("text that is no YAML", () => {
    expect(findings(lines("version: 1", "agents: [", "  a"))[0]).toMatch(/^[34]: /);
  });

  test("of many findings the first twenty", () => {
    const agents = Array.from({ length: 50 }, (_, nth) => `  a${nth}: { tool: demo, x: 1 }`);
    expect(findings(lines("version: 1", "agents:", ...agents))).toHaveLength(20);
  });
});

test("an env file is lines of NAME=VALUE, with comments and quotes", () => {
  const read = readEnvFile("# keys\nA=1\nexport B=\"two words\"\n\nC='x=y'\r\nD=\n");
  expect(read).toEqual({ env: { A: "1", B: "two words", C: "x=y", D: "" } });
  expect(readEnvFile("A=1\nnot a variable\n")).toEqual({ badLine: 2 });
});

describe("@NAME", () => {
  const reading = readTeamFile(
    lines(
      "version: 1",
      "agents:",
      "  a: { tool: demo, mailbox: true }",
      "  b: { tool: demo }",
      "people:",
      "  ann: { address: ann@example.test }",
      "  bob: {}",
      "groups:",
      "  all: [a, b, ann, bob]",
    ),
  );
  const team = reading.ok ? reading.team : { version: 1 as const, agents: {} };

  test.each<{ id: string; name: string; want: ReturnType<typeof membersOf> }>([
    {
      id: "is a group",
      name: "all",
      want: {
        agents: ["a", "b"],
        people: ["ann@example.test", "bob@svc.localhost"],
      },
    },
    {
      id: "is a person",
      name: "ann",
      want: { agents: [], people: ["ann@example.test"] },
    },
    {
      id: "is an agent",
      name: "b",
      want: { agents: ["b"], people: [] },
    },
    { id: "is nobody", name: "toString", want: null },
  ])("$id", ({ name, want }) => {
    expect(membersOf(team, name)).toEqual(want);
  });
});
