import { createRequire } from "node:module";

/** The file of the `deno` package's executable for this machine. */
export function denoExecutable(): string {
  const { runInstall } = createRequire(import.meta.url)("deno/install_api.cjs") as { runInstall(): string };
  return runInstall();
}
