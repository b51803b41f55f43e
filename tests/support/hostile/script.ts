import { Value } from "@sinclair/typebox/value";
import { type DemoScript, parseDemoScript, parseDirective } from "../../../src/services/demo/script.ts";
import type { Interference } from "../../../src/services/demo/state.ts";
import { type Misbehaviour, MisbehaviourSchema } from "./behaviours.ts";
import { createInterference } from "./interference.ts";
import type { Occasion } from "./occasions.ts";

/** A script of the scripted agent with what makes it misbehave, in a way that a seed repeats exactly. */
export type HostileScript = DemoScript & Misbehaviour;

/**
 * The script and its interference. A refusal names each wrong place, such as
 * `/hostile/swallow_enter/every: ...`.
 */
export function parseHostileScript(
  text: string,
): { script: DemoScript; interference: Interference } | { errors: string[] } {
  let given: HostileScript;
  try {
    given = JSON.parse(text) as HostileScript;
  } catch (error) {
    return { errors: [String(error)] };
  }
  const { seed, startup, rules, hostile, ...plain } = given;
  const misbehaviour = { seed, startup, rules, hostile } as Misbehaviour;
  const errors = misbehaviourErrors(misbehaviour);
  const parsed = parseDemoScript(JSON.stringify(plain));
  if ("errors" in parsed) return { errors: [...parsed.errors, ...errors] };
  if (errors.length > 0) return { errors };
  return { script: parsed.script, interference: createInterference(misbehaviour) };
}

function misbehaviourErrors(misbehaviour: Misbehaviour): string[] {
  if (!Value.Check(MisbehaviourSchema, misbehaviour)) {
    return [...Value.Errors(MisbehaviourSchema, misbehaviour)].map(
      ({ path, message }) => `${path}: ${message}`,
    );
  }
  const { rules = [], hostile = {} } = misbehaviour;
  return [
    ...rules.flatMap((rule, index) => [
      ...(countOccasions(rule) > 1 ? [`/rules/${index}: at most one of every, on, probability`] : []),
      ...(parseDirective(rule.directive)
        ? []
        : [`/rules/${index}/directive: ${JSON.stringify(rule.directive)} is none`]),
    ]),
    ...Object.entries(hostile).flatMap(([name, behaviour]) =>
      typeof behaviour !== "object" || countOccasions(behaviour) === 1
        ? []
        : [`/hostile/${name}: exactly one of every, on, probability`],
    ),
  ];
}

function countOccasions({ every, on, probability }: Occasion): number {
  return [every, on, probability].filter((one) => one !== undefined).length;
}
