import { fileURLToPath } from "node:url";

/**
 * How this very program is started again as `svc-gateway`, whatever the file is called; a fixed subcommand must
 * follow. Compiled, the executable is all of it and `process.execPath` is not an interpreter (an executable that
 * starts itself without a fixed subcommand never ends doing so). From source it is Bun and the entry file.
 */
export function selfCommand(): [string, ...string[]] {
  if (Bun.isStandaloneExecutable) return [process.execPath, "gateway"];
  return [process.execPath, fileURLToPath(new URL("./svc-gateway.ts", import.meta.url)), "gateway"];
}
