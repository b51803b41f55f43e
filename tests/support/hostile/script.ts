import { Value } from "@sinclair/typebox/value";
import { type DemoScript, parseDemoScript } from "../../../src/services/demo/script.ts";
import type { Interference } from "../../../src/services/demo/state.ts";
import { type Hostile, HostileSchema } from "./behaviours.ts";
import { createInterference } from "./interference.ts";

/** A script of the scripted agent with what makes it misbehave, in a way that a seed repeats exactly. */
export type HostileScript = DemoScript & { hostile?: Hostile };

/**
 * The script and its interference. A refusal names each wrong place, such as
 * `/hostile/swallow_enter/every: ...`.
 */
export function parseHostileScript(
  text: string,
): { script: DemoScript; interference: Interference } | { errors: string[] } {
  let hostile: unknown = {};
  let plain = text;
  try {
    const { hostile: given = {}, ...rest } = JSON.parse(text) as HostileScript;
    hostile = given;
    plain = JSON.stringify(rest);
  } catch {
    // `parseDemoScript` says what is wrong.
  }
  const errors = hostileErrors(hostile);
  const parsed = parseDemoScript(plain);
  if ("errors" in parsed) return { errors: [...parsed.errors, ...errors] };
  if (errors.length > 0) return { errors };
  const { script } = parsed;
  return { script, interference: createInterference(hostile as Hostile, script.seed ?? 0) };
}

function hostileErrors(hostile: unknown): string[] {
  if (!Value.Check(HostileSchema, hostile)) {
    return [...Value.Errors(HostileSchema, hostile)].map(
      ({ path, message }) => `/hostile${path}: ${message}`,
    );
  }
  return Object.entries(hostile).flatMap(([name, given]) => {
    if (typeof given !== "object") return [];
    const occasions = [given.every, given.on, given.probability].filter((one) => one !== undefined);
    return occasions.length === 1 ? [] : [`/hostile/${name}: exactly one of every, on, probability`];
  });
}
