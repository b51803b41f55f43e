import { createOverlays, type Overlays, withAdoptions } from "../services/sessions/overlays.ts";
import { stateRootOf } from "../services/sessions/roots.ts";
import type { System } from "../system/system.ts";
import type { CliIo } from "./command.ts";

/** `given` with files that know which overlays this user adopted. */
export function trustingSystem(
  io: Pick<CliIo, "env" | "home">,
  given: System,
): { system: System; overlays: Overlays } {
  const overlays = createOverlays({ ...given, stateRoot: stateRootOf(io.env, io.home) });
  return { system: { ...given, files: withAdoptions(given.files, overlays) }, overlays };
}
