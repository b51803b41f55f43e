/** A machine that a release has executables for. */
export interface ReleaseTarget {
  /** As in the archive's name. */
  name: string;
  /** Bun's word for it. */
  bun: string;
  /** The package that holds its Bun; an optional dependency of ours. */
  runtime: string;
  /** npm's words for it. */
  npm: { os: string; cpu: string; libc?: string };
}

export const releaseTargets: readonly ReleaseTarget[] = [
  {
    name: "linux-x64",
    bun: "bun-linux-x64",
    runtime: "@oven/bun-linux-x64",
    npm: { os: "linux", cpu: "x64", libc: "glibc" },
  },
  {
    name: "linux-arm64",
    bun: "bun-linux-arm64",
    runtime: "@oven/bun-linux-aarch64",
    npm: { os: "linux", cpu: "arm64", libc: "glibc" },
  },
  {
    name: "macos-arm64",
    bun: "bun-darwin-arm64",
    runtime: "@oven/bun-darwin-aarch64",
    npm: { os: "darwin", cpu: "arm64" },
  },
];

/** The one of this machine; throws where there is none. */
export function targetOfThisMachine(): ReleaseTarget {
  const found = releaseTargets.find(({ npm }) => npm.os === process.platform && npm.cpu === process.arch);
  if (found) return found;
  const names = releaseTargets.map(({ name }) => name).join(", ");
  throw new Error(`no package is made for ${process.platform} ${process.arch}, only for ${names}`);
}
