import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ConsoleAssets, createConsoleAssets } from "../../../services/extensions/console/assets.ts";
import { childPath } from "../../../system/contained-path.ts";
import type { Processes } from "../../../system/processes.ts";
import { readCarried } from "../../../system/read-input.ts";

/**
 * The assets of a page: in the executable they are beside the code; when the source runs they are built on the
 * first request. As scripts/console-assets.ts makes them.
 */
export function pageAssets(page: "console" | "reference", processes: Pick<Processes, "run">): ConsoleAssets {
  const archive = `${page}.assets`;
  return createConsoleAssets(async () => {
    const folder = dirname(fileURLToPath(import.meta.url));
    if (!import.meta.url.endsWith(".ts")) return readCarried(childPath(folder, archive));
    const root = join(folder, "../../../..");
    await processes.run([process.execPath, "scripts/console-assets.ts"], { cwd: root });
    return readCarried(childPath(root, "dist", archive));
  });
}
