import { dirname, relative } from "node:path";
import { ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { openCliContext } from "../command-line/cli-context.ts";
import { command, type Flags, type Invocation, UsageError } from "../command-line/command.ts";
import { exitCodes } from "../command-line/dispatch.ts";
import { selfCommand } from "../command-line/version.ts";
import { configurationPath, type McpClient, mcpClients, withServer } from "../mcp/configuration.ts";

const serve = command({
  name: "serve",
  description:
    "serve MCP on standard input and output: an agent's own tools for the agents beside it, their answers and its mail",
  examples: ["svc-mgr mcp serve"],
  async run({ io, inherited }) {
    const { serveMcp } = await import("../mcp/server.ts");
    await serveMcp({ io, inherited });
    return exitCodes.done;
  },
});

const clientFlags = {
  tool: {
    type: "string",
    description: `whose configuration: ${mcpClients.join(", ")}; several with commas; default: all`,
    valueHint: "TOOL[,TOOL]",
  },
  scope: {
    type: "enum",
    options: ["user", "project"],
    description: "your own configuration, or that of the project in this folder",
    default: "user",
  },
} as const satisfies Flags;

const install = command({
  name: "install",
  description: "write the MCP server of svc into a tool's configuration; all else in it stays as it is",
  examples: ["svc-mgr mcp install", "svc-mgr mcp install --tool claude,codex --scope project"],
  args: clientFlags,
  run: (invocation) => configure(invocation, [...selfCommand(), "mgr", "mcp", "serve"]),
});

const uninstall = command({
  name: "uninstall",
  description: "take the MCP server of svc out of a tool's configuration",
  examples: ["svc-mgr mcp uninstall --tool claude"],
  args: clientFlags,
  run: (invocation) => configure(invocation, null),
});

export const mcpCommands = { serve, install, uninstall };

/** The same in `svc`. */
export const shortMcp = command({
  name: "mcp",
  description: "serve MCP on standard input and output; `install` and `uninstall` configure the tools",
  examples: ["svc mcp", "svc mcp install", "svc mcp install claude,codex", "svc mcp uninstall"],
  args: {
    action: {
      type: "positional",
      required: false,
      description: "serve, install or uninstall",
      words: ["serve", "install", "uninstall"],
    },
    tool: { type: "positional", required: false, description: mcpClients.join(", "), words: mcpClients },
  },
  async run(invocation) {
    const { action = "serve", tool } = invocation.args;
    if (action === "install") return install.call(invocation, { tool });
    if (action === "uninstall") return uninstall.call(invocation, { tool });
    if (action !== "serve")
      throw new UsageError(`say serve, install or uninstall, not "${action}"`, invocation.path);
    if (tool !== undefined) throw new UsageError(`unexpected "${tool}"`, invocation.path);
    return serve.call(invocation, {});
  },
});

interface Configured {
  tool: McpClient;
  path: string;
  outcome: "written" | "unchanged";
}

/** Each configuration is read and planned before the first is written. */
async function configure(
  { args, io, inherited }: Invocation<typeof clientFlags>,
  server: readonly string[] | null,
) {
  const { files } = openCliContext(io, inherited);
  const scope = args.scope as "user" | "project";
  const planned = clientsOf(args.tool).map((tool) => {
    const path = configurationPath(tool, scope, io);
    // The folders of a project are its author's: a link there could lead to a file of the user's.
    const project = scope === "project" ? io.cwd : null;
    return { tool, path, ...planOne(files, { tool, path, project }, server) };
  });
  for (const { path, before, after } of planned) {
    if (after === before) continue;
    files.ensureDirectory("folder:mcp-configuration", dirname(path));
    files.write("file:mcp-configuration", path, after);
  }
  const results = planned.map(
    ({ tool, path, before, after }): Configured => ({
      tool,
      path,
      outcome: after === before ? "unchanged" : "written",
    }),
  );
  const text = results.map(({ tool, path, outcome }) => `${tool}: ${outcome}: ${path}`).join("\n");
  return { json: { schema_version: 1, command: server, results }, text };
}

/**
 * Throws for a file behind a link. `project`: the folder below which the whole way to the file must be free
 * of links.
 */
function planOne(
  files: Files,
  { tool, path, project }: { tool: McpClient; path: string; project: string | null },
  server: readonly string[] | null,
) {
  try {
    if (project !== null) files.contained(project, relative(project, path), "file");
    if (files.isLink(path)) throw new ServiceError("precondition_failed", "it is a link; name its target");
    const before = files.read(path, { owner: "anyone" }) ?? "";
    return { before, after: withServer(tool, before, server) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw wrapRefusal(error, error.reason, (why) => `${path} was left as it is: ${why}`);
  }
}

function clientsOf(words: string | undefined): McpClient[] {
  if (words === undefined) return [...mcpClients];
  return words.split(",").map((word) => {
    const client = mcpClients.find((one) => one === word.trim());
    if (client === undefined)
      throw new UsageError(`--tool: "${word}" is none of ${mcpClients.join(", ")}`, []);
    return client;
  });
}
