import { basename, join, resolve } from "node:path";
import { judgeOverlay } from "../../services/sessions/overlays.ts";
import { findOverlay, overlayName } from "../../services/sessions/roots.ts";
import { explainExposure } from "../../services/sessions/trust.ts";
import { ServiceError } from "../../system/errors.ts";
import { createSystem } from "../../system/system.ts";
import { visibleLine } from "../../system/visible.ts";
import { trustingSystem } from "../command-line/cli-context.ts";
import { type CliIo, command, type Flags, group } from "../command-line/command.ts";
import { renderPairs, renderTable } from "../command-line/format.ts";

const overlayFlags = {
  path: {
    type: "positional",
    required: false,
    description: "the overlay or the project folder that holds it; default: the overlay found from here",
    valueHint: "DIR",
  },
} satisfies Flags;

const adopt = command({
  name: "adopt",
  description:
    "trust a project overlay: its mail, and its sessions where it has a folder for them (runtime), are used from now on",
  examples: ["svc-mgr overlay adopt", "svc-mgr overlay adopt ~/project --json"],
  args: overlayFlags,
  async run({ args, io }) {
    const { overlays } = openOverlays(io);
    const adoption = overlays.adopt(chosenOverlay(io, args.path), "command");
    return {
      json: { schema_version: 1, overlay: adoption },
      text: `adopted ${visibleLine(adoption.path)}\nWho can write there decides what agents run: take it back with: ${io.program} overlay forget`,
    };
  },
});

const status = command({
  name: "status",
  description: "say whether a project overlay is used, and why not; changes nothing",
  examples: ["svc-mgr overlay status", "svc-mgr overlay status ~/project --json"],
  args: overlayFlags,
  async run({ args, io }) {
    const { files, overlays } = openOverlays(io);
    const path = chosenOverlay(io, args.path);
    const met = args.path === undefined ? judgeOverlay(files, overlays, io.env, io.cwd) : null;
    const exposure = met ? null : overlays.exposure(path);
    const problem = met ? met.refusal : exposure && explainExposure(exposure);
    const adoption = overlays.adoptionOf(path);
    return {
      json: { schema_version: 1, path, used: problem === null, problem, adoption },
      text: renderPairs([
        ["overlay", visibleLine(path)],
        ["used", problem === null ? "yes" : "no"],
        ["trouble", problem],
        ["adopted", adoption?.adopted_at],
      ]),
      exitCode: problem === null ? 0 : 1,
    };
  },
});

const list = command({
  name: "list",
  description: "list the overlays that this user adopted, and which are not used any more",
  examples: ["svc-mgr overlay list", "svc-mgr overlay list --json"],
  async run({ io }) {
    const { overlays } = openOverlays(io);
    const found = overlays.list().map((adoption) => {
      const exposure = overlays.exposure(adoption.path);
      return { ...adoption, used: exposure === null, problem: exposure && explainExposure(exposure) };
    });
    return {
      json: { schema_version: 1, overlays: found },
      text:
        found.length === 0
          ? "no overlay was adopted"
          : renderTable(
              ["OVERLAY", "ADOPTED", "USED"],
              found.map(({ path, adopted_at, problem }) => [path, adopted_at, problem ?? "yes"]),
            ),
    };
  },
});

const forget = command({
  name: "forget",
  description: "take back an adoption; the folder and what it holds stay as they are",
  examples: ["svc-mgr overlay forget", "svc-mgr overlay forget ~/project/.svc --json"],
  args: overlayFlags,
  async run({ args, io }) {
    const { overlays } = openOverlays(io);
    const path = chosenOverlay(io, args.path);
    if (!overlays.forget(path)) {
      throw new ServiceError(
        "not_found",
        `${visibleLine(path)} was not adopted; ${io.program} overlay list shows all`,
      );
    }
    return {
      json: { schema_version: 1, path, forgotten: true },
      text: `${visibleLine(path)} is not used any more`,
    };
  },
});

export default group({
  name: "overlay",
  description: "the project overlays that this user adopted: folders .svc that hold sessions and mail",
  examples: ["svc-mgr overlay status", "svc-mgr overlay adopt", "svc-mgr overlay list --json"],
  subCommands: { adopt, status, list, forget },
});

/** Without the roots: an overlay can be adopted while another folder is refused. */
function openOverlays(io: CliIo) {
  const given = createSystem();
  return { files: given.files, overlays: trustingSystem(io, given).overlays };
}

/**
 * The overlay that a command line means: the folder `.svc` in `path`, else `path` itself, else what is found
 * from the working directory. It need not exist when it is named. Throws `not_found` when none is found.
 */
function chosenOverlay(io: CliIo, path: string | undefined): string {
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
    `there is no project overlay in ${visibleLine(io.cwd)} or above it; ${io.program} mailbox init makes one`,
  );
}
