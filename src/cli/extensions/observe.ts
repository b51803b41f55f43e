import type { Extension } from "./extension.ts";

/** The past of agents: transcript, recorder, ledger and budgets, traces, metrics. */
export const observe: Extension = {
  name: "observe",
  sources: [
    "cli/agent-transcript",
    "cli/commands/agent/recorder",
    "cli/commands/agent/transcript",
    "cli/commands/budget",
    "cli/commands/ledger",
    "cli/extensions/observe",
    "cli/fleet-ledger",
    "cli/moment",
    "cli/replay-screen",
    "cli/shipped-recordings",
    "routes/observe/",
    "services/diagnostics/gateway-metrics",
    "services/ledger/",
    "services/recorder/",
    "services/traces/",
    "services/transcript/",
  ],
  gateway: async () => (await import("./observe-agent.ts")).createObserve,
};
