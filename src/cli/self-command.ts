import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * How this very program is started again as `svc-gateway`, whatever the file is called; a fixed subcommand must
 * follow. Compiled, the executable is all of it and `process.execPath` is not an interpreter (an executable that
 * starts itself without a fixed subcommand never ends doing so). Else it is Bun and the entry file: the source, or the
 * bundle of the installed package, whose files all lie in one folder.
 */
export function selfCommand(): [string, ...string[]] {
  if (Bun.isStandaloneExecutable) return [process.execPath, "gateway"];
  const entry = import.meta.url.endsWith(".ts") ? "./svc-gateway.ts" : "./svc-gateway.js";
  return [process.execPath, fileURLToPath(new URL(entry, import.meta.url)), "gateway"];
}

/** The folder of the running program, for advice about PATH. */
export function programFolder(): string {
  return dirname(Bun.isStandaloneExecutable ? process.execPath : Bun.main);
}
