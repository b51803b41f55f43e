import { describe, expect, test } from "bun:test";
import { command, group, UsageError } from "../../../src/cli/command-line/command.ts";
import { parseCommandLine, wordsOf } from "../../../src/cli/command-line/parse.ts";

const leaf =
  (name: string, args = {}, rest?: string) =>
  async () =>
    command({
      name,
      description: name,
      examples: [],
      args,
      ...(rest === undefined ? {} : { rest }),
      run: async () => 0,
    });

const tree = group({
  name: "tool",
  description: "a tool",
  examples: [],
  args: { "registry-root": { type: "string", description: "folder" } },
  subCommands: {
    agents: async () =>
      group({
        name: "agents",
        description: "agents",
        examples: [],
        args: { verbose: { type: "boolean", alias: "v", description: "say more" } },
        subCommands: {
          single: async () =>
            group({
              name: "single",
              description: "one",
              examples: [],
              args: { "agent-name": { type: "string", description: "name" } },
              subCommands: {
                state: leaf("state"),
                send: leaf("send", {
                  to: { type: "string", multiple: true, description: "whom" },
                  policy: { type: "enum", options: ["a", "b"], default: "a", description: "policy" },
                  port: { type: "string", default: "0", description: "port" },
                }),
                show: leaf("show", { id: { type: "positional", description: "which" } }),
              },
            }),
          ask: leaf("ask", {
            wait: { type: "boolean", alias: "w", description: "wait" },
            name: { type: "positional", description: "whom" },
            text: { type: "positional", many: true, verbatim: true, required: false, description: "what" },
          }),
          launch: leaf("launch", { tool: { type: "string", required: true, description: "tool" } }, "ARGS"),
        },
      }),
  },
});

async function run(...argv: string[]) {
  const parsed = await parseCommandLine(tree, argv);
  if (parsed.kind !== "run") throw new Error(`parsed as ${parsed.kind}`);
  return { ...parsed, path: wordsOf(parsed.chain).join(" ") };
}

describe("flags of a group may are anywhere after it", () => {
  test.each([
    { id: "where the group stands", argv: ["agents", "single", "--agent-name", "x", "state"] },
    { id: "after the command", argv: ["agents", "single", "state", "--agent-name", "x"] },
    { id: "with an equals sign", argv: ["agents", "single", "state", "--agent-name=x"] },
    {
      id: "mixed with those of other groups",
      argv: ["--registry-root", "/r", "agents", "-v", "single", "--json", "state", "--agent-name", "x"],
    },
  ])("$id", async ({ argv }) => {
    const parsed = await run(...argv);
    expect(parsed.path).toBe("tool agents single state");
    expect(parsed.inherited["agent-name"]).toBe("x");
  });

  test("a value that is a command's name stays a value", async () => {
    const parsed = await run("agents", "single", "--agent-name", "state", "send");
    expect(parsed.path).toBe("tool agents single send");
    expect(parsed.inherited["agent-name"]).toBe("state");
  });
});

describe("values", () => {
  test("defaults apply, booleans are false, unset ones undefined, repeated ones all", async () => {
    const parsed = await run("agents", "single", "send", "--to", "a", "--to=b");
    expect(parsed.own).toEqual({ to: ["a", "b"], policy: "a", port: "0" });
    expect(parsed.inherited).toMatchObject({ verbose: false, json: false });
    expect(parsed.inherited["agent-name"]).toBeUndefined();
  });

  test("a boolean may be taken back, the last word counts", async () => {
    expect((await run("agents", "-v", "--no-verbose", "single", "state")).inherited["verbose"]).toBe(false);
    expect((await run("agents", "--no-verbose", "-v", "single", "state")).inherited["verbose"]).toBe(true);
  });

  test("a value may begin with a dash, and be empty", async () => {
    expect((await run("agents", "single", "send", "--to", "- item")).own["to"]).toEqual(["- item"]);
    expect((await run("agents", "single", "send", "--to", "--json-like")).own["to"]).toEqual(["--json-like"]);
    expect((await run("agents", "single", "send", "--to=")).own["to"]).toEqual([""]);
    expect((await run("agents", "single", "send", "--to=--json")).own["to"]).toEqual(["--json"]);
  });

  test("what is after -- is handed on untouched", async () => {
    const parsed = await run("agents", "launch", "--tool", "x", "--", "--model", "y", "--", "-z");
    expect(parsed.rest).toEqual(["--model", "y", "--", "-z"]);
  });

  test("a positional is a value", async () => {
    expect((await run("agents", "single", "show", "42")).own).toEqual({ id: "42" });
  });
});

