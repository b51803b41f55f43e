import type { Extension } from "./extension.ts";

/** Other protocols on the way to an agent: ACP, MCP, AG-UI, and the reports of the tools. */
export const bridges: Extension = {
  name: "bridges",
  sources: [
    "cli/acp/",
    "cli/commands/acp",
    "cli/commands/mcp",
    "cli/commands/signal",
    "cli/extensions/bridges",
    "cli/mcp/",
    "cli/stdio-messages",
    "routes/bridges/",
    "services/acp/",
    "services/agui/",
    "services/signals/",
  ],
  gateway: async () => (await import("./bridges-agent.ts")).createBridges,
};
