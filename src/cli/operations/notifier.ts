import type { NotifierStatus, NotifierUpdate } from "../../protocol/notifier.ts";
import { firstNotifierSettings } from "../../services/notifier/config.ts";
import { type AgentCaller, bodyOf, openLiveTarget } from "../agent/target.ts";

/** Wakes the agent when mail arrives. An omitted setting keeps its value, or gets that of a first time. */
export async function enableNotifier(
  caller: AgentCaller,
  settings: Omit<NotifierUpdate, "enabled">,
): Promise<NotifierStatus> {
  const { link } = await openLiveTarget(caller);
  const before = bodyOf(await link.client.call("readNotifier", {}));
  const first = before.interval_seconds === null ? firstNotifierSettings : {};
  const body = { schema_version: 1 as const, enabled: true, ...first, ...settings };
  return bodyOf(await link.client.call("updateNotifier", { body }));
}
