/**
 * What a test needs beyond Bun and tmux, known by the support that it imports. `bun run test` leaves such
 * tests to `bun run test --all`, which installs or makes what they need.
 */
export const needs = {
  "a browser": ["tests/support/chromium.ts", "tests/browser/support/"],
  "a mail server": ["tests/support/cyrus/"],
  "a NATS server": ["tests/support/bus.ts", "tests/support/host-fleet.ts"],
  "network namespaces": ["tests/support/netns.ts"],
  "a second user": ["tests/support/second-user.ts"],
  "an SSH server": ["tests/support/sshd.ts"],
  "further shells": ["tests/support/shells.ts"],
  "a small disk": ["tests/support/small-disk.ts"],
  Deno: ["tests/support/deno"],
  "a Debian package": ["tests/support/debian-packages.ts"],
} as const;

export type Need = keyof typeof needs;

/** `imports` are all files that a test imports, its own imports and theirs. */
export function needsOf(imports: readonly string[]): Need[] {
  return (Object.keys(needs) as Need[]).filter((need) =>
    imports.some((path) => needs[need].some((start) => path.startsWith(start))),
  );
}
