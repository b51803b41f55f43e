import type { HeadlessProvider, ReasoningLadder } from "./provider.ts";

export type ReasoningChoice = { ok: true; preset: string } | { ok: false; reason: string };

/**
 * The preset of a level: 1 is the lowest, numbers above the ladder saturate to its highest, 0 is off where the
 * ladder has an off. Source: contract 4.2; spec/gateway.md "Reasoning".
 */
export function saturate(level: number, { levels, off }: ReasoningLadder): ReasoningChoice {
  if (!Number.isInteger(level) || level < 0) {
    return { ok: false, reason: "a reasoning level is a whole number, 0 or above" };
  }
  if (level === 0) {
    return off === null
      ? { ok: false, reason: "reasoning cannot be turned off for this tool and model" }
      : { ok: true, preset: off };
  }
  const preset = levels[Math.min(level, levels.length) - 1];
  return preset === undefined
    ? { ok: false, reason: "this tool and model have no reasoning levels" }
    : { ok: true, preset };
}

/** Why a turn of `provider` cannot have this model and level, or null: to be asked at admission. */
export function refuseModel(
  provider: HeadlessProvider,
  model: { name: string | null; level: number | null },
): string | null {
  if (model.level === null) return null;
  const choice = saturate(model.level, provider.ladder(model.name));
  return choice.ok ? null : choice.reason;
}

/** The tool's own word for the level that a turn asks for; null when it asks for none or there is none. */
export function presetOf(
  provider: Pick<HeadlessProvider, "ladder">,
  model: { name: string | null; level: number | null } | null,
): string | null {
  if (model === null || model.level === null) return null;
  const choice = saturate(model.level, provider.ladder(model.name));
  return choice.ok ? choice.preset : null;
}
