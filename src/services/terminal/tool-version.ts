import type { CompiledProfile } from "./profile.ts";

/**
 * Whether `version` is among those that the profile was proved on. A profile without versions claims nothing, and a
 * version that is not known is not held against the tool. Pure.
 */
export function isProvedVersion(profile: CompiledProfile, version: string | null): boolean {
  const proved = profile.data.proved_versions;
  return version === null || proved.length === 0 || proved.includes(version);
}

/** Whether a version of dotted numbers is older than another. Pure. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (of: string) => of.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const [one, other] = [numbers(version), numbers(than)];
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
