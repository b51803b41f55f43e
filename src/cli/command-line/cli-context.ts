import { join, resolve } from "node:path";
import type { AcpProfile } from "../../protocol/acp.ts";
import type { AttachDeps } from "../../services/fleet/attach-gateway.ts";
import type { StopAgentDeps } from "../../services/fleet/stop-agent.ts";
import { headlessProvider } from "../../services/headless/providers.ts";
import { acpProfiles, parseAcpProfiles, toAcpTool } from "../../services/sessions/acp-tools.ts";
import type { LaunchDeps } from "../../services/sessions/launch.ts";
import { type LaunchTool, toLaunchTool } from "../../services/sessions/launch-tools.ts";
import { createManifestStore } from "../../services/sessions/manifest.ts";
import {
  createOverlays,
  judgeOverlay,
  type Overlays,
  type ProjectOverlay,
  prepareOverlay,
  withAdoptions,
} from "../../services/sessions/overlays.ts";
import { createSessionAlive } from "../../services/sessions/record.ts";
import { createRegistry } from "../../services/sessions/registry.ts";
import { holdsSessions, planRoots, type Roots, stateRootOf } from "../../services/sessions/roots.ts";
import { refuseExposed } from "../../services/sessions/trust.ts";
import {
  allProfiles,
  compileProfile,
  type ProfileSet,
  parseProfiles,
} from "../../services/terminal/profiles/profile.ts";
import type { Tmux } from "../../services/terminal/tmux/command.ts";
import { ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { Network } from "../../system/network.ts";
import { createSystem, type System } from "../../system/system.ts";
import type { CliIo } from "./command.ts";
import { warn } from "./narrate.ts";
import { bareTmuxSocket, chooseTmuxSocket, openTmux, socketOfPane } from "./tmux-socket.ts";
import { selfCommand } from "./version.ts";

/** Everything a command may need, wired once: the composition root of the command line. */
export interface CliContext extends Omit<LaunchDeps, "planSignals">, AttachDeps, StopAgentDeps, System {
  system: System;
  network: Network;
  roots: Roots;
  overlays: Overlays;
  /** The project overlay of the working directory, used or refused. */
  overlay: ProjectOverlay | null;
  tmux: Tmux;
  /**
   * The server of the pane that this runs in, whatever SVC_TMUX_SOCKET says; outside tmux the same as `tmux`.
   */
  paneTmux: Tmux;
  /** The socket that a bare `tmux` of the person's shell reaches. */
  bareTmuxSocket: string;
  /** Why the tmux server that a launch would use must not or cannot be used, or null. */
  tmuxRefusal: () => string | null;
  tools: readonly LaunchTool[];
  /** How this very program is started as `svc-mgr`. */
  managerCommand: readonly string[];
}

/** The part that a gateway needs too: paths and the registry of agents. */
type BaseContext = Pick<
  CliContext,
  "system" | "roots" | "overlays" | "overlay" | "tmuxFor" | "sessionAlive" | "registry" | keyof System
>;

/**
 * `flags`: values of `rootFlags`; relative folders count from the working directory. Throws
 * `precondition_failed` for a root that another user could change, unless `diagnosing`.
 */
export function openBaseContext(
  io: Pick<CliIo, "env" | "cwd" | "home">,
  flags: Readonly<Record<string, unknown>>,
  given: System,
  options: { diagnosing?: boolean } = {},
): BaseContext {
  const { system, overlays } = trustingSystem(io, given);
  const { clock, files, locks } = system;
  const { env } = io;
  const folder = (name: string) => {
    const value = flags[name];
    return typeof value === "string" ? resolve(io.cwd, value) : undefined;
  };
  const overlay = judgeOverlay(given.files, overlays, env, io.cwd);
  const roots = planRoots({
    flags: { runtimeRoot: folder("runtime-root"), registryRoot: folder("registry-root") },
    env,
    home: io.home,
    overlay: overlay?.refusal === null ? overlay.path : null,
    overlayHoldsSessions: overlay !== null && holdsSessions(given.files, overlay),
  });
  if (!options.diagnosing) {
    refuseExposed(files, roots.registryRoot, "the registry root");
    if (!isIn(roots.runtimeRoot, overlay)) refuseExposed(files, roots.runtimeRoot, "the runtime root");
  }
  const tmuxFor = (socket: string | undefined, registered?: string) =>
    openTmux(system, socket, env, registered).tmux;
  const sessionAlive = createSessionAlive(tmuxFor);
  return {
    ...system,
    system,
    roots,
    overlays,
    overlay,
    tmuxFor,
    sessionAlive,
    registry: createRegistry({ files, locks, clock, root: roots.registryRoot, sessionAlive }),
  };
}

/** Whether a root is that of an overlay, which was judged by itself. */
const isIn = (root: string, overlay: ProjectOverlay | null) =>
  overlay !== null && overlay.refusal === null && root === join(overlay.path, "runtime");

/**
 * Makes the overlay ready in which this command is about to make a session. Warns when the overlay of the
 * working directory is refused and the session is kept in the user's state folder instead.
 */
export async function prepareSessionPlace(context: CliContext, io: CliIo): Promise<void> {
  const { files, overlays, overlay, roots } = context;
  if (overlay && isIn(roots.runtimeRoot, overlay))
    await overlays.exclusively(() => prepareOverlay(files, overlays, overlay));
  const inStateFolder = roots.runtimeRoot === join(stateRootOf(io.env, io.home), "runtime");
  if (!inStateFolder || !overlay?.refusal || !holdsSessions(files, overlay)) return;
  await warn(io, `sessions are kept in ${roots.runtimeRoot}, not in the project overlay: ${overlay.refusal}`);
}

/** As `openBaseContext`, with everything else. */
export function openCliContext(
  io: Pick<CliIo, "env" | "cwd" | "home">,
  flags: Readonly<Record<string, unknown>> = {},
  given: System = createSystem(),
  options: { diagnosing?: boolean } = {},
): CliContext {
  const base = openBaseContext(io, flags, given, options);
  const { env } = io;
  const { system, files, locks, roots, tmuxFor } = base;
  const self = selfCommand();
  const demoCommand: [string, ...string[]] = [...self, "demo-agent"];
  return {
    ...base,
    env,
    tmux: tmuxFor(chooseTmuxSocket(env)),
    tmuxRefusal: () => openTmux(system, chooseTmuxSocket(env), env).refusal(),
    paneTmux: tmuxFor(socketOfPane(env) ?? chooseTmuxSocket(env)),
    bareTmuxSocket: bareTmuxSocket(env, files, process.getuid?.() ?? 0),
    manifests: createManifestStore({ files, locks }),
    runtimeRoot: roots.runtimeRoot,
    personEnvironment: env,
    tools: [
      ...allProfiles(readProfiles(system, env)).map((profile) =>
        toLaunchTool(compileProfile(profile), demoCommand, (tool) => headlessProvider(tool) !== null),
      ),
      ...readAcpProfiles(system, env).map((profile) => toAcpTool(profile, demoCommand)),
    ],
    serveCommand: [...self, "serve", "--registry-root", roots.registryRoot],
    managerCommand: [
      ...self,
      "mgr",
      "--runtime-root",
      roots.runtimeRoot,
      "--registry-root",
      roots.registryRoot,
    ],
  };
}

/**
 * The tool profiles of the file that SVC_TOOL_PROFILES names; none when it names none. They name programs:
 * the file must be for this user alone to change.
 */
export function readProfiles(system: Pick<System, "files">, env: CliIo["env"]): ProfileSet {
  return readOwnFile(system, env, "SVC_TOOL_PROFILES", parseProfiles) ?? [];
}

/** The ACP agents that we know, and before them those of the file that SVC_ACP_PROFILES names, as above. */
function readAcpProfiles(system: Pick<System, "files">, env: CliIo["env"]): readonly AcpProfile[] {
  const own = readOwnFile(system, env, "SVC_ACP_PROFILES", parseAcpProfiles) ?? [];
  return [...own, ...acpProfiles.filter(({ tool }) => !own.some((one) => one.tool === tool))];
}

function readOwnFile<T>(
  { files }: Pick<System, "files">,
  env: CliIo["env"],
  variable: string,
  parse: (text: string) => T,
): T | null {
  const path = env[variable];
  if (!path) return null;
  refuseExposed(files, path, `${variable}=${path}`);
  const real = files.realPath(path);
  if (real === null) throw new ServiceError("invalid_request", `${variable}: there is no file ${path}`);
  const text = files.read(real);
  if (text === null) {
    throw new ServiceError(
      "invalid_request",
      `${variable}: ${path} is not a regular file of this user alone`,
    );
  }
  try {
    return parse(text);
  } catch (error) {
    throw wrapRefusal(error, "invalid_request", (why) => `${variable}: ${path}: ${why}`);
  }
}

/** `given` with files that know which overlays this user adopted. */
export function trustingSystem(
  io: Pick<CliIo, "env" | "home">,
  given: System,
): { system: System; overlays: Overlays } {
  const overlays = createOverlays({ ...given, stateRoot: stateRootOf(io.env, io.home) });
  return { system: { ...given, files: withAdoptions(given.files, overlays) }, overlays };
}
