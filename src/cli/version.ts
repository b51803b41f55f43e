import manifest from "../../package.json" with { type: "json" };

/** Replaced when the executables are built. */
declare const SVC_COMMIT: string | undefined;

/** `0.1.0 (abc1234)`; from source without the commit. */
export function versionText(): string {
  const commit = typeof SVC_COMMIT === "string" ? SVC_COMMIT : null;
  return commit ? `${manifest.version} (${commit})` : manifest.version;
}
