import type { NotifierStatus } from "../../../protocol/notifier.ts";
import { renderPairs } from "../../format.ts";

/** The notifier's status for people. Pure. */
export function notifierText(status: NotifierStatus): string {
  const { quiet_hours: quiet } = status;
  return renderPairs([
    ["notifier", status.enabled ? `enabled, every ${status.interval_seconds} s` : "disabled"],
    ["supported", status.supported ? "yes" : `no: ${status.support_error}`],
    ["mode", status.mode],
    ["guidance", status.appendix_text === "" ? null : `${status.appendix_text.length} characters`],
    ["context error", status.context_error_policy],
    ["before a wake-up", status.pre_notification_context_action],
    ["notices", `${status.notify_block_render}, ${status.notify_block_auth_mode}`],
    ["verifier", status.notify_block_auth_verifier],
    ["wake policy", status.wake_policy],
    ["least gap", status.min_gap_seconds === 0 ? null : `${status.min_gap_seconds} s`],
    ["quiet hours", quiet && `${quiet.start}-${quiet.end} ${quiet.time_zone}`],
    ["last poll", status.last_poll_at_utc ?? "never"],
    ["last wake-up", status.last_notification_at_utc ?? "never"],
    ["last error", status.last_error],
  ]);
}
