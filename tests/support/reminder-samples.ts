import type { ReminderDefinition } from "../../src/protocol/reminders.ts";
import type { SubmitOutcome } from "../../src/services/agent/agent.ts";
import type { GatewayBundle } from "./gateway-bundle.ts";

/** A prompt, once, due in ten seconds. */
export const define = (more: Partial<ReminderDefinition> = {}): ReminderDefinition => ({
  mode: "one_off",
  title: "look",
  prompt: "Look again",
  ranking: 0,
  start_after_seconds: 10,
  ...more,
});
export const repeat = (more: Partial<ReminderDefinition> = {}) =>
  define({ mode: "repeat", interval_seconds: 10, ...more });

/** Creates one; its id. */
export function make(bundle: GatewayBundle, more: Partial<ReminderDefinition> = {}): string {
  return bundle.reminders.create([define(more)]).reminders[0]?.reminder_id ?? "";
}

/** The events of one kind. */
export function told(bundle: GatewayBundle, kind: string): Record<string, unknown>[] {
  return bundle.events.filter((event) => event.kind === kind);
}

/** A submission that ends when the test says so. */
export function holdSubmission(bundle: GatewayBundle): (outcome: SubmitOutcome) => void {
  const { promise, resolve } = Promise.withResolvers<SubmitOutcome>();
  bundle.agent.onSubmit = () => promise;
  return resolve;
}
