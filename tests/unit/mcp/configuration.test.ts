import { expect, test } from "bun:test";
import { parse } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { configurationPath, mcpClients, withServer } from "../../../src/cli/mcp/configuration.ts";

const command = ["/opt/svc/svc-gateway", "gateway", "mgr", "mcp", "serve"];

test.each(mcpClients.map((client) => [client]))("the server of %s comes and goes, twice each", (client) => {
  const once = withServer(client, "", command);
  expect(withServer(client, once, command)).toBe(once);
  const moved = withServer(client, once, ["/elsewhere", "serve"]);
  expect(moved).toContain("/elsewhere");
  expect(moved).not.toContain("/opt/svc");
  const without = withServer(client, moved, null);
  expect(without).not.toContain("/elsewhere");
  expect(withServer(client, without, null)).toBe(without);
});

test("comments and what others wrote stay", () => {
  const settings = `{
  // mine
  "theme": "dark",
  "mcpServers": {
    "other": { "command": "other" }, // theirs
  },
}
`;
  const written = withServer("gemini", settings, command);
  expect(written).toContain("// mine");
  expect(written).toContain("// theirs");
  expect(written).toContain('"svc": {');
  const gone = withServer("gemini", written, null);
  expect(gone).toContain("// mine");
  expect(gone).toContain("// theirs");
  expect(parse(gone)).toEqual({ theme: "dark", mcpServers: { other: { command: "other" } } });

  const toml = `# mine
model = "x"

[mcp_servers.other]
command = "other"

[mcp_servers.svc]
command = "old"
[mcp_servers.svc.env]
A = "b"

[profiles.p]
text = """
[mcp_servers.note]
"""
`;
  const next = withServer("codex", toml, command);
  expect(parseToml(next)).toMatchObject({
    model: "x",
    mcp_servers: { other: { command: "other" }, svc: { command: command[0], args: command.slice(1) } },
    profiles: { p: { text: "[mcp_servers.note]\n" } },
  });
  expect(next).toContain("# mine");
  expect(next).not.toContain('A = "b"');
  expect(withServer("codex", next, command)).toBe(next);
});

test.each([
  ["claude", "{"],
  ["claude", "[]"],
  ["gemini", '{"mcpServers": []}'],
  ["opencode", '{"mcp": "x"}'],
  ["codex", "= broken"],
  ["codex", '[mcp_servers]\nsvc = { command = "x" }\n'],
  ["codex", 'note = """\n[mcp_servers.svc]\n"""\n'],
] as const)("a configuration of %s that cannot be changed safely is refused: %j", (client, text) => {
  expect(() => withServer(client, text, command)).toThrow();
});

test("a variable of the tool that is an absolute path names its folder", () => {
  const facts = { env: {}, cwd: "/project", home: "/home/me" };
  expect(mcpClients.map((client) => configurationPath(client, "user", facts))).toEqual([
    "/home/me/.claude.json",
    "/home/me/.codex/config.toml",
    "/home/me/.gemini/settings.json",
    "/home/me/.config/opencode/opencode.json",
  ]);
  expect(mcpClients.map((client) => configurationPath(client, "project", facts))).toEqual([
    "/project/.mcp.json",
    "/project/.codex/config.toml",
    "/project/.gemini/settings.json",
    "/project/opencode.json",
  ]);
  const env = { CODEX_HOME: "/c", CLAUDE_CONFIG_DIR: "relative" };
  expect(configurationPath("codex", "user", { ...facts, env })).toBe("/c/config.toml");
  expect(configurationPath("claude", "user", { ...facts, env })).toBe("/home/me/.claude.json");
});
