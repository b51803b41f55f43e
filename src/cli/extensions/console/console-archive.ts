import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ConsoleAssets, createConsoleAssets } from "../../../services/console/assets.ts";
import type { Processes } from "../../../system/processes.ts";
import { readCarried } from "../../../system/read-input.ts";

/** As scripts/console-assets.ts makes it, from the root of the repository. */
const archive = "dist/console.assets";

/**
 * The console's assets: in the executable they are beside the code; when the source runs they are built on
 * the first request.
 */
export function consoleAssets(processes: Pick<Processes, "run">): ConsoleAssets {
  return createConsoleAssets(async () => {
    const folder = dirname(fileURLToPath(import.meta.url));
    if (!import.meta.url.endsWith(".ts")) return readCarried(join(folder, "console.assets"));
    const root = join(folder, "../../../..");
    await processes.run([process.execPath, "scripts/console-assets.ts"], { cwd: root });
    return readCarried(join(root, archive));
  });
}
