import { describe, expect, test } from "bun:test";
import { acpProfiles, toAcpTool } from "../../../src/services/sessions/acp-tools.ts";
import { chooseTool, toLaunchTool } from "../../../src/services/sessions/launch-tools.ts";
import { allProfiles, compileProfile } from "../../../src/services/terminal/profiles/profile.ts";

const tools = allProfiles().map((profile) =>
  toLaunchTool(compileProfile(profile), ["/self", "demo-agent"], () => false),
);
const process = (command: string, ...argv: string[]) => ({ pid: 1, parentPid: 0, command, argv });

describe("how a tool is launched", () => {
  test.each([
    { tool: "claude", command: "claude", home: "CLAUDE_CONFIG_DIR", hint: "@anthropic-ai/claude-code" },
    { tool: "codex", command: "codex", home: "CODEX_HOME", hint: "@openai/codex" },
    { tool: "gemini", command: "gemini", home: "GEMINI_CLI_HOME", hint: "@google/gemini-cli" },
    { tool: "opencode", command: "opencode", home: null, hint: "opencode-ai" },
    { tool: "kimi", command: "kimi", home: "KIMI_CODE_HOME", hint: "@moonshot-ai/kimi-code" },
  ])("$tool", ({ tool, command, home, hint }) => {
    const found = chooseTool(tools, tool);
    expect(found.command).toEqual([command]);
    expect(found.homeVariable).toBe(home);
    expect(found.installHint).toContain(hint);
  });

  test("the scripted agent is this very program", () => {
    const demo = chooseTool(tools, "demo");
    expect(demo.command).toEqual(["/self", "demo-agent"]);
    expect(demo.occupies(process("bun", "/self", "demo-agent"))).toBe(true);
  });

  test("Kimi Code over ACP is a command of its program", () => {
    const profile = acpProfiles.find(({ tool }) => tool === "kimi-acp");
    if (!profile) throw new Error("no profile of kimi-acp");
    const found = toAcpTool(profile, ["/self", "demo-agent"]);
    expect(found).toMatchObject({ command: ["kimi", "acp"], homeVariable: "KIMI_CODE_HOME", headless: true });
    expect(found.installHint).toContain("@moonshot-ai/kimi-code");
  });

  test("an unknown tool is refused with those there are", () => {
    expect(() => chooseTool(tools, "cloude")).toThrow(/unknown tool "cloude".*claude.*codex/);
  });
});

test.each(["claude", "codex", "gemini", "opencode", "kimi", "demo"])(
  "the launch script around %s is not taken for it",
  (tool) => {
    const { occupies } = chooseTool(tools, tool);
    expect(occupies(process("sh", "/bin/sh", "/sessions/x/launch-0a1b.sh"))).toBe(false);
    expect(occupies(process("bash", "/bin/bash", "-l"))).toBe(false);
  },
);
