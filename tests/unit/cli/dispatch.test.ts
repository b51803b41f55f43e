import { describe, expect, test } from "bun:test";
import { command, group, UsageError } from "../../../src/cli/command-line/command.ts";
import { CommandFailure, runProgram } from "../../../src/cli/command-line/dispatch.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { createFakeIo } from "../../support/fake-io.ts";

const outcomes: Record<string, () => Promise<{ json: unknown; text: string; exitCode?: number } | number>> = {
  answer: async () => ({ json: { b: 1, a: [{ d: 2, c: 3 }] }, text: "a line" }),
  "failed-check": async () => ({ json: { healthy: false }, text: "no", exitCode: 1 }),
  code: async () => 7,
  refused: async () => {
    throw new ServiceError("conflict", "it runs already", { data: { agent_ids: ["x"] } });
  },
  unreachable: async () => {
    throw new ServiceError("unavailable", "nobody answers");
  },
  invalid: async () => {
    throw new ServiceError("invalid_request", "a bad name");
  },
  usage: async () => {
    throw new UsageError("give one");
  },
  failure: async () => {
    throw new CommandFailure(3, "no gateway", { detail: { error_code: "pending_input" } });
  },
  bug: async () => {
    throw new TypeError("x is\n undefined");
  },
  forbidden: async () => {
    throw Object.assign(new Error("EACCES"), { code: "EACCES", syscall: "mkdir", path: "/elsewhere" });
  },
};

const root = group({
  name: "prog",
  description: "A program.",
  examples: ["prog answer"],
  args: { "some-root": { type: "string", description: "a folder", valueHint: "DIR" } },
  subCommands: Object.fromEntries(
    Object.entries(outcomes).map(([name, run]) => [
      name,
      async () => command({ name, description: `does ${name}`, examples: [`prog ${name}`], run }),
    ]),
  ),
});

async function run(argv: readonly string[], io = createFakeIo()) {
  const version = async () => ({ version: "1.2.3", commit: "abc1234", bun: "9.8.7" });
  const code = await runProgram(root, version, argv, io);
  return { code, out: io.out, err: io.err };
}

describe("exit codes and where words go", () => {
  test.each([
    { id: "an answer is 0, on stdout", argv: ["answer"], want: { code: 0, out: "a line\n", err: "" } },
    {
      id: "an answer that says no keeps its code",
      argv: ["failed-check"],
      want: { code: 1, out: "no\n", err: "" },
    },
    { id: "a command may write its own output", argv: ["code"], want: { code: 7, out: "", err: "" } },
    {
      id: "a refusal is 1, on stderr",
      argv: ["refused"],
      want: { code: 1, out: "", err: "Error: it runs already\n" },
    },
    {
      id: "unreachable is 3",
      argv: ["unreachable"],
      want: { code: 3, out: "", err: "Error: nobody answers\n" },
    },
    { id: "a bad value is 2", argv: ["invalid"], want: { code: 2, out: "", err: "Error: a bad name\n" } },
    { id: "a misuse is 2", argv: ["usage"], want: { code: 2, out: "", err: "Error: give one\n" } },
    {
      id: "a command may end with a code",
      argv: ["failure"],
      want: { code: 3, out: "", err: "Error: no gateway\n" },
    },
    { id: "a bug shows no stack", argv: ["bug"], want: { code: 1, out: "", err: "Error: x is undefined\n" } },
    {
      id: "an unknown word points to the help",
      argv: ["answr"],
      want: {
        code: 2,
        out: "",
        err: 'Error: unknown command "answr"; did you mean "answer"?\nSee: prog --help\n',
      },
    },
    { id: "the version", argv: ["--version"], want: { code: 0, out: "1.2.3 (abc1234)\n", err: "" } },
    {
      id: "the version as a document",
      argv: ["--version", "--json"],
      want: {
        code: 0,
        out: '{\n  "bun": "9.8.7",\n  "commit": "abc1234",\n  "version": "1.2.3"\n}\n',
        err: "",
      },
    },
  ])("$id", async ({ argv, want }) => {
    expect(await run(argv)).toEqual(want);
  });
});

describe("with --json", () => {
  test("an answer is one document, indented by two, keys sorted", async () => {
    const { out } = await run(["answer", "--json"]);
    expect(out).toBe('{\n  "a": [\n    {\n      "c": 3,\n      "d": 2\n    }\n  ],\n  "b": 1\n}\n');
  });

  test.each([
    {
      id: "a refusal",
      argv: ["refused", "--json"],
      want: { error: "conflict", detail: "it runs already", agent_ids: ["x"] },
    },
    {
      id: "a misuse",
      argv: ["--json", "answr"],
      want: { error: "usage", detail: 'unknown command "answr"; did you mean "answer"?' },
    },
    {
      id: "what a gateway said",
      argv: ["failure", "--json"],
      want: { detail: { error_code: "pending_input" } },
    },
    {
      id: "a file that cannot be used is named, as the operating system names it",
      argv: ["forbidden", "--json"],
      want: { error: "storage", detail: expect.stringMatching(/^\/elsewhere cannot be used: .*\(EACCES\)$/) },
    },
    { id: "a bug", argv: ["bug", "--json"], want: { error: "internal", detail: "x is undefined" } },
  ])("an error is one document on stderr: $id", async ({ argv, want }) => {
    const { out, err } = await run(argv);
    expect(out).toBe("");
    expect(JSON.parse(err)).toEqual(want);
  });
});

describe("a reader that has gone", () => {
  test("ends the command as done, whatever it had to say", async () => {
    const gone = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
    const io = createFakeIo({ writeOut: () => Promise.reject(gone) });
    expect(await run(["answer"], io)).toMatchObject({ code: 0, err: "" });
    expect(await run(["--help"], io)).toMatchObject({ code: 0, err: "" });
  });
});

describe("help", () => {
  test("of a group: its commands, its flags, an example", async () => {
    const { code, out } = await run(["--help"]);
    expect(code).toBe(0);
    expect(out).toStartWith("A program.\n\nUsage:\n  prog <command> [options]\n");
    expect(out).toContain("  answer        does answer\n");
    expect(out).toContain("  --some-root DIR  a folder\n");
    expect(out).toContain("Examples:\n  prog answer\n");
  });

  test("of a leaf: the flags of the groups above too, and no colour", async () => {
    const { out } = await run(["answer", "--help"]);
    expect(out).toContain("Usage:\n  prog answer [options]\n");
    expect(out).toContain("--some-root DIR");
    expect(out).toContain("-h, --help");
    expect(out).not.toContain("\u001b");
  });
});
