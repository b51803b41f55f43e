import { type Signal, signal } from "@preact/signals";
import type { ScreenEvent } from "../../protocol/console.ts";
import { after } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { applyScreen, noScreen, type ScreenView } from "../state/screen.ts";
import { pathOf } from "./api.ts";
import { followStream } from "./streams.ts";

const views = new Map<string, Signal<ScreenView>>();

/** The picture of one agent's screen: who reads it is drawn again when that screen changes, and only then. */
export function screenOf(id: string): Signal<ScreenView> {
  const known = views.get(id);
  if (known) return known;
  const created = signal(noScreen);
  views.set(id, created);
  return created;
}

/** Scrolling passes many tiles: the stream is opened for those that stay. */
const settleMs = 150;
const maxScreens = 64;

/** Follows the screens of the agents that are visible. Returns what ends it. */
export function followScreens(ids: readonly string[]): () => void {
  if (ids.length === 0) return () => {};
  let end = () => {};
  const cancel = after(settleMs, () => {
    end = followStream({
      address: () =>
        pathOf("screensEvents", {}, atGateway ? {} : { agents: ids.slice(0, maxScreens).join(",") }),
      kinds: ["screen", "screen_absent"],
      onEvent: (data) => {
        const event = data as ScreenEvent;
        const view = screenOf(event.agent_id);
        view.value = applyScreen(view.value, event);
      },
      onState: () => {},
    });
  });
  return () => {
    cancel();
    end();
  };
}