describe("after the words before it everything is text", () => {
  test.each<{ id: string; argv: string[]; want: object; json?: boolean }>([
    {
      id: "words that look like flags",
      argv: ["q", "fix", "the", "--json", "flag"],
      want: { text: "fix the --json flag" },
    },
    {
      id: "words of one argument",
      argv: ["q", "fix the --json flag"],
      want: { text: "fix the --json flag" },
    },
    { id: "a flag as the first word", argv: ["q", "--wait", "x"], want: { text: "--wait x", wait: false } },
    { id: "an unknown flag", argv: ["q", "-x", "--no-such=1"], want: { text: "-x --no-such=1" } },
    { id: "one -- before it is left out", argv: ["q", "--", "--json", "x"], want: { text: "--json x" } },
    { id: "a later -- stays", argv: ["q", "a", "--", "b"], want: { text: "a -- b" } },
    {
      id: "flags before the name",
      argv: ["-w", "--json", "q", "x"],
      want: { text: "x", wait: true },
      json: true,
    },
    { id: "-- before the name", argv: ["--json", "--", "q", "--json"], want: { text: "--json" }, json: true },
    { id: "nothing", argv: ["q"], want: { text: undefined } },
    { id: "nothing after --", argv: ["q", "--"], want: { text: undefined } },
  ])("$id", async ({ argv, want, json = false }) => {
    const parsed = await run("agents", "ask", ...argv);
    expect([parsed.own, parsed.inherited["json"]]).toMatchObject([{ name: "q", ...want }, json]);
  });
});

describe("what cannot be understood is an error that helps", () => {
  test.each([
    { id: "an unknown command", argv: ["agnets"], want: 'unknown command "agnets"; did you mean "agents"?' },
    { id: "an unknown command near nothing", argv: ["zzz"], want: 'unknown command "zzz"' },
    {
      id: "an unknown flag",
      argv: ["agents", "single", "--agent-nmae", "x", "state"],
      want: 'unknown option "--agent-nmae"; did you mean "--agent-name"?',
    },
    { id: "an unknown flag with a value", argv: ["agents", "--verbos=1"], want: 'did you mean "--verbose"?' },
    { id: "an unknown letter", argv: ["agents", "-q"], want: 'unknown option "-q"' },
    {
      id: "a flag of a later command",
      argv: ["--tool", "x", "agents", "launch"],
      want: 'unknown option "--tool"',
    },
    { id: "a value for a boolean", argv: ["agents", "--verbose=yes"], want: "--verbose takes no value" },
    { id: "a missing value", argv: ["agents", "single", "state", "--agent-name"], want: "needs a value" },
    {
      id: "a forgotten value before another flag",
      argv: ["agents", "single", "--agent-name", "--json", "state"],
      want: "--agent-name needs a value",
    },
    {
      id: "a flag given twice",
      argv: ["agents", "single", "state", "--agent-name", "a", "--agent-name", "b"],
      want: "--agent-name was given twice",
    },
    {
      id: "a word outside a closed set",
      argv: ["agents", "single", "send", "--policy", "c"],
      want: "one of a, b",
    },
    { id: "a required flag left out", argv: ["agents", "launch"], want: "--tool is required" },
    { id: "a positional left out", argv: ["agents", "single", "show"], want: "<id> is missing" },
    { id: "a word too many", argv: ["agents", "single", "show", "1", "2"], want: 'unexpected "2"' },
    {
      id: "words after -- where none belong",
      argv: ["agents", "single", "state", "--", "x"],
      want: 'unexpected "x"',
    },
    {
      id: "a group without a command",
      argv: ["agents", "single"],
      want: '"tool agents single" needs a command',
    },
  ])("$id", async ({ argv, want }) => {
    const error = await parseCommandLine(tree, argv).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(UsageError);
    expect((error as UsageError).message).toContain(want);
  });
});

test("help and version win over what is missing", async () => {
  const help = await parseCommandLine(tree, ["agents", "launch", "--help"]);
  expect(help.kind === "help" ? wordsOf(help.chain) : null).toEqual(["tool", "agents", "launch"]);
  expect((await parseCommandLine(tree, ["agents", "-h"])).kind).toBe("help");
  expect((await parseCommandLine(tree, ["--version"])).kind).toBe("version");
});
