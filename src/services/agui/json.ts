import type { AguiObject } from "../../protocol/agui.ts";

export function isObject(value: unknown): value is AguiObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The same JSON without keys whose value is null, at any depth: clients take a null for a broken field where they
 * take a missing one for an absent field. Pure.
 */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== null && one !== undefined)
      .map(([key, one]) => [key, withoutNulls(one)]),
  ) as T;
}
