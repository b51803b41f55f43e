import { describe, expect, test } from "bun:test";
import { readHomes, skillHome, skillTools } from "../../../src/services/skills/ownership.ts";

describe("where a tool's skills live", () => {
  const facts = { named: null, env: {}, cwd: "/project", home: "/home/ann" };
  test.each([
    ["claude", {}, "/project/.claude"],
    ["claude", { CLAUDE_CONFIG_DIR: "/else" }, "/else"],
    ["codex", { CODEX_HOME: "/codex" }, "/codex"],
    ["gemini", {}, "/project/.gemini"],
    ["gemini", { GEMINI_CLI_HOME: "/else" }, "/else/.gemini"],
    ["opencode", {}, "/project/.opencode"],
    ["copilot", {}, "/project/.github"],
    ["kimi", {}, "/project/.kimi-code"],
    ["universal", {}, "/home/ann/.agents"],
  ] as const)("%s with %p: %s", (tool, env, path) => {
    expect(skillHome(tool, { ...facts, env })).toBe(path);
  });

  test("a named home wins, a relative variable is an error", () => {
    expect(skillHome("claude", { ...facts, named: "/named", env: { CLAUDE_CONFIG_DIR: "x" } })).toBe(
      "/named",
    );
    expect(() => skillHome("claude", { ...facts, env: { CLAUDE_CONFIG_DIR: "x" } })).toThrow("absolute");
  });

  // As the lab saw the pinned versions read them (tests/live/README.md).
  test.each([
    ["claude", {}, ["/home/ann/.claude", "/project/.claude"]],
    ["claude", { CLAUDE_CONFIG_DIR: "/else" }, ["/else", "/project/.claude"]],
    [
      "codex",
      { CODEX_HOME: "x" },
      ["/home/ann/.codex", "/project/.codex", ...["/home/ann", "/project"].map((at) => `${at}/.agents`)],
    ],
    [
      "gemini",
      { GEMINI_CLI_HOME: "/else" },
      ["/else/.gemini", "/project/.gemini", "/else/.agents", "/project/.agents"],
    ],
    [
      "opencode",
      {},
      ["/home/ann/.config/opencode", "/project/.opencode", "/home/ann/.opencode"].concat([
        "/home/ann/.claude",
        "/project/.claude",
        "/home/ann/.agents",
        "/project/.agents",
      ]),
    ],
    ["universal", {}, ["/home/ann/.agents"]],
    ["mine", {}, ["/home/ann/.mine", "/project/.mine", "/home/ann/.agents", "/project/.agents"]],
  ] as const)("%s with %p reads %p", (tool, env, paths) => {
    expect(readHomes(tool, { ...facts, env })).toEqual([...paths]);
  });

  test.each(skillTools)("%s reads what is installed for it", (tool) => {
    expect(readHomes(tool, facts)).toContain(skillHome(tool, facts));
  });
});
