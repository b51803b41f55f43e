import type { Extension } from "./extension.ts";

/** The browser's view of agents, their screens and their live terminals. */
export const console: Extension = {
  name: "console",
  sources: [
    "cli/commands/console",
    "cli/console-archive",
    "cli/extensions/console",
    "console/",
    "routes/console/",
    "services/console/",
  ],
  gateway: async () => () => ({
    open: async (gateway) => (await import("./console-gateway.ts")).openConsole(gateway),
  }),
};
