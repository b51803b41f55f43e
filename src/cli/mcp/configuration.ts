import { isAbsolute, join } from "node:path";
import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import type { HomeFacts } from "../../services/skills/ownership.ts";
import { ServiceError } from "../../system/errors.ts";

/** CLIs whose list of MCP servers `mcp install` writes. Measured with the versions of the lab. */
export const mcpClients = ["claude", "codex", "gemini", "opencode"] as const;
export type McpClient = (typeof mcpClients)[number];

const serverName = "svc";

/**
 * Variables that identify the session and the folders of svc. Codex passes only named variables to its
 * servers.
 */
const sessionVariables = [
  "SVC_MANIFEST_PATH",
  "SVC_AGENT_ID",
  "SVC_GLOBAL_REGISTRY_DIR",
  "SVC_GLOBAL_RUNTIME_DIR",
  "SVC_GLOBAL_MAILBOX_DIR",
  "SVC_PROJECT_OVERLAY_DIR",
  "SVC_PROJECT_OVERLAY_DISCOVERY_MODE",
  "TMUX",
  "TMUX_PANE",
  "TMUX_TMPDIR",
  "XDG_STATE_HOME",
];

/**
 * The file with a client's servers, of the user or of the project in `cwd`. A variable that is no absolute
 * path is ignored.
 */
export function configurationPath(
  client: McpClient,
  scope: "user" | "project",
  { env, cwd, home }: HomeFacts,
): string {
  const folder = (variable: string, otherwise: string) => {
    const value = env[variable];
    return value !== undefined && isAbsolute(value) ? value : otherwise;
  };
  switch (client) {
    case "claude":
      return scope === "project"
        ? join(cwd, ".mcp.json")
        : join(folder("CLAUDE_CONFIG_DIR", home), ".claude.json");
    case "codex":
      return scope === "project"
        ? join(cwd, ".codex", "config.toml")
        : join(folder("CODEX_HOME", join(home, ".codex")), "config.toml");
    case "gemini":
      return join(scope === "project" ? cwd : folder("GEMINI_CLI_HOME", home), ".gemini", "settings.json");
    case "opencode":
      return scope === "project"
        ? join(cwd, "opencode.json")
        : join(
            folder("OPENCODE_CONFIG_DIR", join(folder("XDG_CONFIG_HOME", join(home, ".config")), "opencode")),
            "opencode.json",
          );
  }
}

/**
 * The configuration with our server, started by `command`, or without it when `command` is null. The rest
 * stays, comments too; an unchanged configuration is the same text. Throws `precondition_failed` for a text
 * that cannot be parsed. Pure.
 */
export function withServer(client: McpClient, text: string, command: readonly string[] | null): string {
  return client === "codex" ? editToml(text, command) : editJson(client, text, command);
}

function editJson(
  client: Exclude<McpClient, "codex">,
  text: string,
  command: readonly string[] | null,
): string {
  const errors: ParseError[] = [];
  const present: unknown = parse(text.trim() === "" ? "{}" : text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) throw unreadable(`${printParseErrorCode(first.error)} at character ${first.offset + 1}`);
  if (typeof present !== "object" || present === null || Array.isArray(present)) {
    throw unreadable("it is no JSON object");
  }
  const [list, server] = toJsonEntry(client, command);
  const servers = (present as Record<string, unknown>)[list];
  if (servers !== undefined && (typeof servers !== "object" || servers === null || Array.isArray(servers))) {
    throw unreadable(`${list} is no object`);
  }
  const before = (servers as Record<string, unknown> | undefined)?.[serverName];
  if (JSON.stringify(before) === JSON.stringify(server)) return text;
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol: "\n" };
  const source = text.trim() === "" ? "{}\n" : text;
  return applyEdits(source, modify(source, [list, serverName], server, { formattingOptions }));
}

function toJsonEntry(
  client: Exclude<McpClient, "codex">,
  command: readonly string[] | null,
): ["mcpServers" | "mcp", object | undefined] {
  const list = client === "opencode" ? "mcp" : "mcpServers";
  if (command === null) return [list, undefined];
  const [program, ...args] = command;
  if (client === "opencode") return [list, { type: "local", command: [...command], enabled: true }];
  if (client === "claude") return [list, { type: "stdio", command: program, args }];
  return [list, { command: program, args }];
}

const tableHeader = /^\s*\[+\s*([^\]]*?)\s*\]+\s*(?:#.*)?$/;

function editToml(text: string, command: readonly string[] | null): string {
  const others = readToml(text);
  // Our table ends at the next header that is not below it.
  const kept: string[] = [];
  let inOurs = false;
  for (const line of text.split("\n")) {
    const header = tableHeader.exec(line)?.[1]?.replaceAll(/["'\s]/g, "");
    if (header !== undefined) {
      inOurs = header === `mcp_servers.${serverName}` || header.startsWith(`mcp_servers.${serverName}.`);
    }
    if (!inOurs) kept.push(line);
  }
  const without = kept.join("\n").trimEnd();
  const [program, ...args] = command ?? [];
  const block = [
    `[mcp_servers.${serverName}]`,
    `command = ${JSON.stringify(program)}`,
    `args = ${JSON.stringify(args)}`,
    `env_vars = ${JSON.stringify(sessionVariables)}`,
  ].join("\n");
  const parts = command === null ? [without] : [without, block];
  const next = `${parts.filter((part) => part !== "").join("\n\n")}\n`;
  const result = next.trim() === "" ? "" : next;
  // An inline table or a header inside a long text would break: the result must parse to all other values and
  // ours.
  if (JSON.stringify(withoutOurs(readToml(result))) !== JSON.stringify(withoutOurs(others))) {
    throw unreadable(`mcp_servers.${serverName} is in it in a form that is not ours; remove it by hand`);
  }
  const served = serversIn(readToml(result))[serverName] !== undefined;
  if (served !== (command !== null)) {
    throw unreadable(`mcp_servers.${serverName} is in it in a form that is not ours; remove it by hand`);
  }
  return result.trim() === text.trim() ? text : result;
}

function readToml(text: string): Record<string, unknown> {
  try {
    return parseToml(text) as Record<string, unknown>;
  } catch (error) {
    const { line } = error as { line?: unknown };
    throw unreadable(typeof line === "number" ? `line ${line} is no TOML` : "it is no TOML");
  }
}

const serversIn = ({ mcp_servers: servers }: Record<string, unknown>): Record<string, unknown> =>
  typeof servers === "object" && servers !== null ? (servers as Record<string, unknown>) : {};

/** The configuration without our server; an empty list of servers counts as none. */
function withoutOurs(all: Record<string, unknown>): object {
  const { [serverName]: _ours, ...servers } = serversIn(all);
  const { mcp_servers: _servers, ...others } = all;
  return Object.keys(servers).length === 0 ? others : { ...others, servers };
}

const unreadable = (why: string) => new ServiceError("precondition_failed", why);
