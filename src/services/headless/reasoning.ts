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

interface ModelChoice {
  name: string | null;
  level: number | null;
}

/**
 * Why a turn of `provider`, launched with `args`, cannot have this model and level, or null: to be asked at admission.
 * A name that begins with a dash is none, since a tool would read it as a flag.
 */
export function refuseModel(
  provider: Pick<HeadlessProvider, "ladder">,
  { model, args }: { model: ModelChoice; args: readonly string[] },
): string | null {
  if (model.name !== null && !/^[^-\s\p{Cc}][^\p{Cc}]*$/u.test(model.name)) {
    return "model.name: no dash or blank in front, no control characters";
  }
  if (model.level === null) return null;
  const choice = saturate(model.level, provider.ladder(model.name ?? modelIn(args)));
  return choice.ok ? null : choice.reason;
}

/** The model that the arguments of a launch name in any of our tools' ways, the last one; null when none does. */
export function modelIn(args: readonly string[]): string | null {
  const named = args.flatMap((arg, index) => {
    const next = args[index + 1] ?? "";
    if (arg === "--model" || arg === "-m") return [next];
    if (arg === "--config" || arg === "-c") return modelSetting.exec(next)?.[1] ?? [];
    return modelFlag.exec(arg)?.[1] ?? [];
  });
  return named.at(-1) || null;
}

const modelSetting = /^model=["']?([^"']*)["']?$/;
const modelFlag = /^(?:--model=|-m=|--config=model=)["']?([^"']*)["']?$/;

/** The tool's own word for the level that a turn asks for; null when it asks for none or there is none. */
export function presetOf(
  provider: Pick<HeadlessProvider, "ladder">,
  { model, args }: { model: ModelChoice | null; args: readonly string[] },
): string | null {
  if (model === null || model.level === null) return null;
  const choice = saturate(model.level, provider.ladder(model.name ?? modelIn(args)));
  return choice.ok ? choice.preset : null;
}
