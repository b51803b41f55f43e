import type { DashboardEvent } from "../../src/cli/dashboard/state.ts";
import type { AgentSnapshot } from "../../src/services/fleet/fleet-list.ts";

/** What the dashboard is given: agents that were seen, a key, and typed text. */
export const fleet = (...snapshots: AgentSnapshot[]): DashboardEvent => ({ kind: "fleet", snapshots });
export const key = (name: string): DashboardEvent => ({ kind: "input", input: { kind: "key", name } });
export const text = (typed: string): DashboardEvent => ({
  kind: "input",
  input: { kind: "text", text: typed },
});
