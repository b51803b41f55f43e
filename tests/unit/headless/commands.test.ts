import { describe, expect, test } from "bun:test";
import type { ProviderSession, ProviderTurn } from "../../../src/services/headless/provider.ts";
import { headlessProvider } from "../../../src/services/headless/providers.ts";
import { providerOf } from "./recorded-streams.ts";

const secret = "the prompt\nof two lines --help";

function turn(some: Partial<ProviderTurn> = {}): ProviderTurn {
  return {
    prompt: secret,
    session: { mode: "new" },
    model: null,
    executable: "/bin/tool",
    args: ["--yes"],
    rolePrompt: null,
    promptFile: "/state/turn 1/prompt.txt",
    ...some,
  };
}

const fresh: ProviderSession = { mode: "new" };
const exact: ProviderSession = { mode: "exact", id: "s1" };
const last: ProviderSession = { mode: "tool_last_or_new" };

const table: { id: string; tool: string; given: Partial<ProviderTurn>; argv: string }[] = [
  {
    id: "claude begins anew",
    tool: "claude",
    given: { session: fresh },
    argv: "/bin/tool --yes -p --output-format stream-json --verbose",
  },
  {
    id: "claude resumes by id",
    tool: "claude",
    given: { session: exact },
    argv: "/bin/tool --yes -p --output-format stream-json --verbose --resume s1",
  },
  {
    id: "claude goes on with the last conversation, its role with it",
    tool: "claude",
    given: { session: last, rolePrompt: "ROLE" },
    argv: "/bin/tool --yes -p --output-format stream-json --verbose --continue --append-system-prompt ROLE",
  },
  {
    id: "claude takes a model and its level for this turn",
    tool: "claude",
    given: { model: { name: "sonnet", level: 9 } },
    argv: "/bin/tool --yes --model sonnet --effort high -p --output-format stream-json --verbose",
  },
  {
    id: "codex begins anew and reads the prompt where the dash stands",
    tool: "codex",
    given: { session: fresh },
    argv: "/bin/tool --yes exec --json --skip-git-repo-check -",
  },
  {
    id: "codex resumes by id",
    tool: "codex",
    given: { session: exact },
    argv: "/bin/tool --yes exec --json --skip-git-repo-check resume s1 -",
  },
  {
    id: "codex goes on with the last conversation",
    tool: "codex",
    given: { session: last },
    argv: "/bin/tool --yes exec --json --skip-git-repo-check resume --last -",
  },
  {
    id: "codex takes model, level and role as configuration",
    tool: "codex",
    given: { model: { name: "m", level: 1 }, rolePrompt: 'a "role"\n' },
    argv:
      '/bin/tool --yes --config=model="m" --config=model_reasoning_effort="low" ' +
      '--config=developer_instructions="a \\"role\\"\\n" exec --json --skip-git-repo-check -',
  },
  {
    id: "gemini begins anew",
    tool: "gemini",
    given: { session: fresh },
    argv: "/bin/tool --yes --output-format stream-json",
  },
  {
    id: "gemini resumes by id, with a model",
    tool: "gemini",
    given: { session: exact, model: { name: "flash", level: null } },
    argv: "/bin/tool --yes --model flash --resume s1 --output-format stream-json",
  },
  {
    id: "gemini goes on with the latest conversation",
    tool: "gemini",
    given: { session: last },
    argv: "/bin/tool --yes --resume latest --output-format stream-json",
  },
  {
    id: "opencode runs, the launch's arguments behind the verb",
    tool: "opencode",
    given: { session: fresh },
    argv: "/bin/tool run --yes --format json",
  },
  {
    id: "opencode resumes by id, with a model",
    tool: "opencode",
    given: { session: exact, model: { name: "mock/m", level: null } },
    argv: "/bin/tool run --yes --format json --model mock/m --session s1",
  },
  {
    id: "opencode goes on with the last conversation",
    tool: "opencode",
    given: { session: last },
    argv: "/bin/tool run --yes --format json --continue",
  },
  {
    id: "demo resumes by id, with a model and reasoning off",
    tool: "demo",
    given: { session: exact, model: { name: "m", level: 0 } },
    argv: "/bin/tool --yes --headless --model m --effort none --resume s1",
  },
];

describe("the command of a turn", () => {
  test.each(table)("$id", ({ tool, given, argv }) => {
    const command = providerOf(tool).command(turn(given));
    expect(command.argv.join(" ")).toBe(argv);
  });

  test.each(["claude", "codex", "gemini", "opencode", "demo"])(
    "%s gets its prompt by standard input only",
    (tool) => {
      for (const session of [fresh, exact, last]) {
        const { argv, stdin } = providerOf(tool).command(turn({ session }));
        expect(stdin).toBe(secret);
        expect(argv.join("\0")).not.toContain("the prompt");
      }
    },
  );

  test("kimi gets its prompt and its role in a file that its argument names", () => {
    const given = turn({ session: fresh, rolePrompt: "ROLE", args: ["--auto", "--yes"] });
    const { argv, stdin, promptFile } = providerOf("kimi").command(given);
    expect(argv.slice(0, -1)).toEqual(["/bin/tool", "--yes", "--output-format", "stream-json", "-p"]);
    expect(argv.at(-1)).toContain('"/state/turn 1/prompt.txt"');
    expect({ stdin, promptFile }).toEqual({ stdin: null, promptFile: `ROLE\n\n${secret}` });
  });

  test.each([
    { session: exact, argv: "/bin/tool --yes --session s1 --output-format stream-json -p" },
    { session: last, argv: "/bin/tool --yes --continue --output-format stream-json -p" },
  ])("kimi goes on: $argv", ({ session, argv }) => {
    const command = providerOf("kimi").command(turn({ session, rolePrompt: "ROLE" }));
    expect(command.argv.slice(0, -1).join(" ")).toBe(argv);
    expect(command.promptFile).toBe(secret);
  });

  test.each(["gemini", "opencode", "demo"])(
    "%s gets its role before the first prompt of a conversation",
    (tool) => {
      const provider = providerOf(tool);
      expect(provider.command(turn({ rolePrompt: "ROLE" })).stdin).toBe(`ROLE\n\n${secret}`);
      expect(provider.command(turn({ rolePrompt: "ROLE", session: exact })).stdin).toBe(secret);
    },
  );

  test("a tool without a print mode has no provider", () => {
    expect(headlessProvider("vi")).toBeNull();
  });
});
