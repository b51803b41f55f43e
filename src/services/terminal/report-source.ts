import type { ToolReport } from "../../protocol/tool-report.ts";
import type { Lifecycle } from "../../system/lifecycle.ts";

/**
 * Where a gateway gets its agent's reports from. A report may come late, twice, never, out of order, or from
 * another session than the one in the pane; its user decides what that means.
 */
export interface ReportSource extends Lifecycle {
  /**
   * Calls `listener` once for each report `id`, in the order of arrival; reports from before `start` come
   * first.
   */
  subscribe(listener: (report: ToolReport) => void): () => void;
  /**
   * Why there are no reports (`--no-signals`, a joined agent, a tool without a way), or null when they may
   * come.
   */
  absence(): string | null;
}
