/**
 * What a test needs beyond Bun and tmux, known by the support that it imports. `bun run test` leaves such
 * tests to `bun run test --all`, which installs or makes what they need.
 */
const needs = {
  "a browser": ["tests/support/chromium.ts", "tests/browser/support/"],
  "a mail server": ["tests/support/cyrus/"],
  "a NATS server": ["tests/support/bus.ts", "tests/support/host-fleet.ts"],
  "network namespaces": ["tests/support/netns.ts"],
  "a second user": ["tests/support/second-user.ts"],
  "an SSH server": ["tests/support/sshd.ts"],
  "further shells": ["tests/support/shells.ts"],
  "a small disk": ["tests/support/small-disk.ts"],
  strace: ["tests/faults/durable-answer.test.ts"],
  npm: ["tests/support/package-fixture.ts"],
  Deno: ["tests/support/deno"],
  "a Debian package": ["tests/support/debian-packages.ts"],
} as const;

export type Need = keyof typeof needs;

/** `files`: a test, and all that it imports, its own imports and theirs. */
export function needsOf(files: readonly string[]): Need[] {
  return (Object.keys(needs) as Need[]).filter((need) =>
    files.some((path) => needs[need].some((start) => path.startsWith(start))),
  );
}
