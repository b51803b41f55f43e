import type { MaintenanceAction } from "../../../protocol/mailbox-admin.ts";
import type { MaintenanceResult } from "../../../services/mail/filesystem/maintenance.ts";
import { renderTable } from "../../format.ts";

/** More artifacts of one kind are counted instead of listed. */
const listedAtMost = 20;

/** What was or would be done, for people. Pure. */
export function renderMaintenance(result: MaintenanceResult): string {
  const done = result.dry_run ? result.planned_actions : result.applied_actions;
  const rows = [
    ...rowsOf(result.dry_run ? "would remove" : "removed", done),
    ...rowsOf("BLOCKED", result.blocked_actions),
    ...rowsOf("kept", result.preserved_actions),
  ];
  const { planned_count, applied_count, blocked_count, preserved_count } = result.summary;
  const last = result.dry_run
    ? `Nothing was changed. Would remove ${planned_count}, blocked ${blocked_count}, keep ${preserved_count}.`
    : `Removed ${applied_count} of ${planned_count}, blocked ${blocked_count}, kept ${preserved_count}.`;
  return rows.length === 0 ? last : `${renderTable(["", "WHAT", "WHERE", "WHY"], rows)}\n\n${last}`;
}

function rowsOf(word: string, actions: readonly MaintenanceAction[]): string[][] {
  const kinds = Map.groupBy(actions, (action) => action.artifact_kind);
  return [...kinds].flatMap(([kind, some]) => {
    const what = kind.replaceAll("_", " ");
    const rows = some
      .slice(0, listedAtMost)
      .map((one) => [word, what, String(one.details["address"] ?? one.path), one.reason]);
    const more = some.length - rows.length;
    return more > 0 ? [...rows, [word, what, `and ${more} more`, ""]] : rows;
  });
}
