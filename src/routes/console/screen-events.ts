import type { ScreenItem } from "../../services/extensions/console/screens.ts";
import { heartbeat, renderEvent } from "../http/sse.ts";

/** An event of a screen, with its revision as the id. */
export function renderScreen(item: ScreenItem): string {
  if (item.item === "heartbeat") return heartbeat;
  return renderEvent("revision" in item.event ? String(item.event.revision) : "0", item.event);
}
