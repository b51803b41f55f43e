import { describe, expect, test } from "bun:test";
import { command, group } from "../../../src/cli/command-line/command.ts";
import { completeLine, splitTypedLine } from "../../../src/cli/command-line/completion.ts";

describe("a line as it is typed", () => {
  test.each<{ line: string; words: string[]; current: string }>([
    { line: "svc-mgr agents ", words: ["svc-mgr", "agents"], current: "" },
    { line: "svc-mgr  age", words: ["svc-mgr"], current: "age" },
    { line: `x --name 'a b' "c d`, words: ["x", "--name", "a b"], current: "c d" },
    { line: String.raw`x a\ b "q\"$x" c\d`, words: ["x", "a b", 'q"$x'], current: "cd" },
    { line: `x "" '`, words: ["x", ""], current: "" },
    { line: "x $(rm -rf y) z", words: ["x", "$(rm", "-rf", "y)"], current: "z" },
  ])("$line", ({ line, words, current }) => {
    expect(splitTypedLine(line)).toEqual({ words, current });
  });
});

const root = group({
  name: "prog",
  description: "a program",
  examples: [],
  args: { root: { type: "string", description: "a folder", hidden: true } },
  subCommands: {
    send: async () =>
      command({
        name: "send",
        description: "send it",
        examples: [],
        args: {
          to: { type: "string", multiple: true, description: "whom", offers: "addresses" },
          box: { type: "enum", options: ["inbox", "sent"], description: "where" },
          body: { type: "string", description: "text", valueHint: "FILE" },
          now: { type: "boolean", alias: "n", description: "at once" },
          whom: { type: "positional", description: "who", offers: "agent-names", required: false },
        },
        run: async () => 0,
      }),
    ask: async () =>
      command({
        name: "ask",
        description: "ask it",
        examples: [],
        args: {
          whom: { type: "positional", description: "who", offers: "agent-names" },
          text: { type: "positional", many: true, verbatim: true, description: "what" },
        },
        run: async () => 0,
      }),
    hidden: async () =>
      group({ name: "hidden", description: "", examples: [], hidden: true, subCommands: {} }),
  },
});

describe("completion", () => {
  const asked: [string, Readonly<Record<string, string>>][] = [];
  const complete = async (line: string) => {
    const { words, current } = splitTypedLine(line);
    asked.length = 0;
    const { candidates, paths } = await completeLine(root, words, current, async (what, given) => {
      asked.push([what, given]);
      return ["ann@x", "bob@x", "bob@x", "two\nlines"].map((value) => ({ value, description: "" }));
    });
    return [candidates.map(({ value }) => value).join(" "), paths];
  };
  test.each<{ line: string; want: [string, string | null] }>([
    { line: "", want: ["send ask", null] },
    { line: "ask ", want: ["ann@x bob@x", null] },
    { line: "ask --", want: ["--help --version --json", null] },
    { line: "ask ann ", want: ["", null] },
    { line: "ask ann --js", want: ["", null] },
    { line: "ask ann send --", want: ["", null] },
    { line: "send --", want: ["--help --version --json --to --box --body --now", null] },
    { line: "send --now --box sent --", want: ["--help --version --json --to --body", null] },
    { line: "send -n --to a --t", want: ["--to", null] },
    { line: "send --box ", want: ["inbox sent", null] },
    { line: "send --box=s", want: ["--box=sent", null] },
    { line: "send --now=", want: ["", null] },
    { line: "send --unknown=", want: ["", null] },
    { line: "send --body ", want: ["", "files"] },
    { line: "send --to ", want: ["ann@x bob@x", null] },
    { line: "send --to=b", want: ["--to=bob@x", null] },
    { line: "send ", want: ["ann@x bob@x", null] },
    { line: "send ann --unknown ", want: ["--help --version --json --to --box --body --now", null] },
    { line: "send -- ", want: ["", "files"] },
    { line: "nonsense ", want: ["send ask", null] },
  ])("of `$line`", async ({ line, want }) => {
    expect(await complete(line)).toEqual(want);
  });

  test("looks at nothing that is not wanted, and where the line says", async () => {
    await complete("send --box s");
    expect(asked).toEqual([]);
    await complete("--root /other send --to a");
    expect(asked).toEqual([["addresses", { root: "/other", to: "" }]]);
  });
});
