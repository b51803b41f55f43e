import { basename, join, resolve } from "node:path";
import { findOverlay, overlayName } from "../../../services/sessions/roots.ts";
import { ServiceError } from "../../../system/errors.ts";
import { createSystem } from "../../../system/system.ts";
import type { CliIo, Flags } from "../../command.ts";
import { trustingSystem } from "../../trusting-system.ts";

export const overlayFlags = {
  path: {
    type: "positional",
    required: false,
    description: "the overlay or the project folder that holds it; default: the overlay found from here",
    valueHint: "DIR",
  },
} satisfies Flags;

/** Without the roots: an overlay can be adopted while another folder is refused. */
export function openOverlays(io: CliIo) {
  const given = createSystem();
  return { files: given.files, overlays: trustingSystem(io, given).overlays };
}

/**
 * The overlay that a command line means: the folder `.svc` in `path`, else `path` itself, else what is found from the
 * working directory. It need not exist when it is named. Throws `not_found` when none is found.
 */
export function chosenOverlay(io: CliIo, path: string | undefined): string {
  const { files } = openOverlays(io);
  if (path !== undefined) {
    const named = resolve(io.cwd, path);
    const within = join(named, overlayName);
    return basename(named) !== overlayName && files.exists(within) ? within : named;
  }
  const found = findOverlay(files, io.env, io.cwd);
  if (found !== null) return found;
  throw new ServiceError(
    "not_found",
    `there is no project overlay in ${io.cwd} or above it; svc-mgr mailbox init makes one`,
  );
}
