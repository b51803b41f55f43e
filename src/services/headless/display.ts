import type { CanonicalEvent, DisplayDetail, DisplayStyle } from "../../protocol/turns.ts";

/** How a pane shows a turn's events. */
export interface Display {
  style: DisplayStyle;
  detail: DisplayDetail;
}

/** The text an event writes to the pane, newline included; empty when this style does not show it. */
export function renderEvent(event: CanonicalEvent, _display: Display): string {
  return `${event.message}\n`;
}
