import { signal } from "@preact/signals";
import { recall, remember } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { formatRoute, parseRoute, type Route } from "../state/route.ts";
import type { Answer, Refusal } from "./api.ts";

/** Where the reader is and what lies over the page. */

export const route = signal<Route>(routeOf(location.hash));

/** A gateway has its agent, which is its home, and what waits there. */
function routeOf(fragment: string): Route {
  const named = parseRoute(fragment);
  if (!atGateway || named.screen === "agent" || fragment.startsWith("#/needs-you")) return named;
  return { screen: "agent", agent: "", tab: "terminal" };
}

export function startRouter(): () => void {
  const follow = () => {
    route.value = routeOf(location.hash);
  };
  addEventListener("hashchange", follow);
  // The address may have changed between the first drawing and now.
  if (formatRoute(route.value) !== formatRoute(routeOf(location.hash))) follow();
  return () => removeEventListener("hashchange", follow);
}

export function go(next: Route): void {
  location.hash = formatRoute(next);
}

/** Changes the address without a step in the history of the browser: for what is typed and for the cursor. */
export function replaceRoute(next: Route): void {
  history.replaceState(null, "", formatRoute(next));
  route.value = next;
}

// ---- Colours
// -----------------------------------------------------------------------------------------------------

type Theme = "system" | "light" | "dark";
const themes: readonly Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(themes.find((one) => one === recall("theme")) ?? "system");

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
  remember("theme", theme.value);
  applyTheme();
}

export function applyTheme(): void {
  const root = document.documentElement;
  if (theme.value === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme.value;
}

// ---- What a screen reader hears
// ----------------------------------------------------------------------------------

export const announcement = signal("");
export const announce = (text: string): void => {
  announcement.value = text;
};

// ---- Actions
// -----------------------------------------------------------------------------------------------------

/** What came of an action: what shows that it happened, or why it did not and what to do. */
export interface Outcome {
  done: boolean;
  title: string;
  evidence: string[];
  next: string;
}

export interface Action {
  title: string;
  /** What it will do, one sentence each. */
  will: string[];
  button: string;
  danger: boolean;
  run: () => Promise<Outcome>;
}

type Dialog =
  | { action: Action; stage: "asking" | "running" }
  | { action: Action; stage: "over"; outcome: Outcome };

export const dialog = signal<Dialog | null>(null);

export function propose(action: Action): void {
  dialog.value = { action, stage: "asking" };
}

export async function confirmAction(): Promise<void> {
  const open = dialog.value;
  if (open?.stage !== "asking") return;
  dialog.value = { action: open.action, stage: "running" };
  const outcome = await open.action.run();
  announce(`${outcome.title}. ${outcome.evidence.join(" ")}`);
  if (dialog.value?.action === open.action) dialog.value = { action: open.action, stage: "over", outcome };
}

export const refused = (title: string, answer: Refusal, next: string): Outcome => ({
  done: false,
  title,
  evidence: [answer.detail],
  next:
    answer.why === "unreachable"
      ? "Wait for the connection, then look whether it happened before you try again."
      : next,
});

/** The outcome of one call: `evidence` words the value. */
export function outcomeOf<T>(
  answer: Answer<T>,
  texts: { done: string; failed: string; next: string; evidence: (value: T) => string[] },
): Outcome {
  if (!answer.ok) return refused(texts.failed, answer, texts.next);
  return { done: true, title: texts.done, evidence: texts.evidence(answer.value), next: "" };
}

export const paletteOpen = signal(false);
export const helpOpen = signal(false);
