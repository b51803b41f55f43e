/** A machine that a release has executables for. */
export interface ReleaseTarget {
  /** As in the archive's name. */
  name: string;
  /** Bun's word for it. */
  bun: string;
  /** The package that holds its Bun; an optional dependency of ours. */
  runtime: string;
}

export const releaseTargets: readonly ReleaseTarget[] = [
  { name: "linux-x64", bun: "bun-linux-x64", runtime: "@oven/bun-linux-x64" },
  { name: "linux-arm64", bun: "bun-linux-arm64", runtime: "@oven/bun-linux-aarch64" },
  { name: "macos-arm64", bun: "bun-darwin-arm64", runtime: "@oven/bun-darwin-aarch64" },
];
